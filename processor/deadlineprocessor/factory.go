package deadlineprocessor

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/processor/deadlineprocessor/internal/metadata"
)

// NewFactory returns the factory of the processor.
func NewFactory() processor.Factory {
	return processor.NewFactory(
		metadata.Type,
		func() component.Config { return &Config{} },
		processor.WithTraces(newTraces, metadata.TracesStability),
	)
}

func newTraces(ctx context.Context, set processor.Settings, cfg component.Config, next consumer.Traces) (processor.Traces, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, fmt.Errorf("deadline processor: %w", err)
	}
	classifier, err := classify.New(cfg.(*Config).Config)
	if err != nil {
		return nil, fmt.Errorf("deadline processor: %w", err)
	}
	a := &annotator{classifier: classifier, telemetry: telemetry}
	return processorhelper.NewTraces(ctx, set, cfg, next, a.process,
		processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: true}),
		processorhelper.WithShutdown(func(context.Context) error { telemetry.Shutdown(); return nil }))
}
