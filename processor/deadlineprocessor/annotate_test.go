package deadlineprocessor

import (
	"context"
	"math"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/processor/deadlineprocessor/internal/metadata"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// process sends one span of a second through a processor and returns what comes out.
func process(t *testing.T, config *Config, kind ptrace.SpanKind, attrs map[string]any) map[string]any {
	t.Helper()
	td := ptrace.NewTraces()
	s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{1})
	s.SetSpanID(pcommon.SpanID{1})
	s.SetParentSpanID(pcommon.SpanID{2})
	s.SetKind(kind)
	s.SetStartTimestamp(1_700_000_000_000_000_000)
	s.SetEndTimestamp(1_700_000_001_000_000_000)
	if err := s.Attributes().FromRaw(attrs); err != nil {
		t.Fatal(err)
	}
	sink := &consumertest.TracesSink{}
	f := NewFactory()
	p, err := f.CreateTraces(t.Context(), processortest.NewNopSettings(f.Type()), config, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	if err := p.ConsumeTraces(t.Context(), td); err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sink.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()
}

func TestOneAttributeIsEnough(t *testing.T) {
	got := process(t, &Config{}, ptrace.SpanKindServer, map[string]any{budgetattr.BudgetReceivedKey: 0.7})
	want := map[string]any{
		budgetattr.BudgetReceivedKey: 0.7, budgetattr.MarginKey: -0.3, budgetattr.LateKey: true,
		budgetattr.UsedRatioKey: 1 / 0.7, budgetattr.OutcomeKey: "done", budgetattr.InferredKey: true,
	}
	for key, value := range want {
		if f, ok := value.(float64); ok {
			if g, ok := got[key].(float64); !ok || math.Abs(f-g) > 1e-9 {
				t.Errorf("%s = %v, want %v", key, got[key], f)
			}
		} else if got[key] != value {
			t.Errorf("%s = %v, want %v", key, got[key], value)
		}
	}
}

func TestWhatWasRecordedStays(t *testing.T) {
	recorded := map[string]any{
		budgetattr.BudgetReceivedKey: 0.5, budgetattr.MarginKey: 0.25, budgetattr.LateKey: false,
		budgetattr.UsedRatioKey: 0.5, budgetattr.OutcomeKey: "degraded",
	}
	got := process(t, &Config{}, ptrace.SpanKindServer, recorded)
	if len(got) != len(recorded) {
		t.Errorf("attributes were added: %v", got)
	}
	for key, value := range recorded {
		if got[key] != value {
			t.Errorf("%s = %v, want %v", key, got[key], value)
		}
	}
}

func TestBudgetFromAForeignAttribute(t *testing.T) {
	config := &Config{Config: classify.Config{BudgetFrom: []classify.BudgetFrom{{Attribute: "gateway.timeout", Unit: "ms"}}}}
	got := process(t, config, ptrace.SpanKindServer, map[string]any{"gateway.timeout": int64(1500)})
	if got[budgetattr.BudgetReceivedKey] != 1.5 || got[budgetattr.MarginKey] != 0.5 {
		t.Errorf("budget %v, margin %v", got[budgetattr.BudgetReceivedKey], got[budgetattr.MarginKey])
	}
}

func TestOrdinarySpansPassUnchanged(t *testing.T) {
	for _, kind := range []ptrace.SpanKind{ptrace.SpanKindInternal, ptrace.SpanKindClient, ptrace.SpanKindServer} {
		attrs := map[string]any{"http.route": "/orders", "n": int64(1)}
		if got := process(t, &Config{}, kind, attrs); len(got) != len(attrs) {
			t.Errorf("%v: %v", kind, got)
		}
	}
}

func TestNonsenseNeverPanics(t *testing.T) {
	for _, v := range []any{math.NaN(), math.Inf(1), math.Inf(-1), -1e300, "soon", true, []any{"a", int64(1)}, map[string]any{"a": "b"}} {
		attrs := map[string]any{}
		for _, a := range budgetattr.All() {
			attrs[a.Key] = v
		}
		process(t, &Config{}, ptrace.SpanKindServer, attrs)
	}
}

func TestCounters(t *testing.T) {
	telemetry := componenttest.NewTelemetry()
	defer func() { _ = telemetry.Shutdown(context.Background()) }()
	f := NewFactory()
	set := processortest.NewNopSettings(f.Type())
	set.TelemetrySettings = telemetry.NewTelemetrySettings()
	p, err := f.CreateTraces(t.Context(), set, f.CreateDefaultConfig(), consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for _, budget := range []float64{0.5, 2} {
		s := spans.AppendEmpty()
		s.SetKind(ptrace.SpanKindServer)
		s.SetEndTimestamp(1_000_000_000)
		s.Attributes().PutDouble(budgetattr.BudgetReceivedKey, budget)
	}
	spans.AppendEmpty().SetParentSpanID(pcommon.SpanID{1})
	if err := p.ConsumeTraces(t.Context(), td); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{
		"otelcol_processor_deadline_annotated_spans": 2, "otelcol_processor_deadline_late_spans": 1,
		"otelcol_processor_deadline_inferred_spans": 2,
	} {
		m, err := telemetry.GetMetric(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Data.(metricdata.Sum[int64]).DataPoints[0].Value; got != want {
			t.Errorf("%s = %d, want %d", name, got, want)
		}
	}
}

func BenchmarkAnnotate(b *testing.B) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "checkout")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range 1000 {
		s := spans.AppendEmpty()
		s.SetKind(ptrace.SpanKind(i % 6))
		s.SetParentSpanID(pcommon.SpanID{1})
		s.SetEndTimestamp(1_000_000_000)
		for _, key := range []string{"http.request.method", "url.path", "server.address", "http.route", "network.protocol.version"} {
			s.Attributes().PutStr(key, "value")
		}
	}
	telemetry, err := metadata.NewTelemetryBuilder(componenttest.NewNopTelemetrySettings())
	if err != nil {
		b.Fatal(err)
	}
	a := &annotator{classifier: classify.Builtin(), telemetry: telemetry}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = a.process(b.Context(), td)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/span")
}
