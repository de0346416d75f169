package quarantineconnector

import (
	"math"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
)

const second = 1_000_000_000

type pipelines struct{ kept, refused *consumertest.TracesSink }

func start(t *testing.T) (connector.Traces, pipelines) {
	t.Helper()
	p := pipelines{&consumertest.TracesSink{}, &consumertest.TracesSink{}}
	router := connector.NewTracesRouter(map[pipeline.ID]consumer.Traces{
		pipeline.NewID(pipeline.SignalTraces):                       p.kept,
		pipeline.NewIDWithName(pipeline.SignalTraces, "quarantine"): p.refused,
	})
	f := NewFactory()
	c, err := f.CreateTracesToTraces(t.Context(), connectortest.NewNopSettings(f.Type()), f.CreateDefaultConfig(), router.(consumer.Traces))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Shutdown(t.Context()) })
	return c, p
}

func add(spans ptrace.SpanSlice, name string, trace byte, id byte, from, to uint64) ptrace.Span {
	s := spans.AppendEmpty()
	s.SetName(name)
	s.SetTraceID(pcommon.TraceID{trace})
	s.SetSpanID(pcommon.SpanID{id})
	s.SetStartTimestamp(pcommon.Timestamp(from))
	s.SetEndTimestamp(pcommon.Timestamp(to))
	return s
}

func names(sink *consumertest.TracesSink) map[string]bool {
	all := map[string]bool{}
	for _, td := range sink.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					all[s.Name()] = true
				}
			}
		}
	}
	return all
}

func TestBadSpansLeaveTheOthersAlone(t *testing.T) {
	c, p := start(t)
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "checkout")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	add(spans, "good", 1, 1, 1_700_000_000*second, 1_700_000_001*second)
	add(spans, "1970", 1, 2, 0, second)
	event := spans.At(0).Events().AppendEmpty()
	event.SetTimestamp(pcommon.Timestamp(10_400_000_000 * second))
	spans.At(0).Events().AppendEmpty().SetTimestamp(5)
	add(spans, "1969", 1, 3, math.MaxUint64-second, second)
	add(spans, "2299", 1, 4, 10_400_000_000*second, 10_400_000_001*second)
	add(spans, "end before start", 1, 5, 2*second, second)
	add(spans, "no trace", 0, 6, 1, 2)
	add(spans, "no id", 1, 0, 1, 2)
	only := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	add(only, "alone", 1, 7, 3, 2)
	if err := c.ConsumeTraces(t.Context(), td); err != nil {
		t.Fatal(err)
	}
	if got := names(p.kept); len(got) != 2 || !got["good"] || !got["1970"] {
		t.Errorf("kept %v", got)
	}
	if got := names(p.refused); len(got) != 6 {
		t.Errorf("refused %v", got)
	}
	kept := p.kept.AllTraces()[0]
	if n := kept.ResourceSpans().Len(); n != 1 {
		t.Errorf("%d resources kept, want 1: one lost its only span", n)
	}
	if n := kept.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Events().Len(); n != 1 {
		t.Errorf("%d events, want the one whose time can be stored", n)
	}
	service, _ := p.refused.AllTraces()[0].ResourceSpans().At(0).Resource().Attributes().Get("service.name")
	if service.Str() != "checkout" {
		t.Error("a refused span lost its resource")
	}
}

func TestGoodBatchesPassOnce(t *testing.T) {
	c, p := start(t)
	td := ptrace.NewTraces()
	add(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans(), "good", 1, 1, 1, 2)
	if err := c.ConsumeTraces(t.Context(), td); err != nil {
		t.Fatal(err)
	}
	if len(p.kept.AllTraces()) != 1 || len(p.refused.AllTraces()) != 0 {
		t.Error("a good batch went the wrong way")
	}
}

func TestAQuarantinePipelineIsNeeded(t *testing.T) {
	router := connector.NewTracesRouter(map[pipeline.ID]consumer.Traces{pipeline.NewID(pipeline.SignalTraces): consumertest.NewNop()})
	f := NewFactory()
	if _, err := f.CreateTracesToTraces(t.Context(), connectortest.NewNopSettings(f.Type()), f.CreateDefaultConfig(), router.(consumer.Traces)); err == nil {
		t.Error("no error without a pipeline for refused spans")
	}
	if err := (&Config{Pipeline: pipeline.NewID(pipeline.SignalLogs)}).Validate(); err == nil {
		t.Error("a pipeline of logs was taken")
	}
}
