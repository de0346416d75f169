package stream_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/stream"
)

// A stream that is ended for its silence is in the metrics, with the phase and how long it was silent.
func TestO5_SilenceIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		edge := budget.NewEdge(budget.Policy{}, budget.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
		ctx, entry, err := edge.Start(t.Context(), budget.Arrival{})
		if err != nil {
			t.Fatal(err)
		}
		defer entry.End(nil)
		source, closed := io.Pipe()
		defer closed.Close()
		r := stream.NewReader(ctx, func(context.Context) (io.ReadCloser, error) { return source, nil }, nil,
			stream.WithStage("generate"), stream.WithIdle(3*time.Second))
		if _, err := r.Read(make([]byte, 1)); err == nil {
			t.Fatal("a silent stream gave something")
		}
		var data metricdata.ResourceMetrics
		if err := reader.Collect(ctx, &data); err != nil {
			t.Fatal(err)
		}
		for _, m := range data.ScopeMetrics[0].Metrics {
			if m.Name != budgetattr.MetricStreamIdle {
				continue
			}
			p := m.Data.(metricdata.Histogram[float64]).DataPoints[0]
			stage, _ := p.Attributes.Value(budgetattr.LabelStage)
			if p.Count != 1 || p.Sum != 3 || stage.AsString() != "generate" {
				t.Errorf("%d of %v s in stage %q", p.Count, p.Sum, stage.AsString())
			}
			return
		}
		t.Error("no silence was observed")
	})
}
