package deadlineexporter

import (
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// hops are spans with the attributes that instrumentation libraries write, and a budget on one in three.
func hops(n int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	for _, key := range []string{"service.name", "service.version", "service.instance.id", "host.name", "deployment.environment.name", "telemetry.sdk.language"} {
		rs.Resource().Attributes().PutStr(key, "value")
	}
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range n {
		s := spans.AppendEmpty()
		s.SetName("POST /orders/{id}")
		s.SetTraceID(pcommon.TraceID{1, byte(i >> 8), byte(i)})
		s.SetSpanID(pcommon.SpanID{1, byte(i >> 8), byte(i)})
		s.SetParentSpanID(pcommon.SpanID{1})
		s.SetKind(ptrace.SpanKindServer)
		s.SetStartTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + i))
		s.SetEndTimestamp(pcommon.Timestamp(1_700_000_001_000_000_000 + i))
		for _, key := range []string{"http.request.method", "url.path", "url.scheme", "http.route", "network.protocol.version", "user_agent.original"} {
			s.Attributes().PutStr(key, "value")
		}
		s.Attributes().PutInt("http.response.status_code", 200)
		if i%3 == 0 {
			s.Attributes().PutDouble(budgetattr.BudgetReceivedKey, 0.3)
			s.Attributes().PutDouble(budgetattr.MarginKey, -0.7)
			s.Attributes().PutBool(budgetattr.LateKey, true)
			s.Attributes().PutStr(budgetattr.OutcomeKey, "done")
		}
	}
	return td
}

func BenchmarkConvert(b *testing.B) {
	const n = 1000
	td := hops(n)
	counters, err := newCounters(componenttest.NewNopTelemetrySettings().MeterProvider)
	if err != nil {
		b.Fatal(err)
	}
	w := &writer{counters: counters}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.convert(b.Context(), td); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/span")
}

func BenchmarkQueue(b *testing.B) {
	const n = 1000
	w := &writer{}
	w.counters, _ = newCounters(componenttest.NewNopTelemetrySettings().MeterProvider)
	r, err := w.convert(b.Context(), hops(n))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := (encoding{}).Unmarshal(r.(*request).batch.Encode()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/span")
}
