// Package quarantineconnector keeps spans that storage cannot hold away from the others: one of them would make a whole insert
// fail, again at every retry. It routes them to a pipeline of their own and passes all others on unchanged.
package quarantineconnector

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pipeline"
)

// NewFactory returns the factory of the connector.
func NewFactory() connector.Factory {
	return connector.NewFactory(
		component.MustNewType("quarantine"),
		func() component.Config {
			return &Config{Pipeline: pipeline.NewIDWithName(pipeline.SignalTraces, "quarantine")}
		},
		connector.WithTracesToTraces(newTraces, component.StabilityLevelBeta),
	)
}

func newTraces(_ context.Context, set connector.Settings, cfg component.Config, next consumer.Traces) (connector.Traces, error) {
	router, ok := next.(connector.TracesRouterAndConsumer)
	if !ok {
		return nil, errors.New("quarantine connector: the collector gives no router")
	}
	refused := cfg.(*Config).Pipeline
	var kept []pipeline.ID
	found := false
	for _, id := range router.PipelineIDs() {
		if id == refused {
			found = true
		} else {
			kept = append(kept, id)
		}
	}
	if !found || len(kept) == 0 {
		return nil, fmt.Errorf("quarantine connector: it must be the receiver of the pipeline %s and of at least one other", refused)
	}
	c := &quarantine{}
	var err error
	if c.kept, err = router.Consumer(kept...); err != nil {
		return nil, fmt.Errorf("quarantine connector: %w", err)
	}
	if c.refused, err = router.Consumer(refused); err != nil {
		return nil, fmt.Errorf("quarantine connector: %w", err)
	}
	if c.counters, err = newCounters(set.MeterProvider); err != nil {
		return nil, fmt.Errorf("quarantine connector: %w", err)
	}
	return c, nil
}
