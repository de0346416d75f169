package fanout_test

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/fanout"
)

// What became of each branch is counted, also where the fan-out as a whole failed.
func TestIssueDecisionsOfAFailedFanOutAreCounted(t *testing.T) {
	reader := metric.NewManualReader()
	ctx, entry, err := budget.NewEdge(budget.Policy{}, budget.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))).Start(t.Context(), budget.Arrival{})
	if err != nil {
		t.Fatal(err)
	}
	defer entry.End(nil)
	fails := func(context.Context) (int, error) { return 0, errors.New("down") }
	works := func(context.Context) (int, error) { return 1, nil }
	_, err = fanout.Collect(ctx, fanout.Plan{}, fanout.Branch[int]{Name: "needed", Mandatory: true, Do: fails},
		fanout.Branch[int]{Name: "extra", Do: fails}, fanout.Branch[int]{Name: "fine", Do: works})
	if err == nil {
		t.Fatal("complete without its mandatory branch")
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == budgetattr.MetricStageDecisions {
				for _, p := range sum.DataPoints {
					stage, _ := p.Attributes.Value(budgetattr.LabelStage)
					decision, _ := p.Attributes.Value(budgetattr.LabelDecision)
					got[stage.AsString()] = decision.AsString()
				}
			}
		}
	}
	if got["needed"] != string(budgetattr.DecisionReject) || len(got) == 0 {
		t.Errorf("counted %v", got)
	}
}
