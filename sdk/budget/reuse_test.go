package budget_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// What a hop declared of itself is not found on the next hop of the request, and a handle of an ended hop changes nothing.
func TestHopsOfOneRequestShareNothing(t *testing.T) {
	r := newRecorder()
	ctx, entry, err := edge(r, budget.Policy{Default: time.Minute}).Start(t.Context(), budget.Arrival{Name: "in"})
	if err != nil {
		t.Fatal(err)
	}
	_, first, err := budget.StartHop(ctx, "first", budget.WithCap(time.Second), budget.WithOptional())
	if err != nil {
		t.Fatal(err)
	}
	first.Decide(budgetattr.DecisionFallback)
	first.TimeoutPhase(budgetattr.PhaseConnect)
	first.Unconfirmed()
	first.Drained(time.Second, time.Second)
	first.SetAttributes(attribute.String("mine", "yes"))
	_, done := first.Cleanup(ctx)
	done()
	first.End(nil)

	second, hop, err := budget.StartHop(ctx, "second")
	if err != nil {
		t.Fatal(err)
	}
	first.TimeoutPhase(budgetattr.PhaseDNS)
	first.Decide(budgetattr.DecisionSkip)
	first.SetAttributes(attribute.String("late", "yes"))
	first.End(errors.New("again"))
	if second.Err() != nil {
		t.Error("the end of a hop that had ended ended another")
	}
	if _, ok := first.Allowance(); ok {
		t.Error("an ended hop has an allowance")
	}
	hop.End(nil)
	entry.End(nil)
	s := r.span(t, "second")
	want(t, s, map[string]any{budgetattr.DecisionKey: string(budgetattr.DecisionRun)})
	for _, key := range []string{"mine", "late", budgetattr.TimeoutPhaseKey, budgetattr.StageOptionalKey, budgetattr.CapKey,
		budgetattr.DrainTimeKey, budgetattr.CleanupTimeKey, budgetattr.CancelConfirmedKey} {
		if v, ok := attr(s, key); ok {
			t.Errorf("%s = %v on a hop that did not set it", key, v.AsInterface())
		}
	}
}

