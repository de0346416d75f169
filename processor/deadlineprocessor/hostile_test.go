package deadlineprocessor

import (
	"context"
	"maps"
	"math"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/laxity-dev/laxity/processor/deadlineprocessor/internal/metadatatest"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// through sends traces through a chain of n processors and returns what comes out, with the telemetry of the last.
func through(t *testing.T, n int, td ptrace.Traces) (ptrace.Traces, *componenttest.Telemetry) {
	t.Helper()
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { _ = telemetry.Shutdown(context.Background()) })
	f := NewFactory()
	for i := range n {
		set := processortest.NewNopSettings(f.Type())
		if i == n-1 {
			set.TelemetrySettings = telemetry.NewTelemetrySettings()
		}
		sink := &consumertest.TracesSink{}
		p, err := f.CreateTraces(t.Context(), set, f.CreateDefaultConfig(), sink)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.ConsumeTraces(t.Context(), td); err != nil {
			t.Fatal(err)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		td = sink.AllTraces()[0]
	}
	return td, telemetry
}

func one(start, end uint64, attrs map[string]any) ptrace.Traces {
	td := ptrace.NewTraces()
	s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{1})
	s.SetSpanID(pcommon.SpanID{1})
	s.SetKind(ptrace.SpanKindServer)
	s.SetStartTimestamp(pcommon.Timestamp(start))
	s.SetEndTimestamp(pcommon.Timestamp(end))
	_ = s.Attributes().FromRaw(attrs)
	return td
}

func first(td ptrace.Traces) map[string]any {
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()
}

func invalid(reason string, n int64) []metricdata.DataPoint[int64] {
	return []metricdata.DataPoint[int64]{{Value: n, Attributes: attribute.NewSet(attribute.String("reason", reason))}}
}

// A span that ends before it starts has no length, not an astronomic one (openobserve#14368, contrib#9891), and is counted.
func TestIssueEndBeforeStart(t *testing.T) {
	td, telemetry := through(t, 1, one(1_000, 400, map[string]any{budgetattr.BudgetReceivedKey: 0.5}))
	if got := first(td); got[budgetattr.MarginKey] != 0.5 || got[budgetattr.LateKey] != false {
		t.Errorf("%v", got)
	}
	metadatatest.AssertEqualProcessorDeadlineInvalidSpans(t, telemetry, invalid("end_before_start", 1), metricdatatest.IgnoreTimestamp())
}

// A span of the year 2299 passes (what cannot be stored is routed elsewhere) and is counted (opik#7690, ClickHouse#37625).
func TestIssueFarFuture(t *testing.T) {
	const in2299 = 10_400_000_000_000_000_000
	td, telemetry := through(t, 1, one(in2299, in2299+1, nil))
	if td.SpanCount() != 1 {
		t.Fatal("the span is gone")
	}
	metadatatest.AssertEqualProcessorDeadlineInvalidSpans(t, telemetry, invalid("time_out_of_range", 1), metricdatatest.IgnoreTimestamp())
}

// A processor that somebody put into a chain several times changes nothing more (mergeCraft#372).
func TestIssueStackedProcessors(t *testing.T) {
	attrs := map[string]any{budgetattr.BudgetReceivedKey: 0.7, "http.response.status_code": int64(504), "error": "redis timeout"}
	once, _ := through(t, 1, one(1_000, 1_000_001_000, attrs))
	often, _ := through(t, 5, one(1_000, 1_000_001_000, attrs))
	if !maps.Equal(first(once), first(often)) {
		t.Errorf("once  %v\noften %v", first(once), first(often))
	}
}

// Cancelled by its caller is benign, not an error, whatever the status says (semconv#560, #3495).
func TestIssueCancelledIsNoFailure(t *testing.T) {
	td := one(1_000, 2_000, map[string]any{"rpc.grpc.status_code": int64(1)})
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Status().SetCode(ptrace.StatusCodeError)
	out, telemetry := through(t, 1, td)
	got := first(out)
	if got[budgetattr.CancelCauseKey] != "upstream_cancel" || got[budgetattr.OutcomeKey] != "cancelled" ||
		got[budgetattr.InferredRuleKey] != "grpc_cancelled,outcome_from_status" {
		t.Errorf("%v", got)
	}
	metadatatest.AssertEqualProcessorDeadlineClassifiedSpans(t, telemetry, []metricdata.DataPoint[int64]{
		{Value: 1, Attributes: attribute.NewSet(attribute.String("source", "grpc"))}}, metricdatatest.IgnoreTimestamp())
}

