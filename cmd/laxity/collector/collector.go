// Package collector is the OpenTelemetry collector with the components of this product and a built-in pipeline: OTLP in,
// budget facts added, raw spans and hops out to ClickHouse, each through a queue on disk, and metrics on a Prometheus page.
package collector

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/clickhouseexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/bearertokenauthextension"
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/healthcheckextension"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/nopexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/laxity-dev/laxity/processor/deadlineconnector"
	"github.com/laxity-dev/laxity/processor/deadlineexporter"
	"github.com/laxity-dev/laxity/processor/deadlineprocessor"
	"github.com/laxity-dev/laxity/processor/quarantineconnector"
	"github.com/laxity-dev/laxity/processor/redactprocessor"
)

// Factories returns the components that a configuration file may use.
func Factories() (otelcol.Factories, error) {
	return factories(otelconftelemetry.NewFactory(), newPage())
}

func factories(own telemetry.Factory, metrics *page) (otelcol.Factories, error) {
	f := otelcol.Factories{Telemetry: own}
	var err error
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	if f.Processors, err = otelcol.MakeFactoryMap[processor.Factory](
		memorylimiterprocessor.NewFactory(), deadlineprocessor.NewFactory(), redactprocessor.NewFactory()); err != nil {
		return f, err
	}
	if f.Connectors, err = otelcol.MakeFactoryMap[connector.Factory](
		deadlineconnector.NewFactory(), quarantineconnector.NewFactory()); err != nil {
		return f, err
	}
	if f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](
		clickhouseexporter.NewFactory(), deadlineexporter.NewFactory(), metrics.factory(), nopexporter.NewFactory()); err != nil {
		return f, err
	}
	f.Extensions, err = otelcol.MakeFactoryMap[extension.Factory](
		newFileStorageFactory(), healthcheckextension.NewFactory(), bearertokenauthextension.NewFactory())
	return f, err
}

// Run runs the built-in pipeline until the context ends. Ports must have been resolved.
func Run(ctx context.Context, config Config) error {
	if err := config.Validate(); err != nil {
		return err
	}
	yaml, err := config.YAML()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(config.Queue, 0o700); err != nil {
		return fmt.Errorf("directory of the queues: %w", err)
	}
	limit := config.MemoryMiB
	if limit == 0 {
		limit = defaultMemoryMiB
	}
	// Below what the limiter refuses at, so that garbage alone never makes it refuse.
	debug.SetMemoryLimit(int64(limit) << 20 * 7 / 10)
	// One page shows the metrics of the pipelines and those of the collector.
	metrics := newPage()
	return run(ctx, "yaml:"+string(yaml), func() (otelcol.Factories, error) { return factories(telemetryFactory(metrics), metrics) })
}

// RunFile runs a plain collector configuration instead of the built-in one.
func RunFile(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("collector configuration: %w", err)
	}
	return run(ctx, "file:"+path, Factories)
}

func run(ctx context.Context, uri string, factories func() (otelcol.Factories, error)) error {
	// Batches are large and live shortly: memory buys time, and a memory limit bounds it.
	debug.SetGCPercent(200)
	c, err := otelcol.NewCollector(otelcol.CollectorSettings{
		Factories:               factories,
		BuildInfo:               component.BuildInfo{Command: "laxity collector", Description: "Laxity collector", Version: version()},
		DisableGracefulShutdown: true, // the context carries the signals
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{uri},
			DefaultScheme:     "env",
			ProviderFactories: []confmap.ProviderFactory{envprovider.NewFactory(), fileprovider.NewFactory(), yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		return fmt.Errorf("collector: %w", err)
	}
	if err := c.Run(ctx); err != nil {
		return fmt.Errorf("collector: %w", err)
	}
	if ctx.Err() == nil {
		return errors.New("collector: it stopped by itself; its log says why")
	}
	return nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