// A hop that outlives its request ends for itself alone, whatever became of the request's other hops.
func TestHopMayOutliveItsRequest(t *testing.T) {
	e := edge(newRecorder(), budget.Policy{Default: time.Minute})
	for range 100 {
		ctx, entry, err := e.Start(t.Context(), budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		var hops sync.WaitGroup
		for range 4 {
			hops.Go(func() {
				for range 5 {
					hopCtx, hop, err := budget.StartHop(ctx, "work", budget.WithCap(time.Second))
					if err != nil {
						return
					}
					if d, ok := hop.Allowance(); !ok || d != time.Second {
						t.Errorf("allowance %v, %v", d, ok)
					}
					if d, ok := hopCtx.Deadline(); !ok || time.Until(d) > time.Second {
						t.Errorf("deadline %v, %v", d, ok)
					}
					hop.End(nil)
					if hopCtx.Err() == nil {
						t.Error("the context lives after the hop")
					}
				}
			})
		}
		entry.End(nil)
		hops.Wait()
	}
}

// The answer goes out while hops end: whoever lists those that are open meets none that is half gone.
func TestAnswerWhileHopsEnd(t *testing.T) {
	r := newRecorder()
	e := edge(r, budget.Policy{Default: time.Minute})
	for range 500 {
		ctx, entry, err := e.Start(t.Context(), budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		var hops sync.WaitGroup
		underWay := make(chan struct{}, 4)
		for range cap(underWay) {
			hops.Go(func() {
				for i := range 8 {
					if i == 2 {
						underWay <- struct{}{}
					}
					if _, hop, err := budget.StartHop(ctx, "work"); err == nil {
						hop.End(nil)
					}
				}
			})
		}
		<-underWay
		entry.Answered()
		hops.Wait()
		entry.End(nil)
	}
	for _, s := range r.Ended() {
		for _, event := range s.Events() {
			seen := map[string]string{}
			for _, kv := range event.Attributes {
				seen[string(kv.Key)] = kv.Value.AsString()
			}
			if seen[budgetattr.OpenChildStageKey] != "work" || seen[budgetattr.OpenChildSpanIDKey] == "" {
				t.Fatalf("an open hop is described as %v", seen)
			}
		}
	}
}

// A deadline from code that knows the wall clock only is measured once, on arrival: the hops count on the monotonic clock.
func TestForeignDeadlineIsMeasuredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, cancel := context.WithDeadline(t.Context(), time.Now().Add(10*time.Second).Round(0))
		defer cancel()
		ctx, entry, err := edge(newRecorder(), budget.Policy{Default: time.Minute}).Start(base, budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		defer entry.End(nil)
		time.Sleep(4 * time.Second)
		hopCtx, hop, err := budget.StartHop(ctx, "work", budget.WithReserve(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer hop.End(nil)
		if d, _ := hop.Allowance(); d != 5*time.Second {
			t.Errorf("allowance %v of 10 s, 4 of them spent and 1 kept", d)
		}
		// A context below with a wall-clock deadline of its own.
		inner, stop := context.WithDeadline(hopCtx, time.Now().Add(2*time.Second).Round(0))
		defer stop()
		_, hop2, err := budget.StartHop(inner, "work")
		if err != nil {
			t.Fatal(err)
		}
		defer hop2.End(nil)
		if d, _ := hop2.Allowance(); d != 2*time.Second {
			t.Errorf("allowance %v under a deadline in 2 s", d)
		}
	})
}

// What percentiles are compared by is said by who knows it, on the entry and on the hop.
func TestPayloadClassAndRegion(t *testing.T) {
	r := newRecorder()
	ctx, entry, err := edge(r, budget.Policy{Default: time.Minute}).Start(t.Context(), budget.Arrival{
		Name: "in", Attributes: []attribute.KeyValue{attribute.String(budgetattr.RegionKey, "eu")},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, hop, err := budget.StartHop(ctx, "work", budget.WithAttributes(attribute.String(budgetattr.PayloadClassKey, "large")))
	if err != nil {
		t.Fatal(err)
	}
	hop.SetAttributes(attribute.String(budgetattr.RegionKey, "us"))
	hop.End(nil)
	entry.End(nil)
	want(t, r.span(t, "in"), map[string]any{budgetattr.RegionKey: "eu"})
	want(t, r.span(t, "work"), map[string]any{budgetattr.PayloadClassKey: "large", budgetattr.RegionKey: "us"})
}

// onStart calls a function as a span starts: in the middle of the start of a hop.
type onStart struct {
	sdktrace.SpanProcessor
	call func(name string)
}

func (o onStart) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	o.call(s.Name())
	o.SpanProcessor.OnStart(ctx, s)
}

// The first output lifted the deadline while a stream started, and the stream was cut at the deadline all the same.
func TestIssueStreamThatStartsAsTheDeadlineIsLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		var entry *budget.Entry
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(onStart{r.SpanRecorder, func(name string) {
			if name == "stream" {
				entry.Reached(budgetattr.TargetFirstOutput)
			}
		}}))
		e := budget.NewEdge(budget.Policy{Default: time.Second, Target: budgetattr.TargetFirstOutput}, budget.WithTracerProvider(provider))
		ctx, en, err := e.Start(t.Context(), budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		entry = en
		defer entry.End(nil)
		hopCtx, hop, err := budget.StartHop(ctx, "stream", budget.WithStream())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if hopCtx.Err() != nil {
			t.Errorf("cut: %v", context.Cause(hopCtx))
		}
		hop.End(nil)
	})
}

// Handles are kept and used from everywhere while their states go from hop to hop.
func TestStaleHandlesTouchNoOtherHop(t *testing.T) {
	r := newRecorder()
	e := edge(r, budget.Policy{Default: time.Minute, Target: budgetattr.TargetFirstOutput})
	for range 20 {
		base, leave := context.WithCancel(t.Context())
		ctx, entry, err := e.Start(base, budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		old := make(chan budget.Hop, 64)
		var stale, hops sync.WaitGroup
		for range 2 {
			stale.Go(func() {
				for h := range old {
					h.SetAttributes(attribute.Bool("stale", true))
					h.Reached(budgetattr.TargetValidated)
					h.Decide(budgetattr.DecisionSkip)
					h.TimeoutPhase(budgetattr.PhaseDNS)
					h.CostAfterCancel("token", 1)
					h.Drained(time.Second, 0)
					h.Unconfirmed()
					h.Draining()
					_, done := h.Cleanup(ctx)
					done()
					if h.IsRecording() || h.Err(context.Canceled) != context.Canceled {
						t.Error("an ended hop knows something")
					}
					h.End(errors.New("late"))
				}
			})
		}
		for i := range 4 {
			hops.Go(func() {
				for range 20 {
					hopCtx, h, err := budget.StartHop(ctx, "work", budget.WithStream(), budget.WithCap(time.Second))
					if err != nil {
						return
					}
					if i == 0 {
						h.Draining()
					}
					hops.Go(func() { h.End(nil) })
					h.End(nil)
					<-hopCtx.Done()
					old <- h
				}
			})
		}
		if entry.Reached(budgetattr.TargetFirstOutput); len(old)%2 == 0 {
			leave()
		}
		hops.Wait()
		entry.Answered()
		close(old)
		stale.Wait()
		entry.End(nil)
		leave()
	}
	for _, s := range r.Ended() {
		for _, key := range []string{"stale", budgetattr.ValidatedTimeKey, budgetattr.TimeoutPhaseKey, budgetattr.DrainTimeKey,
			budgetattr.CleanupTimeKey, budgetattr.PostCancelCostKey} {
			if v, ok := attr(s, key); ok {
				t.Fatalf("%s = %v on a hop that did not set it", key, v.AsInterface())
			}
		}
	}
}

// Hops that are not recorded end in another way than those that are: theirs too must not be touched through old handles, of
// this request or of one before.
func TestStaleHandlesOfUnrecordedHops(t *testing.T) {
	e := budget.NewEdge(budget.Policy{Default: time.Minute}, budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))))
	old := make(chan budget.Hop, 4096)
	var stale sync.WaitGroup
	for range 2 {
		stale.Go(func() {
			for h := range old {
				h.Decide(budgetattr.DecisionSkip)
				h.Draining()
				h.Unconfirmed()
				if _, ok := h.Allowance(); ok || h.IsRecording() || h.Err(context.Canceled) != context.Canceled {
					t.Error("an ended hop knows something")
				}
				h.End(errors.New("late"))
			}
		})
	}
	for round := range 30 {
		ctx, entry, err := e.Start(t.Context(), budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		var hops sync.WaitGroup
		for range 4 {
			hops.Go(func() {
				for i := range 20 {
					opts := []budget.HopOption{budget.WithCap(time.Second)}
					if i%4 == 0 {
						opts = nil // the context is the request's
					}
					hopCtx, h, err := budget.StartHop(ctx, "work", opts...)
					if err != nil {
						return // the request is over
					}
					if d, ok := h.Allowance(); !ok || opts != nil && d != time.Second {
						t.Errorf("allowance %v, %v", d, ok)
					}
					if i%5 == 0 {
						h.TimeoutPhase(budgetattr.PhaseDNS) // something to forget
					}
					hops.Go(func() { h.End(nil) })
					h.End(nil)
					if opts != nil {
						<-hopCtx.Done()
					}
					old <- h
				}
			})
		}
		if round%2 == 0 {
			entry.Answered()
			hops.Wait()
		}
		entry.End(nil)
		hops.Wait()
	}
	close(old)
	stale.Wait()
}

// A deadline set by code that knows the wall clock only takes from the reserve what lies between it and our own limit.
func TestForeignDeadlineAndReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, err := edge(newRecorder(), budget.Policy{Default: 10 * time.Second, Reserve: 2 * time.Second}).Start(t.Context(), budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		defer entry.End(nil)
		for _, c := range []struct{ deadline, allowance time.Duration }{
			{20 * time.Second, 8 * time.Second}, {9 * time.Second, 8 * time.Second}, {5 * time.Second, 5 * time.Second},
		} {
			inner, cancel := context.WithDeadline(ctx, time.Now().Add(c.deadline).Round(0))
			_, hop, err := budget.StartHop(inner, "work")
			if err != nil {
				t.Fatal(err)
			}
			if d, _ := hop.Allowance(); d != c.allowance {
				t.Errorf("allowance %v under a deadline in %v, want %v", d, c.deadline, c.allowance)
			}
			hop.End(nil)
			cancel()
		}
	})
}

// What a hop costs where nothing is recorded is its deadline, and nothing if it needs none; looking a value up costs nothing.
func TestUnrecordedHopAllocatesItsDeadlineOnly(t *testing.T) {
	e := budget.NewEdge(budget.Policy{Default: time.Hour}, budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))))
	ctx, entry, err := e.Start(t.Context(), budget.Arrival{Name: "in"})
	if err != nil {
		t.Fatal(err)
	}
	defer entry.End(nil)
	hop := func(opts ...budget.HopOption) func() {
		return func() {
			hopCtx, h, err := budget.StartHop(ctx, "work", opts...)
			if err != nil {
				t.Fatal(err)
			}
			_ = hopCtx.Value(t)
			h.End(nil)
		}
	}
	deadline := testing.AllocsPerRun(1000, func() {
		_, cancel := context.WithDeadlineCause(ctx, time.Now().Add(time.Second), budget.ErrExhausted)
		cancel()
	})
	if n := testing.AllocsPerRun(1000, hop(budget.WithCap(time.Second), budget.WithPeer("peer"))); n > deadline {
		t.Errorf("%v allocations, a deadline by hand takes %v", n, deadline)
	}
	if n := testing.AllocsPerRun(1000, hop()); n > 0 {
		t.Errorf("%v allocations of a hop that keeps the deadline", n)
	}
}