// Attributes whose values make no sense count for nothing and are counted, whatever their type.
func TestIssueAbsurdValues(t *testing.T) {
	td, telemetry := through(t, 1, one(1_000, 1_000_001_000, map[string]any{
		budgetattr.BudgetReceivedKey: math.NaN(), budgetattr.MarginKey: math.Inf(-1), budgetattr.ReserveKey: -1.0,
		budgetattr.LateKey: "perhaps", budgetattr.AllowanceKey: 1e300, budgetattr.StageKey: map[string]any{"a": "b"},
		budgetattr.AttemptKey: int64(3), budgetattr.CapKey: 2.0,
	}))
	got := first(td)
	if _, judged := got[budgetattr.OutcomeKey]; judged {
		t.Errorf("a budget that is no number was judged: %v", got)
	}
	metadatatest.AssertEqualProcessorDeadlineBadAttributes(t, telemetry, []metricdata.DataPoint[int64]{{Value: 6}}, metricdatatest.IgnoreTimestamp())
}

// Late, twice, out of order, alone: a span is judged from itself, so its company changes nothing.
func TestCompanyChangesNothing(t *testing.T) {
	late := map[string]any{budgetattr.BudgetReceivedKey: 0.5}
	alone, _ := through(t, 1, one(1_000, 1_000_001_000, late))
	together := one(1_000, 1_000_001_000, late)
	for range 3 {
		one(1_000, 1_000_001_000, late).ResourceSpans().MoveAndAppendTo(together.ResourceSpans())
		one(5, 2, map[string]any{"error": true}).ResourceSpans().MoveAndAppendTo(together.ResourceSpans())
	}
	out, telemetry := through(t, 1, together)
	for i, rs := range out.ResourceSpans().All() {
		got := rs.ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()
		if _, ours := got["error"]; !ours && !maps.Equal(got, first(alone)) {
			t.Errorf("span %d: %v, alone %v", i, got, first(alone))
		}
	}
	metadatatest.AssertEqualProcessorDeadlineLateSpans(t, telemetry, []metricdata.DataPoint[int64]{{Value: 4}}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualProcessorDeadlineJudgedSpans(t, telemetry, []metricdata.DataPoint[int64]{{Value: 7}}, metricdatatest.IgnoreTimestamp())
}

// TestOutcomes: what an entry span without recorded outcome gets, by what is on it.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name   string
		attrs  map[string]any
		status ptrace.StatusCode
		want   any
	}{
		{"in time", map[string]any{budgetattr.BudgetReceivedKey: 2.0}, ptrace.StatusCodeUnset, "done"},
		{"late is done", map[string]any{budgetattr.BudgetReceivedKey: 0.5}, ptrace.StatusCodeUnset, "done"},
		{"error", map[string]any{budgetattr.BudgetReceivedKey: 2.0}, ptrace.StatusCodeError, "failed"},
		{"error without a budget", nil, ptrace.StatusCodeError, "failed"},
		{"no budget, no error", nil, ptrace.StatusCodeUnset, nil},
		{"own deadline", map[string]any{"http.response.status_code": int64(504)}, ptrace.StatusCodeError, "cancelled"},
		{"client gone", map[string]any{"http.response.status_code": int64(499)}, ptrace.StatusCodeUnset, "cancelled"},
		{"500 that no status tells", map[string]any{"http.response.status_code": int64(500)}, ptrace.StatusCodeUnset, "failed"},
		{"refused", map[string]any{budgetattr.BudgetSourceKey: "refused", budgetattr.BudgetReceivedKey: 0.0}, ptrace.StatusCodeError, "rejected"},
		{"recorded", map[string]any{budgetattr.OutcomeKey: "degraded", budgetattr.BudgetReceivedKey: 2.0}, ptrace.StatusCodeError, "degraded"},
	} {
		td := one(1_000, 1_000_001_000, c.attrs)
		td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Status().SetCode(c.status)
		out, _ := through(t, 1, td)
		if got := first(out); got[budgetattr.OutcomeKey] != c.want {
			t.Errorf("%s: outcome %v, want %v", c.name, got[budgetattr.OutcomeKey], c.want)
		}
	}
}
