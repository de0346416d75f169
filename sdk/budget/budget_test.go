package budget_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// recorder collects ended spans.
type recorder struct {
	*tracetest.SpanRecorder
	provider *sdktrace.TracerProvider
}

func newRecorder() recorder {
	sr := tracetest.NewSpanRecorder()
	return recorder{sr, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(sr))}
}

// span returns the only ended span with the name.
func (r recorder) span(t *testing.T, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	var found sdktrace.ReadOnlySpan
	for _, s := range r.Ended() {
		if s.Name() == name {
			if found != nil {
				t.Fatalf("two spans %q", name)
			}
			found = s
		}
	}
	if found == nil {
		t.Fatalf("no span %q", name)
	}
	return found
}

func attr(s sdktrace.ReadOnlySpan, key string) (attribute.Value, bool) {
	for _, kv := range s.Attributes() {
		if string(kv.Key) == key {
			return kv.Value, true
		}
	}
	return attribute.Value{}, false
}

// want checks attributes: strings, bools, ints, and durations as seconds. Nil means absent.
func want(t *testing.T, s sdktrace.ReadOnlySpan, attrs map[string]any) {
	t.Helper()
	for key, w := range attrs {
		v, ok := attr(s, key)
		if w == nil {
			if ok {
				t.Errorf("%s: %s = %v, want none", s.Name(), key, v.AsInterface())
			}
			continue
		}
		if !ok {
			t.Errorf("%s: %s is missing", s.Name(), key)
			continue
		}
		switch w := w.(type) {
		case time.Duration:
			if got := time.Duration(v.AsFloat64()*1e9 + .5); (got - w).Abs() > time.Microsecond {
				t.Errorf("%s: %s = %v, want %v", s.Name(), key, got, w)
			}
		case int:
			if v.AsInt64() != int64(w) {
				t.Errorf("%s: %s = %v, want %v", s.Name(), key, v.AsInt64(), w)
			}
		case bool:
			if v.AsBool() != w {
				t.Errorf("%s: %s = %v, want %v", s.Name(), key, v.AsBool(), w)
			}
		case string:
			if v.AsString() != w {
				t.Errorf("%s: %s = %q, want %q", s.Name(), key, v.AsString(), w)
			}
		}
	}
}

func edge(r recorder, p budget.Policy) *budget.Edge {
	return budget.NewEdge(p, budget.WithTracerProvider(r.provider))
}

func TestT13_NoCallerDeadlineGetsTheDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		ctx, entry, err := edge(r, budget.Policy{Default: 2 * time.Second, Max: 8 * time.Second, Channel: "chat"}).Start(t.Context(), budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		if left, ok := budget.Remaining(ctx); !ok || left != 2*time.Second {
			t.Fatalf("remaining %v %v", left, ok)
		}
		time.Sleep(500 * time.Millisecond)
		entry.End(nil)
		want(t, r.span(t, "in"), map[string]any{
			budgetattr.BudgetReceivedKey: 2 * time.Second, budgetattr.BudgetRequestedKey: nil, budgetattr.BudgetSourceKey: "default",
			budgetattr.MarginKey: 1500 * time.Millisecond, budgetattr.LateKey: false, budgetattr.OutcomeKey: "done",
			budgetattr.MarginAtKey: "complete", budgetattr.ModeKey: "enforce", budgetattr.ChannelKey: "chat",
			budgetattr.GovernedByKey: "deadline", budgetattr.OpenChildrenKey: 0, budgetattr.CancelCauseKey: nil,
		})
	})
}

func TestT14_ExcessiveDeadlineIsClamped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		ctx, entry, err := edge(r, budget.Policy{Max: 8 * time.Second}).Start(t.Context(), budget.Arrival{Name: "in", Ask: budget.LimitOf(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if ctx.Err() != context.DeadlineExceeded || !errors.Is(context.Cause(ctx), budget.ErrExhausted) {
			t.Errorf("err %v cause %v", ctx.Err(), context.Cause(ctx))
		}
		entry.End(context.Cause(ctx))
		want(t, r.span(t, "in"), map[string]any{
			budgetattr.BudgetReceivedKey: 8 * time.Second, budgetattr.BudgetRequestedKey: time.Hour, budgetattr.BudgetSourceKey: "clamped",
			budgetattr.OutcomeKey: "cancelled", budgetattr.CancelCauseKey: "local_deadline", budgetattr.CancelAfterKey: 8 * time.Second,
			budgetattr.PostCancelTimeKey: time.Duration(0), budgetattr.CancelConfirmedKey: true,
		})
	})
}

func TestT15_ExpiryInTheLocalQueueCallsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		ctx, entry, _ := edge(r, budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{Name: "in"})
		time.Sleep(1100 * time.Millisecond) // the queue
		entry.AddQueueTime(1100 * time.Millisecond)
		_, _, err := budget.StartHop(ctx, "call", budget.WithPeer("dep"))
		var e *budget.ExhaustedError
		if !errors.As(err, &e) || !e.Refused || e.Stage != "call" {
			t.Fatalf("err %v", err)
		}
		entry.End(err)
		want(t, r.span(t, "call"), map[string]any{
			budgetattr.DecisionKey: "reject", budgetattr.AllowanceKey: time.Duration(0), budgetattr.RemainingBeforeKey: -100 * time.Millisecond,
		})
		want(t, r.span(t, "in"), map[string]any{
			budgetattr.QueueTimeKey: 1100 * time.Millisecond, budgetattr.LocalBeforeFirstCallKey: nil,
			budgetattr.OutcomeKey: "cancelled", budgetattr.CancelAfterKey: time.Second, budgetattr.PostCancelTimeKey: 100 * time.Millisecond,
		})
	})
}

func TestHopRecordsItsTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		ctx, entry, _ := edge(r, budget.Policy{Default: 2 * time.Second, Reserve: 100 * time.Millisecond}).Start(t.Context(), budget.Arrival{Name: "in"})
		time.Sleep(300 * time.Millisecond)
		hopCtx, hop, err := budget.StartHop(ctx, "rerank", budget.WithPeer("reranker"), budget.WithCap(time.Second), budget.WithMinUseful(150*time.Millisecond), budget.WithOptional())
		if err != nil {
			t.Fatal(err)
		}
		if left, _ := budget.Remaining(hopCtx); left != time.Second {
			t.Errorf("remaining %v", left)
		}
		// Nested: the reserve is not taken twice.
		_, inner, err := budget.StartHop(hopCtx, "inner")
		if a, ok := inner.Allowance(); err != nil || !ok || a != time.Second {
			t.Errorf("inner allowance %v %v %v", a, ok, err)
		}
		inner.End(nil)
		time.Sleep(200 * time.Millisecond)
		hop.End(nil)
		hop.End(errors.New("twice")) // does nothing
		_, all, err := budget.StartHop(ctx, "all")
		if a, _ := all.Allowance(); err != nil || a != 1400*time.Millisecond {
			t.Errorf("allowance %v %v", a, err)
		}
		all.End(nil)
		entry.End(nil)
		want(t, r.span(t, "rerank"), map[string]any{
			budgetattr.StageKey: "rerank", budgetattr.RemainingBeforeKey: 1700 * time.Millisecond, budgetattr.RemainingAfterKey: 1500 * time.Millisecond,
			budgetattr.AllowanceKey: time.Second, budgetattr.BindingKey: "cap", budgetattr.CapKey: time.Second, budgetattr.MinUsefulKey: 150 * time.Millisecond,
			budgetattr.ReserveKey: 100 * time.Millisecond, budgetattr.DecisionKey: "run", budgetattr.StageOptionalKey: true, "peer.service": "reranker",
		})
		want(t, r.span(t, "in"), map[string]any{budgetattr.LocalBeforeFirstCallKey: 300 * time.Millisecond})
	})
}

func TestHopOwnSliceLeavesTheRequestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		ctx, entry, _ := edge(r, budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{Name: "in"})
		defer entry.End(nil)
		for range 2 { // the second attempt is not spoiled by the first
			hopCtx, hop, err := budget.StartHop(ctx, "try", budget.WithCap(300*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			<-hopCtx.Done()
			err = hop.Err(hopCtx.Err())
			var e *budget.ExhaustedError
			if !errors.As(err, &e) || e.Binding != budgetattr.BindingCap || e.Remaining <= 0 || !errors.Is(err, context.DeadlineExceeded) || !os.IsTimeout(err) {
				t.Errorf("err %v", err)
			}
			hop.End(err)
		}
		if ctx.Err() != nil {
			t.Error("the attempts ended the request")
		}
	})
}

