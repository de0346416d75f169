// Package redactprocessor removes or hashes what must not be stored, before anything is written.
package redactprocessor

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"
)

// NewFactory returns the factory of the processor.
func NewFactory() processor.Factory {
	return processor.NewFactory(component.MustNewType("redact"), func() component.Config { return &Config{} },
		processor.WithTraces(newTraces, component.StabilityLevelBeta))
}

func newTraces(ctx context.Context, set processor.Settings, cfg component.Config, next consumer.Traces) (processor.Traces, error) {
	return processorhelper.NewTraces(ctx, set, cfg, next, newRedactor(cfg.(*Config)).process,
		processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}))
}
