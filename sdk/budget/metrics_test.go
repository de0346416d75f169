package budget_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// sums returns the totals of counters and the counts of histograms, by name and by one label of it.
func sums(t *testing.T, reader metric.Reader, label string) map[string]map[string]int64 {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]int64{}
	add := func(name string, set attribute.Set, n int64) {
		v, _ := set.Value(attribute.Key(label))
		if out[name] == nil {
			out[name] = map[string]int64{}
		}
		out[name][v.AsString()] += n
	}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					add(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					add(m.Name, p.Attributes, int64(p.Count))
				}
			}
		}
	}
	return out
}

// The metrics count what no sampled trace shows.
func TestMetricsCountWithoutSampling(t *testing.T) {
	reader := metric.NewManualReader()
	e := budget.NewEdge(budget.Policy{Default: 50 * time.Millisecond, Min: time.Millisecond, Trust: budget.TrustInternal},
		budget.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))),
		budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))))

	ctx, entry, _ := e.Start(t.Context(), budget.Arrival{})
	_, quick, _ := budget.StartHop(ctx, "quick")
	quick.End(nil)
	if _, _, err := budget.StartHop(ctx, "greedy", budget.WithMinUseful(time.Hour)); err == nil {
		t.Error("started")
	}
	entry.SetRoute("/a")
	entry.End(nil)

	ctx, entry, _ = e.Start(t.Context(), budget.Arrival{})
	_, left, _ := budget.StartHop(ctx, "left")
	<-ctx.Done()
	entry.LateResult()
	entry.End(context.Cause(ctx))
	if got := sums(t, reader, budgetattr.LabelStage)[budgetattr.MetricStillRunning]["left"]; got != 1 {
		t.Errorf("still running %d", got)
	}
	left.End(context.Cause(ctx))
	_, entry, err := e.Start(t.Context(), budget.Arrival{Ask: budget.LimitOf(0)})
	entry.End(err)

	stage, outcome := sums(t, reader, budgetattr.LabelStage), sums(t, reader, budgetattr.LabelOutcome)
	cause, phase := sums(t, reader, budgetattr.LabelCause), sums(t, reader, budgetattr.LabelPhase)
	for what, got := range map[string][2]int64{
		"still running":   {stage[budgetattr.MetricStillRunning]["left"], 0},
		"refused hops":    {stage[budgetattr.MetricRefused]["greedy"], 1},
		"refused entries": {stage[budgetattr.MetricRefused][""], 1},
		"timeouts":        {phase[budgetattr.MetricTimeouts]["total"], 1},
		"cancellations":   {cause[budgetattr.MetricCancellations]["local_deadline"], 2},
		"confirmed":       {cause[budgetattr.MetricCancellationsConfirmed]["local_deadline"], 1},
		"done":            {outcome[budgetattr.MetricRequests]["done"], 1},
		"cancelled":       {outcome[budgetattr.MetricRequests]["cancelled"], 1},
		"rejected":        {outcome[budgetattr.MetricRequests]["rejected"], 1},
		"margins":         {outcome[budgetattr.MetricMargin]["done"], 1},
		"overruns":        {outcome[budgetattr.MetricOverrun]["done"], 1},
		"late results":    {outcome[budgetattr.MetricLateResults][""], 1},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d, want %d", what, got[0], got[1])
		}
	}
}

// Hops of many requests at once, ended twice, from elsewhere, and after their request: nothing is lost or mixed up.
func TestHopsAreSafeForConcurrentUse(t *testing.T) {
	r := newRecorder()
	e := edge(r, budget.Policy{Default: 20 * time.Millisecond})
	var wg sync.WaitGroup
	const requests, hops = 200, 5
	for range requests {
		wg.Go(func() {
			ctx, entry, _ := e.Start(context.Background(), budget.Arrival{Name: "in"})
			for range hops {
				wg.Go(func() {
					hopCtx, hop, err := budget.StartHop(ctx, "hop", budget.WithCap(10*time.Millisecond))
					if err != nil {
						return
					}
					if rand.IntN(2) == 0 {
						<-hopCtx.Done()
					}
					var both sync.WaitGroup
					for range 2 {
						both.Go(func() {
							hop.TimeoutPhase(budgetattr.PhaseBody)
							hop.SetAttributes(attribute.Int("n", 1))
							_ = hop.Err(errors.New("x"))
							hop.End(nil)
						})
					}
					both.Wait()
				})
			}
			if rand.IntN(2) == 0 {
				<-ctx.Done()
			}
			entry.End(nil)
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for _, s := range r.Ended() {
		seen[s.Name()]++
		if v, ok := attr(s, budgetattr.StageKey); s.Name() == "hop" && (!ok || v.AsString() != "hop") {
			t.Errorf("hop of stage %v", v)
		}
	}
	if seen["in"] != requests || seen["hop"] != requests*hops {
		t.Errorf("ended %v", seen)
	}
}
