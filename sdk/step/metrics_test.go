package step_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/step"
)

// counted returns what a counter has at each value of a label, for one stage.
func counted(t *testing.T, reader metric.Reader, name, stage, label string) map[string]int64 {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if m.Name != name || !ok {
				continue
			}
			for _, p := range sum.DataPoints {
				if of, _ := p.Attributes.Value(budgetattr.LabelStage); of.AsString() == stage {
					v, _ := p.Attributes.Value(attribute.Key(label))
					out[v.AsString()] += p.Value
				}
			}
		}
	}
	return out
}

// The metrics of a chain count what was decided, also where no trace is sampled.
func TestO7_DecisionsAndSkippedRetriesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		edge := budget.NewEdge(budget.Policy{Default: time.Second},
			budget.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))),
			budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))))
		ctx, entry, err := edge.Start(t.Context(), budget.Arrival{})
		if err != nil {
			t.Fatal(err)
		}
		defer entry.End(nil)

		busy := &step.StatusError{Code: 429, RetryAfter: time.Minute}
		fails := func(context.Context, string) (string, error) { return "", busy }
		fallback := step.Required("generate", fails, step.Terms{Retry: step.Retry{Attempts: 3}}).
			Or(step.Fallback[string, string]{Name: "brief", Do: takes(0, "short"), Meets: "short answers do"})
		optional := step.Optional("rerank", takes(time.Hour, ""), func(in string) string { return in }, step.Terms{Expected: 2 * time.Second})
		hedged := step.Required("find", takes(100*time.Millisecond, "found"), step.Terms{Retry: step.Retry{Attempts: 2, Hedge: 10 * time.Millisecond}})
		late := step.Required("store", takes(50*time.Millisecond, ""), step.Terms{Expected: 990 * time.Millisecond,
			Retry: step.Retry{Attempts: 2, Hedge: 20 * time.Millisecond}})
		for _, s := range []*step.Step[string, string]{fallback, optional, hedged, late} {
			if _, err := step.Run(ctx, s, "in"); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []struct {
			metric, stage, label, value string
		}{
			{budgetattr.MetricStageDecisions, "generate", budgetattr.LabelDecision, "fallback"},
			{budgetattr.MetricStageDecisions, "rerank", budgetattr.LabelDecision, "skip"},
			{budgetattr.MetricStageDecisions, "find", budgetattr.LabelDecision, "run"},
			{budgetattr.MetricRetriesSkipped, "generate", budgetattr.LabelReason, "retry_after"},
			{budgetattr.MetricRetriesSkipped, "store", budgetattr.LabelReason, "hedge"},
			{budgetattr.MetricHedges, "find", budgetattr.LabelStage, "find"},
		} {
			if got := counted(t, reader, want.metric, want.stage, want.label); len(got) != 1 || got[want.value] != 1 {
				t.Errorf("%s of %s: %v, want one %s", want.metric, want.stage, got, want.value)
			}
		}
	})
}

// A step that panics has run: it is counted, and nothing else was decided for it.
func TestIssuePanicIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		spans := tracetest.NewSpanRecorder()
		edge := budget.NewEdge(budget.Policy{Default: time.Second}, budget.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))),
			budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))))
		ctx, entry, err := edge.Start(t.Context(), budget.Arrival{})
		if err != nil {
			t.Fatal(err)
		}
		defer entry.End(nil)
		breaks := func(context.Context, string) (string, error) { panic("boom") }
		retry := step.Terms{Retry: step.Retry{Attempts: 3}}
		steps := []*step.Step[string, string]{
			step.Required("plain", breaks, step.Terms{}),
			step.Required("covered", breaks, retry).Or(step.Fallback[string, string]{Name: "brief", Do: takes(0, "short"), Meets: "short answers do"}),
			step.Optional("optional", breaks, func(in string) string { return in }, retry),
		}
		for _, s := range steps {
			func() {
				defer func() {
					if p := recover(); p != "boom" {
						t.Errorf("panic %v", p)
					}
				}()
				_, _ = step.Run(ctx, s, "in")
			}()
		}
		for _, stage := range []string{"plain", "covered", "optional"} {
			if got := counted(t, reader, budgetattr.MetricStageDecisions, stage, budgetattr.LabelDecision); len(got) != 1 || got["run"] != 1 {
				t.Errorf("decisions of %s: %v, want one run", stage, got)
			}
		}
		for _, span := range spans.Ended() {
			for _, a := range span.Attributes() {
				if a.Key == budgetattr.DecisionKey && a.Value.AsString() != "run" {
					t.Errorf("hop %s: decision %s", span.Name(), a.Value.AsString())
				}
			}
		}
		if n := len(spans.Ended()); n != len(steps) {
			t.Errorf("%d hops, want %d", n, len(steps))
		}
	})
}

// A result counts once its check has passed, and the hop tells when it was complete and when it was found valid.
func TestO9_ValidatedResultHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := budgettest.NewRecorder()
		edge := budget.NewEdge(budget.Policy{Default: time.Second, Target: budgetattr.TargetValidated}, budget.WithTracerProvider(r.TracerProvider()))
		ctx, entry, err := edge.Start(t.Context(), budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		wrong := errors.New("not what was asked")
		s := step.Required("answer", takes(200*time.Millisecond, "rubbish"), step.Terms{}).
			Or(step.Fallback[string, string]{Name: "brief", Do: takes(100*time.Millisecond, "good"), Meets: "short answers do"}).
			Validated(func(_ context.Context, out string) error {
				time.Sleep(50 * time.Millisecond)
				if out != "good" {
					return wrong
				}
				return nil
			})
		got, err := step.RunResult(ctx, s, "q")
		if err != nil || got.Value != "good" || got.By != "brief" || !errors.Is(got.Err, wrong) {
			t.Fatalf("%+v, %v", got, err)
		}
		budget.Reached(ctx, budgetattr.TargetValidated)
		time.Sleep(100 * time.Millisecond) // the rest is not what the budget is about
		entry.End(nil)

		for name, want := range map[string]map[string]time.Duration{
			"answer": {budgetattr.CompleteTimeKey: 200 * time.Millisecond},
			"brief":  {budgetattr.CompleteTimeKey: 100 * time.Millisecond, budgetattr.ValidatedTimeKey: 150 * time.Millisecond},
			"in":     {budgetattr.ValidatedTimeKey: 400 * time.Millisecond, budgetattr.MarginKey: 600 * time.Millisecond},
		} {
			spans := r.Stage(name)
			if name == "in" {
				spans = r.Entries()
			}
			if len(spans) != 1 {
				t.Fatalf("%d spans %s", len(spans), name)
			}
			for _, key := range []string{budgetattr.CompleteTimeKey, budgetattr.ValidatedTimeKey, budgetattr.MarginKey} {
				got, ok := spans[0].Seconds(key)
				w, expected := want[key]
				if ok != expected || (got-w).Abs() > time.Microsecond {
					t.Errorf("%s of %s: %v, %v; want %v", key, name, got, ok, want)
				}
			}
		}
	})
}
