// Package deadlineexporter writes hops, and spans that were refused, to ClickHouse. Spans become rows before they enter the
// sending queue, so that a queue on disk holds little and a batch is one insert of whole columns.
package deadlineexporter

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"

	"github.com/laxity-dev/laxity/storage"
)

// NewFactory returns the factory of the exporter.
func NewFactory() exporter.Factory {
	return exporter.NewFactory(component.MustNewType("deadline"), defaultConfig,
		exporter.WithTraces(newTraces, component.StabilityLevelBeta))
}

func newTraces(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Traces, error) {
	config := cfg.(*Config)
	counters, err := newCounters(set.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("deadline exporter: %w", err)
	}
	db, err := storage.Open(config.storage())
	if err != nil {
		return nil, fmt.Errorf("deadline exporter: %w", err)
	}
	w := &writer{db: db, counters: counters}
	traces, err := xexporterhelper.NewTracesRequest(ctx, set, w.convert, w.push,
		xexporterhelper.WithQueueBatch(config.Queue, xexporterhelper.QueueBatchSettings{Encoding: encoding{}}),
		exporterhelper.WithTimeout(config.TimeoutConfig),
		exporterhelper.WithRetry(config.BackOffConfig),
		exporterhelper.WithShutdown(func(context.Context) error { return db.Close() }))
	if err != nil {
		return nil, fmt.Errorf("deadline exporter: %w", err)
	}
	return reader{traces}, nil
}

// reader says that spans are only read: they become rows before they are batched. The helper, which takes them for what is
// batched, says otherwise, and every span would be copied for it.
type reader struct{ exporter.Traces }

// Capabilities says that spans are not changed.
func (reader) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }
