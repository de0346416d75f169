package budget_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
)

func benchContext(b *testing.B, sampler sdktrace.Sampler, p budget.Policy) (context.Context, trace.Tracer) {
	tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler))
	b.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	ctx, entry, err := budget.NewEdge(p, budget.WithTracerProvider(tp)).Start(context.Background(), budget.Arrival{Name: "in"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { entry.End(nil) })
	return ctx, tp.Tracer("bench")
}

func BenchmarkHopRecorded(b *testing.B) {
	ctx, _ := benchContext(b, sdktrace.AlwaysSample(), budget.Policy{Default: time.Hour, Reserve: time.Second})
	b.ReportAllocs()
	for b.Loop() {
		_, hop, err := budget.StartHop(ctx, "rerank", budget.WithPeer("reranker"), budget.WithCap(time.Second), budget.WithMinUseful(time.Millisecond))
		if err != nil {
			b.Fatal(err)
		}
		hop.End(nil)
	}
}

// BenchmarkHopByHand is the same with context.WithDeadlineCause and a span with as many attributes.
func BenchmarkHopByHand(b *testing.B) {
	ctx, tracer := benchContext(b, sdktrace.AlwaysSample(), budget.Policy{Default: time.Hour})
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		deadline, _ := ctx.Deadline()
		before := deadline.Sub(start)
		allowance := min(before-time.Second, time.Second)
		hopCtx, cancel := context.WithDeadlineCause(ctx, start.Add(allowance), budget.ErrExhausted)
		_, span := tracer.Start(hopCtx, "rerank", trace.WithSpanKind(trace.SpanKindClient))
		span.SetAttributes(attribute.String("deadline.stage", "rerank"), attribute.String("deadline.decision", "run"),
			attribute.Float64("deadline.remaining.before", before.Seconds()),
			attribute.Float64("deadline.remaining.after", time.Until(deadline).Seconds()),
			attribute.Float64("deadline.allowance", allowance.Seconds()), attribute.String("deadline.binding", "cap"),
			attribute.Float64("deadline.reserve", 1), attribute.Float64("deadline.cap", 1),
			attribute.Float64("deadline.min_useful", .001), attribute.String("peer.service", "reranker"))
		span.End()
		cancel()
	}
}

func BenchmarkHopUnrecorded(b *testing.B) {
	ctx, _ := benchContext(b, sdktrace.NeverSample(), budget.Policy{Default: time.Hour})
	b.ReportAllocs()
	for b.Loop() {
		_, hop, err := budget.StartHop(ctx, "rerank", budget.WithPeer("reranker"), budget.WithCap(time.Second))
		if err != nil {
			b.Fatal(err)
		}
		hop.End(nil)
	}
}

func BenchmarkDeadlineByHand(b *testing.B) {
	ctx, _ := benchContext(b, sdktrace.NeverSample(), budget.Policy{Default: time.Hour})
	b.ReportAllocs()
	for b.Loop() {
		_, cancel := context.WithDeadlineCause(ctx, time.Now().Add(time.Second), budget.ErrExhausted)
		cancel()
	}
}

func BenchmarkHopKeepsParentDeadline(b *testing.B) {
	ctx, _ := benchContext(b, sdktrace.NeverSample(), budget.Policy{Default: time.Hour})
	b.ReportAllocs()
	for b.Loop() {
		_, hop, err := budget.StartHop(ctx, "rerank")
		if err != nil {
			b.Fatal(err)
		}
		hop.End(nil)
	}
}
