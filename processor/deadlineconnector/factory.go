package deadlineconnector

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"

	"github.com/laxity-dev/laxity/processor/deadlineconnector/internal/metadata"
)

// NewFactory returns the factory of the connector.
func NewFactory() connector.Factory {
	return connector.NewFactory(
		metadata.Type,
		func() component.Config { return defaultConfig() },
		connector.WithTracesToMetrics(newTracesToMetrics, metadata.TracesToMetricsStability),
	)
}

func newTracesToMetrics(_ context.Context, set connector.Settings, cfg component.Config, next consumer.Metrics) (connector.Traces, error) {
	m, err := newMeter(set, cfg.(*Config), next)
	if err != nil {
		return nil, fmt.Errorf("deadline connector: %w", err)
	}
	return m, nil
}