func TestT18_EarlyDisconnectStopsChildWorkBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		base, leave := context.WithCancel(t.Context())
		ctx, entry, _ := edge(r, budget.Policy{Default: 10 * time.Second}).Start(base, budget.Arrival{Name: "in", ParentCause: budgetattr.CauseClientDisconnect})
		hopCtx, hop, _ := budget.StartHop(ctx, "work", budget.WithCap(5*time.Second))
		time.AfterFunc(time.Second, leave)
		<-hopCtx.Done()
		if c, _ := budget.CauseOf(hopCtx); c != budgetattr.CauseClientDisconnect {
			t.Errorf("cause %q", c)
		}
		var c *budget.CancelledError
		if !errors.As(context.Cause(hopCtx), &c) || hopCtx.Err() != context.Canceled {
			t.Errorf("err %v cause %v", hopCtx.Err(), context.Cause(hopCtx))
		}
		time.Sleep(50 * time.Millisecond) // slow to stop
		hop.End(hop.Err(hopCtx.Err()))
		if _, _, err := budget.StartHop(ctx, "more"); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled parent derived work: %v", err)
		}
		entry.End(context.Cause(ctx))
		cancelled := map[string]any{
			budgetattr.CancelCauseKey: "client_disconnect", budgetattr.CancelAfterKey: time.Second, budgetattr.PostCancelTimeKey: 50 * time.Millisecond,
		}
		want(t, r.span(t, "work"), cancelled)
		want(t, r.span(t, "in"), cancelled)
	})
}

func TestUserBeatsTimeoutAtTheSameTime(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder()
			base, leave := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, leave)
			ctx, entry, _ := edge(r, budget.Policy{Default: time.Second}).Start(base, budget.Arrival{Name: "in", ParentCause: budgetattr.CauseClientDisconnect})
			<-ctx.Done()
			synctest.Wait()
			if c, _ := budget.CauseOf(ctx); c != budgetattr.CauseClientDisconnect {
				t.Errorf("cause %q", c)
			}
			entry.End(context.Cause(ctx))
			want(t, r.span(t, "in"), map[string]any{budgetattr.CancelCauseKey: "client_disconnect"})
		})
	}
}

func TestTimeoutLongBeforeTheUserLeftStaysATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, leave := context.WithCancel(t.Context())
		ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: time.Second}).Start(base, budget.Arrival{})
		time.Sleep(2 * time.Second)
		leave()
		synctest.Wait()
		if c, _ := budget.CauseOf(ctx); c != budgetattr.CauseLocalDeadline {
			t.Errorf("cause %q", c)
		}
		entry.End(nil)
	})
}

func TestT32_DataExpiresBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		ctx, entry, _ := edge(r, budget.Policy{Default: 10 * time.Second}).Start(t.Context(), budget.Arrival{Name: "in"})
		ctx, cancel := budget.Expire(ctx, time.Now().Add(2*time.Second))
		defer cancel()
		hopCtx, hop, err := budget.StartHop(ctx, "use")
		if err != nil {
			t.Fatal(err)
		}
		<-hopCtx.Done()
		err = hop.Err(hopCtx.Err())
		hop.End(err)
		if _, _, err := budget.StartHop(ctx, "later"); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("err %v", err)
		}
		entry.End(err)
		want(t, r.span(t, "use"), map[string]any{budgetattr.BindingKey: "expiry", budgetattr.CancelCauseKey: "expiry", budgetattr.AllowanceKey: 2 * time.Second})
		want(t, r.span(t, "in"), map[string]any{budgetattr.GovernedByKey: "expiry", budgetattr.CancelCauseKey: "expiry", budgetattr.MarginKey: time.Duration(0)})
	})
}

func TestOpenHopsAreNamedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		ctx, entry, _ := edge(r, budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{Name: "in"})
		_, hop, _ := budget.StartHop(ctx, "left", budget.WithPeer("dep"))
		_, durable, _ := budget.StartHop(budget.Detach(ctx, "job-1"), "durable")
		<-ctx.Done()
		entry.End(context.Cause(ctx))
		s := r.span(t, "in")
		want(t, s, map[string]any{budgetattr.OpenChildrenKey: 1, budgetattr.CancelConfirmedKey: false})
		if len(s.Events()) != 1 || s.Events()[0].Name != budgetattr.EventOpenChild {
			t.Fatalf("events %v", s.Events())
		}
		time.Sleep(3 * time.Second)
		hop.End(nil)
		durable.End(nil)
		left := r.span(t, "left")
		want(t, left, map[string]any{budgetattr.PostCancelTimeKey: 3 * time.Second, budgetattr.CancelAfterKey: time.Second})
		want(t, r.span(t, "durable"), map[string]any{budgetattr.DetachedIDKey: "job-1", budgetattr.CancelCauseKey: nil})
		got := map[string]string{}
		for _, kv := range s.Events()[0].Attributes {
			got[string(kv.Key)] = kv.Value.AsString()
		}
		if got[budgetattr.OpenChildSpanIDKey] != left.SpanContext().SpanID().String() || got[budgetattr.OpenChildStageKey] != "left" ||
			got[budgetattr.OpenChildPeerKey] != "dep" || got[budgetattr.OpenChildCauseKey] != "local_deadline" {
			t.Errorf("event %v", got)
		}
	})
}

// Detached work has nothing of its caller but the values and the trace: neither deadline nor expiry, neither cancellation nor
// end. What it is given of its own bounds its hops, and those of work below it.
func TestDetachedWorkOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		r := newRecorder()
		base, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		ctx, entry, _ := edge(r, budget.Policy{Default: 2 * time.Second, Reserve: time.Second}).Start(base, budget.Arrival{Name: "in"})
		ctx, stop := budget.Expire(ctx, time.Now().Add(1500*time.Millisecond))
		defer stop()
		work := budget.Detach(ctx, "job-1")
		if _, bounded := budget.Remaining(work); bounded || work.Value(key{}) != "kept" || budget.FromContext(work) != nil {
			t.Error("detached work has a limit or an entry, or lost its values")
		}
		_, free, err := budget.StartHop(work, "free", budget.WithReserve(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if _, bounded := free.Allowance(); bounded {
			t.Error("a hop of detached work is bounded by its caller")
		}
		leave()
		synctest.Wait()
		entry.End(context.Cause(ctx))
		time.Sleep(time.Minute)
		if work.Err() != nil {
			t.Errorf("detached work ended with its caller: %v", work.Err())
		}
		free.End(nil)
		own, cancel := context.WithTimeout(work, 5*time.Second)
		defer cancel()
		hopCtx, hop, err := budget.StartHop(own, "own", budget.WithCap(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		<-hopCtx.Done()
		hop.End(hop.Err(hopCtx.Err()))
		if _, _, err := budget.StartHop(own, "later"); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("a hop after its own deadline: %v", err)
		}
		want(t, r.span(t, "in"), map[string]any{budgetattr.OpenChildrenKey: 0})
		in := r.span(t, "in").SpanContext()
		for _, name := range []string{"free", "own"} {
			s := r.span(t, name)
			want(t, s, map[string]any{budgetattr.DetachedIDKey: "job-1"})
			if s.SpanContext().TraceID() != in.TraceID() || s.Parent().SpanID() != in.SpanID() {
				t.Errorf("%s is not below the request in its trace", name)
			}
		}
		want(t, r.span(t, "free"), map[string]any{budgetattr.CancelCauseKey: nil})
		want(t, r.span(t, "own"), map[string]any{budgetattr.AllowanceKey: 5 * time.Second, budgetattr.CancelCauseKey: "local_deadline"})
	})
}

// Work that goes on though its request was answered in time is measured from the answer.
func TestWorkAfterTheAnswerIsMeasuredFromIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		ctx, entry, _ := edge(r, budget.Policy{Default: time.Minute}).Start(t.Context(), budget.Arrival{Name: "in"})
		hopCtx, hop, _ := budget.StartHop(ctx, "left", budget.WithCap(30*time.Second))
		time.Sleep(time.Second)
		entry.End(nil)
		if hopCtx.Err() != context.Canceled {
			t.Errorf("the hop was not told: %v", hopCtx.Err())
		}
		time.Sleep(3 * time.Second)
		hop.End(nil)
		want(t, r.span(t, "in"), map[string]any{budgetattr.OutcomeKey: "done", budgetattr.OpenChildrenKey: 1, budgetattr.CancelCauseKey: nil})
		want(t, r.span(t, "left"), map[string]any{
			budgetattr.CancelCauseKey: "superseded", budgetattr.CancelAfterKey: time.Second, budgetattr.PostCancelTimeKey: 3 * time.Second,
		})
	})
}

func TestT40_WaitIsBoundedAndTheOverrunRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		ctx, entry, _ := edge(r, budget.Policy{Default: time.Second, Cleanup: 200 * time.Millisecond}).Start(t.Context(), budget.Arrival{Name: "in"})
		start := time.Now()
		err := budget.Run(ctx, "stubborn", func(context.Context) error { time.Sleep(5 * time.Second); return nil })
		if !errors.Is(err, budget.ErrExhausted) || time.Since(start) != 1200*time.Millisecond {
			t.Errorf("err %v after %v", err, time.Since(start))
		}
		entry.End(err)
		want(t, r.span(t, "in"), map[string]any{budgetattr.OpenChildrenKey: 1, budgetattr.PostCancelTimeKey: 200 * time.Millisecond})
		time.Sleep(10 * time.Second)
		want(t, r.span(t, "stubborn"), map[string]any{budgetattr.PostCancelTimeKey: 4 * time.Second, budgetattr.CleanupBudgetKey: 200 * time.Millisecond})
	})
}

func TestCleanupHasItsOwnBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		ctx, entry, _ := edge(r, budget.Policy{Default: time.Second, Cleanup: 300 * time.Millisecond}).Start(t.Context(), budget.Arrival{Name: "in"})
		hopCtx, hop, _ := budget.StartHop(ctx, "tx", budget.WithCap(500*time.Millisecond))
		<-hopCtx.Done()
		fresh, done := hop.Cleanup(hopCtx)
		if fresh.Err() != nil {
			t.Error("the clean-up is dead")
		}
		if left, ok := budget.Remaining(fresh); !ok || left != 300*time.Millisecond {
			t.Errorf("remaining %v %v", left, ok)
		}
		_, rollback, err := budget.StartHop(fresh, "rollback")
		if err != nil {
			t.Error(err)
		}
		time.Sleep(100 * time.Millisecond)
		rollback.End(nil)
		done()
		hop.End(hop.Err(hopCtx.Err()))
		entry.End(nil)
		want(t, r.span(t, "tx"), map[string]any{
			budgetattr.CleanupTimeKey: 100 * time.Millisecond, budgetattr.CleanupBudgetKey: 300 * time.Millisecond, budgetattr.PostCancelTimeKey: time.Duration(0),
		})
	})
}

func TestShadowWatchesAndOffDoesNothing(t *testing.T) {
	for _, mode := range []budgetattr.Mode{budgetattr.ModeShadow, budgetattr.ModeOff} {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder()
			ctx, entry, err := edge(r, budget.Policy{Default: time.Second, Min: 100 * time.Millisecond, Trust: budget.TrustInternal, Control: budget.NewControl(mode)}).
				Start(t.Context(), budget.Arrival{Name: "in", Ask: budget.LimitOf(10 * time.Millisecond)})
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ctx.Deadline(); ok {
				t.Error("a deadline from us")
			}
			time.Sleep(time.Minute)
			hopCtx, hop, err := budget.StartHop(ctx, "call", budget.WithCap(time.Second), budget.WithMinUseful(time.Second))
			if _, ok := hopCtx.Deadline(); err != nil || ok || hopCtx.Err() != nil {
				t.Errorf("%v %v %v", err, ok, hopCtx.Err())
			}
			hop.End(nil)
			entry.End(nil)
			if mode == budgetattr.ModeShadow {
				want(t, r.span(t, "in"), map[string]any{budgetattr.ModeKey: "shadow", budgetattr.BudgetSourceKey: "refused", budgetattr.OutcomeKey: "done", budgetattr.LateKey: true})
				want(t, r.span(t, "call"), map[string]any{budgetattr.ModeKey: "shadow", budgetattr.DecisionKey: "reject"})
			} else {
				want(t, r.span(t, "in"), map[string]any{budgetattr.ModeKey: "off", budgetattr.BudgetReceivedKey: nil, budgetattr.MarginKey: nil})
				want(t, r.span(t, "call"), map[string]any{budgetattr.AllowanceKey: nil})
			}
		})
	}
}

func TestRejectionsByForeignValuesAreCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control := budget.NewControl(budgetattr.ModeEnforce)
		e := edge(newRecorder(), budget.Policy{Default: time.Second, Min: 100 * time.Millisecond, Trust: budget.TrustInternal, Control: control})
		refused, watched := 0, 0
		for i := range 1000 {
			ask := budget.LimitOf(time.Second)
			if i%2 == 0 {
				ask = budget.LimitOf(time.Millisecond) // a caller gone bad
			}
			_, entry, err := e.Start(t.Context(), budget.Arrival{Ask: ask})
			if err != nil {
				refused++
			} else if entry.Mode() == budgetattr.ModeShadow {
				watched++
			}
			entry.End(err)
		}
		if refused > 210 || refused < 190 || refused+watched != 500 {
			t.Errorf("refused %d, watched %d of 500", refused, watched)
		}
		// The same work late on our own clock is always refused.
		for range 500 {
			ctx, entry, _ := e.Start(t.Context(), budget.Arrival{Ask: budget.LimitOf(time.Second)})
			time.Sleep(950 * time.Millisecond)
			if _, _, err := budget.StartHop(ctx, "call", budget.WithMinUseful(100*time.Millisecond)); !errors.Is(err, budget.ErrExhausted) {
				t.Fatalf("err %v", err)
			}
			entry.End(nil)
		}
	})
}

func TestFirstOutputLiftsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		e := edge(r, budget.Policy{Default: time.Second, Reserve: 100 * time.Millisecond, Target: budgetattr.TargetFirstOutput})
		ctx, entry, _ := e.Start(t.Context(), budget.Arrival{Name: "in"})
		hopCtx, hop, err := budget.StartHop(ctx, "stream", budget.WithStream())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(400 * time.Millisecond)
		budget.Reached(hopCtx, budgetattr.TargetFirstOutput)
		time.Sleep(time.Minute)
		if hopCtx.Err() != nil || ctx.Err() != nil {
			t.Errorf("the stream was cut: %v", context.Cause(hopCtx))
		}
		hop.End(nil)
		entry.End(nil)
		want(t, r.span(t, "in"), map[string]any{budgetattr.MarginKey: 600 * time.Millisecond, budgetattr.MarginAtKey: "first_output", budgetattr.LateKey: false})

		ctx, entry, _ = e.Start(t.Context(), budget.Arrival{Name: "stuck"})
		hopCtx, hop, _ = budget.StartHop(ctx, "frozen", budget.WithStream())
		start := time.Now()
		<-hopCtx.Done()
		if err := hop.Err(hopCtx.Err()); !errors.Is(err, budget.ErrExhausted) || time.Since(start) != 900*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		hop.End(hop.Err(hopCtx.Err()))
		<-ctx.Done()
		entry.End(context.Cause(ctx))
		want(t, r.span(t, "stuck"), map[string]any{budgetattr.OutcomeKey: "cancelled", budgetattr.CancelCauseKey: "local_deadline"})
	})
}

func TestSoftSignalComesBeforeTheHardStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{})
		soft, cancel := budget.Soft(ctx, 200*time.Millisecond)
		defer cancel()
		start := time.Now()
		<-soft.Done()
		if time.Since(start) != 800*time.Millisecond || ctx.Err() != nil {
			t.Errorf("after %v, %v", time.Since(start), ctx.Err())
		}
		<-ctx.Done()
		entry.End(nil)
	})
}

func TestNoMonotonicValueGetsLostOnTheWay(t *testing.T) {
	ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{})
	defer entry.End(nil)
	ctx, cancel := budget.Expire(ctx, time.Now().Add(time.Millisecond*500).Round(0)) // wall clock only
	defer cancel()
	d, _ := ctx.Deadline()
	if !strings.Contains(d.String(), " m=") {
		t.Errorf("the deadline %v follows the wall clock", d)
	}
}
