// Package deadlineconnector measures how requests spend their time budgets: it turns spans with deadline.* attributes into the
// deadline.* metrics, with bounded cardinality, the latest miss as exemplar, and an early lower bound of orphan work.
package deadlineconnector

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
)

// NewFactory returns the factory of the connector.
func NewFactory() connector.Factory {
	return connector.NewFactory(
		component.MustNewType("deadline_metrics"),
		func() component.Config { return defaultConfig() },
		connector.WithTracesToMetrics(newTracesToMetrics, component.StabilityLevelBeta),
	)
}

func newTracesToMetrics(_ context.Context, set connector.Settings, cfg component.Config, next consumer.Metrics) (connector.Traces, error) {
	m, err := newMeter(set, cfg.(*Config), next)
	if err != nil {
		return nil, fmt.Errorf("deadline connector: %w", err)
	}
	return m, nil
}
