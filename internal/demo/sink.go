package demo

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Counts says what became of the spans: Sent were accepted, Failed were refused or could not be delivered, Dropped never
// reached the exporter because its queue was full.
type Counts struct {
	Made    int64 `json:"made"`
	Sent    int64 `json:"sent"`
	Failed  int64 `json:"failed"`
	Dropped int64 `json:"dropped"`
}

// String lists the counts.
func (c Counts) String() string {
	return fmt.Sprintf("%d made, %d sent, %d failed, %d dropped", c.Made, c.Sent, c.Failed, c.Dropped)
}

// Lost is an error unless every span was sent.
func (c Counts) Lost() error {
	if c.Sent == c.Made {
		return nil
	}
	return fmt.Errorf("%d of %d spans did not arrive", c.Made-c.Sent, c.Made)
}

// sink is the one OTLP client of all services. It counts and is started and stopped by its owner, not by the exporters that
// share it.
type sink struct {
	client             otlptrace.Client
	made, sent, failed atomic.Int64
}

func (s *sink) Start(context.Context) error { return nil }
func (s *sink) Stop(context.Context) error  { return nil }

func (s *sink) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	n := countSpans(spans)
	if err := s.client.UploadTraces(ctx, spans); err != nil {
		s.failed.Add(n)
		return fmt.Errorf("send %d spans: %w", n, err)
	}
	s.sent.Add(n)
	return nil
}

// OnStart, OnEnd, Shutdown and ForceFlush make the sink a span processor that counts what the services made.
func (s *sink) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (s *sink) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		s.made.Add(1)
	}
}
func (s *sink) Shutdown(context.Context) error   { return nil }
func (s *sink) ForceFlush(context.Context) error { return nil }

// counts is exact once all exporters are shut down; before, spans under way count as dropped.
func (s *sink) counts() Counts {
	c := Counts{Made: s.made.Load(), Sent: s.sent.Load(), Failed: s.failed.Load()}
	c.Dropped = c.Made - c.Sent - c.Failed
	return c
}

func countSpans(all []*tracepb.ResourceSpans) int64 {
	var n int64
	for _, resource := range all {
		for _, scope := range resource.ScopeSpans {
			n += int64(len(scope.Spans))
		}
	}
	return n
}
