// Package deadlineprocessor adds to each span what its own facts say about its time budget: margin, ratio, late, outcome,
// cause, phase and post-cancel time. It keeps no state: a span is annotated from itself and forwarded at once. What needs two
// spans is judged from storage.
package deadlineprocessor

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"
)

// NewFactory returns the factory of the processor.
func NewFactory() processor.Factory {
	return processor.NewFactory(
		component.MustNewType("deadline"),
		func() component.Config { return &Config{} },
		processor.WithTraces(newTraces, component.StabilityLevelBeta),
	)
}

func newTraces(ctx context.Context, set processor.Settings, cfg component.Config, next consumer.Traces) (processor.Traces, error) {
	counters, err := newCounters(set.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("deadline processor: %w", err)
	}
	a := &annotator{config: cfg.(*Config).Config, counters: counters}
	return processorhelper.NewTraces(ctx, set, cfg, next, a.process,
		processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}))
}
