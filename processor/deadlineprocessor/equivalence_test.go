package deadlineprocessor

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"pgregory.net/rapid"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/processor/deadlineprocessor/internal/metadata"
	"github.com/laxity-dev/laxity/processor/pspan"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// vocabulary is what tracers write, and near misses of it.
var vocabulary = map[string][]any{
	"http.response.status_code":      {int64(200), int64(404), int64(408), int64(499), int64(500), int64(504), int64(-1), int64(9999), "504", "200"},
	"http.status_code":               {int64(200), int64(460), int64(503)},
	"rpc.grpc.status_code":           {int64(0), int64(1), int64(4), int64(5), int64(13), int64(99)},
	"rpc.response.status_code":       {"OK", "DEADLINE_EXCEEDED", "CANCELLED", "NOT_FOUND", "4", "what"},
	"response_flags":                 {"-", "", "UT", "UF", "UF,DC"},
	"component":                      {"proxy", "grpc"},
	"canceled":                       {true, false, "true"},
	"error":                          {true, false, "true", "false", "", "redis timeout", int64(1)},
	"error.type":                     {"timeout", "java.net.SocketTimeoutException", "500", "AbortError"},
	"db.system.name":                 {"mysql", "postgresql"},
	"db.response.status_code":        {"57014", "1205", "3024"},
	"exception.message":              {"Read timed out", "context canceled"},
	"gateway.timeout":                {int64(700), "1500", "soon", -1.0},
	"http.route":                     {"/orders"},
	budgetattr.BudgetRequestedKey:    {0.9, "soon"},
	budgetattr.RemainingBeforeKey:    {0.4, -0.1},
	budgetattr.AllowanceKey:          {0.3, -0.3, 1e12},
	budgetattr.AttemptKey:            {int64(2), int64(-2), "3", 4.5},
	budgetattr.StageKey:              {"rank", ""},
	budgetattr.ConnectionReusedKey:   {true, "maybe"},
	budgetattr.PostCancelCostKey:     {0.01, -1.0},
	budgetattr.LateKey:               {true, false, "true", "x"},
	budgetattr.MarginAtKey:           {"first_output", "validated", "complete"},
	budgetattr.FirstOutputTimeKey:    {0.2, 1e6},
	budgetattr.ValidatedTimeKey:      {0.5, int64(1)},
	budgetattr.PostCancelTimeKey:     {0.05, -0.05},
	budgetattr.TimeoutPhaseKey:       {"connect"},
	budgetattr.CleanupBudgetKey:      {0.02},
	budgetattr.DrainTimeKey:          {0.04},
	budgetattr.BudgetReceivedKey:     {0.7, 2.0, -1.0, "1.5", true},
	budgetattr.MarginKey:             {0.25, -0.1, "x"},
	budgetattr.GovernedByKey:         {"deadline", "expiry"},
	budgetattr.OutcomeKey:            {"done", "degraded"},
	budgetattr.CancelCauseKey:        {"client_disconnect"},
	budgetattr.CancelAfterKey:        {0.3},
	budgetattr.InferredKey:           {true},
	budgetattr.InferredRuleKey:       {"budget_from", "budget_from,margin_from_duration", "outcome_from_status"},
	budgetattr.CleanupTimeKey:        {0.1},
	budgetattr.BudgetSourceKey:       {"refused", "caller"},
	budgetattr.CompleteTimeKey:       {0.9},
	budgetattr.UsedRatioKey:          {0.5},
	"deadline.something.of.tomorrow": {"x"},
}

// TestFastPathIsTheJudgement: what the processor adds by looking at few attributes of few spans is what the judgement of the
// whole span adds.
func TestFastPathIsTheJudgement(t *testing.T) {
	config := classify.Config{BudgetFrom: []classify.BudgetFrom{{Attribute: "gateway.timeout", Unit: "ms"}}}
	classifier, err := classify.New(config)
	if err != nil {
		t.Fatal(err)
	}
	telemetry, err := metadata.NewTelemetryBuilder(componenttest.NewNopTelemetrySettings())
	if err != nil {
		t.Fatal(err)
	}
	a := &annotator{classifier: classifier, telemetry: telemetry}
	rapid.Check(t, func(t *rapid.T) {
		td := ptrace.NewTraces()
		spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		var want []map[string]any
		var bad int64
		for range rapid.IntRange(1, 4).Draw(t, "spans") {
			in := spans.AppendEmpty()
			draw(t, in)
			s := new(pspan.Reader).Span(in)
			bad += badOf(in, s)
			classifier.Annotate(s)
			verdict.JudgeSpan(s).Annotate(s)
			want = append(want, maps.Clone(map[string]any(s.Attrs)))
		}
		n := a.annotateAll(td)
		if n.bad != bad {
			t.Fatalf("%d attributes make no sense, want %d", n.bad, bad)
		}
		for i := range want {
			if got := spans.At(i).Attributes().AsRaw(); !maps.Equal(got, want[i]) {
				t.Fatalf("span %d:\n got %v\nwant %v", i, got, want[i])
			}
		}
	})
}

func badOf(in ptrace.Span, s *span.Span) (bad int64) {
	for key := range in.Attributes().All() {
		if strings.HasPrefix(key, budgetattr.Prefix) && (!s.Attrs.Has(key) || !hop.Sensible(s.Attrs, key)) {
			bad++
		}
	}
	return bad
}

func draw(t *rapid.T, in ptrace.Span) {
	in.SetTraceID(pcommon.TraceID{1})
	in.SetSpanID(pcommon.SpanID{1})
	in.SetKind(ptrace.SpanKind(rapid.IntRange(0, int(span.KindConsumer)).Draw(t, "kind")))
	if rapid.Bool().Draw(t, "child") {
		in.SetParentSpanID(pcommon.SpanID{2})
	}
	in.SetStartTimestamp(1_000_000_000)
	in.SetEndTimestamp(pcommon.Timestamp(rapid.Uint64Range(900_000_000, 3_000_000_000).Draw(t, "end")))
	in.Status().SetCode(ptrace.StatusCode(rapid.IntRange(0, 2).Draw(t, "status")))
	in.Status().SetMessage(rapid.SampledFrom([]string{"", "context deadline exceeded", "payment declined", "Read timed out"}).Draw(t, "message"))
	pick(t, in.Attributes(), vocabulary, 7)
	if rapid.IntRange(0, 3).Draw(t, "event") == 0 {
		e := in.Events().AppendEmpty()
		e.SetName(rapid.SampledFrom([]string{"exception", "log", "error"}).Draw(t, "name"))
		pick(t, e.Attributes(), map[string][]any{
			"exception.type":    {"httpx.PoolTimeout", "ValueError"},
			"exception.message": {"Connect timed out", "no"},
			"error.object":      {"context canceled"},
			"error":             {true, "x"},
			"event":             {"error", "retry"},
			"message":           {"redis timeout"},
		}, 3)
	}
}

func pick(t *rapid.T, to pcommon.Map, from map[string][]any, most int) {
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(from))), 0, most, rapid.ID).Draw(t, "keys")
	for _, key := range keys {
		_ = to.PutEmpty(key).FromRaw(rapid.SampledFrom(from[key]).Draw(t, key))
	}
}
