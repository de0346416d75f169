package collector

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/otlptranslator"
	otelconf "go.opentelemetry.io/contrib/otelconf/v0.3.0"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configtelemetry"
	"go.opentelemetry.io/collector/service/telemetry"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// telemetryFactory is the collector's own telemetry with its metrics on the page instead of a server of their own.
func telemetryFactory(p *page) telemetry.Factory {
	inner := otelconftelemetry.NewFactory()
	return telemetry.NewFactory(inner.CreateDefaultConfig,
		telemetry.WithCreateResource(inner.CreateResource),
		telemetry.WithCreateLogger(inner.CreateLogger),
		telemetry.WithCreateTracerProvider(inner.CreateTracerProvider),
		telemetry.WithCreateMeterProvider(func(ctx context.Context, set telemetry.MeterSettings, cfg component.Config) (telemetry.MeterProvider, error) {
			c := cfg.(*otelconftelemetry.Config)
			if c.Metrics.Level == configtelemetry.LevelNone {
				return inner.CreateMeterProvider(ctx, set, cfg)
			}
			if c.Metrics.Views == nil && set.DefaultViews != nil {
				c.Metrics.Views = set.DefaultViews(c.Metrics.Level)
			}
			return p.meterProvider(ctx, set, c.Metrics.Views)
		}),
	)
}

// meterProvider returns a provider whose metrics are on the page, named as the collector names them on a page of its own.
func (p *page) meterProvider(ctx context.Context, set telemetry.MeterSettings, views []otelconf.View) (telemetry.MeterProvider, error) {
	registry := prometheus.NewRegistry()
	reader, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithTranslationStrategy(otlptranslator.NoUTF8EscapingWithSuffixes))
	if err != nil {
		return nil, fmt.Errorf("metrics page: %w", err)
	}
	resource := &otelconf.Resource{SchemaUrl: &set.SchemaURL}
	if set.Resource != nil {
		for key, v := range set.Resource.Attributes().All() {
			resource.Attributes = append(resource.Attributes, otelconf.AttributeNameValue{Name: key, Value: v.AsString()})
		}
	}
	sdk, err := otelconf.NewSDK(otelconf.WithContext(ctx),
		otelconf.WithMeterProviderOptions(sdkmetric.WithReader(reader)),
		otelconf.WithOpenTelemetryConfiguration(otelconf.OpenTelemetryConfiguration{
			Resource: resource, MeterProvider: &otelconf.MeterProvider{Views: views},
		}))
	if err != nil {
		return nil, fmt.Errorf("metrics page: %w", err)
	}
	p.mu.Lock()
	p.own = registry
	p.mu.Unlock()
	return sdk.MeterProvider().(telemetry.MeterProvider), nil
}
