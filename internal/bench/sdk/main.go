// Command sdk measures what the sdk adds to a hop and to a pair of HTTP server and client, each against the same made by
// hand or by a named peer in the same run.
//
// The machine may be busy, so each pair is measured in many short turns, one after the other, and the fastest turns are
// compared: what others took from a turn only ever makes it slower.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

func main() {
	debug.SetGCPercent(800) // the collector's work is the same for both, and noise to either
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench sdk:", err)
		os.Exit(1)
	}
}

func run() error {
	recorded, byHand := hop(sdktrace.AlwaysSample()), hopByHand()
	ours, theirs := compare(400, 2000, recorded, byHand)
	fmt.Printf("one recorded hop: %v with the sdk, %v by hand\n", ours, theirs)
	figure("sdk_hop_time", ratio(ours, theirs), "context.WithDeadlineCause and an OpenTelemetry span")
	a, b := allocations(recorded), allocations(byHand)
	fmt.Printf("allocations of it: %.1f and %.1f\n", a, b)
	figure("sdk_hop_allocs", a/b, "context.WithDeadlineCause and an OpenTelemetry span")

	unrecorded, checked := hop(sdktrace.NeverSample()), deadlineByHand(true)
	ours, theirs = compare(400, 4000, unrecorded, checked)
	fmt.Printf("one hop that is not recorded: %v with the sdk, %v by hand\n", ours, theirs)
	figure("sdk_hop_unrecorded", ratio(ours, theirs), "context.WithDeadlineCause after a look at what remains")
	a, b = allocations(unrecorded), allocations(checked)
	figure("sdk_hop_unrecorded_allocs", a/b, "context.WithDeadlineCause")
	ours, theirs = compare(400, 4000, unrecorded, deadlineByHand(false))
	figure("sdk_hop_unrecorded_bare", ratio(ours, theirs), "context.WithDeadlineCause alone, set blindly")
	fmt.Printf("allocations of a hop that keeps its parent's deadline, not recorded: %.1f\n", allocations(keeping()))

	with, closeWith := pair(withBudget())
	defer closeWith()
	without, closeWithout := pair(withOtel())
	defer closeWithout()
	ours, theirs = compare(300, 40, with, without)
	fmt.Printf("one HTTP call, client and server: %v with the sdk, %v with otelhttp\n", ours, theirs)
	figure("http_pair_time", ratio(ours, theirs), "otelhttp")
	return nil
}

func figure(name string, value float64, peer string) {
	fmt.Printf("figure %s %.3f x vs %s\n", name, value, peer)
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// compare runs both functions in turns of n calls and returns the time per call of the fastest tenth of the turns.
func compare(turns, n int, a, b func()) (ofA, ofB time.Duration) {
	measure := func(f func()) time.Duration {
		start := time.Now()
		for range n {
			f()
		}
		return time.Since(start)
	}
	measure(a)
	measure(b)
	var as, bs []time.Duration
	for range turns {
		as = append(as, measure(a))
		bs = append(bs, measure(b))
	}
	fast := func(d []time.Duration) time.Duration {
		slices.Sort(d)
		return d[len(d)/20] / time.Duration(n)
	}
	return fast(as), fast(bs)
}

func allocations(f func()) float64 {
	f()
	const n = 2000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(int(float64(after.Mallocs-before.Mallocs)/n*10+.5)) / 10
}

func request(sampler sdktrace.Sampler, p budget.Policy) (context.Context, trace.Tracer) {
	tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler))
	ctx, _, err := budget.NewEdge(p, budget.WithTracerProvider(tp)).Start(context.Background(), budget.Arrival{Name: "bench"})
	if err != nil {
		panic(err)
	}
	return ctx, tp.Tracer("bench")
}

// hop admits a hop, derives its context, starts and ends its span.
func hop(sampler sdktrace.Sampler) func() {
	ctx, _ := request(sampler, budget.Policy{Default: time.Hour, Reserve: time.Second})
	return func() {
		_, hop, err := budget.StartHop(ctx, "rerank", budget.WithPeer("reranker"), budget.WithCap(time.Second), budget.WithMinUseful(time.Millisecond))
		if err != nil {
			panic(err)
		}
		hop.End(nil)
	}
}

// hopByHand does the same with the same number of attributes.
func hopByHand() func() {
	ctx, tracer := request(sdktrace.AlwaysSample(), budget.Policy{Default: time.Hour})
	return func() {
		start := time.Now()
		deadline, _ := ctx.Deadline()
		before := deadline.Sub(start)
		allowance := min(before-time.Second, time.Second)
		if allowance < time.Millisecond {
			panic("no time")
		}
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

// deadlineByHand is what replaces a hop that is not recorded: whoever is not to start what cannot end in time looks first at
// what remains, less the reserve.
func deadlineByHand(check bool) func() {
	ctx, _ := request(sdktrace.NeverSample(), budget.Policy{Default: time.Hour})
	return func() {
		start, allowance := time.Now(), time.Second
		if check {
			deadline, _ := ctx.Deadline()
			allowance = min(deadline.Sub(start)-time.Second, time.Second)
			if allowance < time.Millisecond {
				panic("no time")
			}
		}
		_, cancel := context.WithDeadlineCause(ctx, start.Add(allowance), budget.ErrExhausted)
		cancel()
	}
}

// keeping is a hop whose context is its parent's.
func keeping() func() {
	ctx, _ := request(sdktrace.NeverSample(), budget.Policy{Default: time.Hour})
	return func() {
		_, hop, err := budget.StartHop(ctx, "rerank")
		if err != nil {
			panic(err)
		}
		hop.End(nil)
	}
}

// instrumented is a way to watch a server and a client.
type instrumented struct {
	server func(http.Handler) http.Handler
	client func(http.RoundTripper) http.RoundTripper
}

func providers() (*sdktrace.TracerProvider, *sdkmetric.MeterProvider) {
	return sdktrace.NewTracerProvider(), sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
}

func withBudget() instrumented {
	tp, mp := providers()
	return instrumented{
		server: budgethttp.NewMiddleware(budget.Policy{Default: time.Minute}, budgethttp.WithTracerProvider(tp), budgethttp.WithMeterProvider(mp)),
		client: func(rt http.RoundTripper) http.RoundTripper { return budgethttp.NewTransport(rt) },
	}
}

func withOtel() instrumented {
	tp, mp := providers()
	opts := []otelhttp.Option{otelhttp.WithTracerProvider(tp), otelhttp.WithMeterProvider(mp)}
	return instrumented{
		server: func(h http.Handler) http.Handler { return otelhttp.NewHandler(h, "front", opts...) },
		client: func(rt http.RoundTripper) http.RoundTripper { return otelhttp.NewTransport(rt, opts...) },
	}
}

// pair returns a call of a server whose handler calls another: one middleware and one transport.
func pair(i instrumented) (call func(), stop func()) {
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "ok") }))
	client := &http.Client{Transport: i.client(&http.Transport{MaxIdleConnsPerHost: 8})}
	front := httptest.NewServer(i.server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), "GET", back.URL, nil)
		get(client, req, w)
	})))
	outer := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	return func() {
			req, _ := http.NewRequest("GET", front.URL, nil)
			get(outer, req, io.Discard)
		}, func() {
			front.Close()
			back.Close()
		}
}

func get(client *http.Client, req *http.Request, to io.Writer) {
	resp, err := client.Do(req)
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(to, resp.Body)
	resp.Body.Close()
}
