package budget_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Each test here is a fault reported in public against another library, turned into what is right.

// openai-python 3828: a limit per attempt lets retries outlast the caller by a multiple. One budget caps them all.
func TestAttemptsShareOneBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: 30 * time.Second}).Start(t.Context(), budget.Arrival{})
		defer entry.End(nil)
		attempts := 0
		for range 3 {
			hopCtx, hop, err := budget.StartHop(ctx, "model", budget.WithCap(30*time.Second), budget.WithMinUseful(time.Second))
			if errors.Is(err, budget.ErrExhausted) {
				break
			}
			attempts++
			<-hopCtx.Done()
			hop.End(hop.Err(hopCtx.Err()))
		}
		if attempts != 1 {
			t.Errorf("%d attempts", attempts)
		}
	})
}

// bifrost 7035: after the client had left, ten more attempts in twenty minutes. None starts.
func TestNoAttemptAfterTheClientLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, leave := context.WithCancel(t.Context())
		ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: time.Hour}).Start(base, budget.Arrival{})
		defer entry.End(nil)
		_, hop, _ := budget.StartHop(ctx, "try")
		hop.End(errors.New("unavailable"))
		leave() // during the back-off
		time.Sleep(time.Minute)
		if _, _, err := budget.StartHop(ctx, "try"); !errors.Is(err, context.Canceled) || errors.Is(err, budget.ErrExhausted) {
			t.Errorf("err %v", err)
		}
	})
}

// litellm 7303, code_puppy 317: two layers of two retries make nine requests. One counter bounds them.
func TestLayersShareOneCounter(t *testing.T) {
	ctx := context.Background()
	attempts := budget.NewAttempts(ctx, 3)
	sent := 0
	for range 3 { // the outer layer
		tryCtx, _, ok := attempts.Begin(ctx, "step")
		if !ok {
			break
		}
		for range 3 { // what a client library does inside
			if at := budget.NextWireAttempt(tryCtx); at.Refused {
				break
			} else if sent++; at.N != sent || (sent > 1) != (at.Layer == budget.LayerSDK) {
				t.Errorf("request %d is attempt %d of layer %s", sent, at.N, at.Layer)
			}
		}
	}
	if sent != 3 || attempts.Total() != 3 {
		t.Errorf("%d sent, %d counted", sent, attempts.Total())
	}
}

// vercel/eve 875: children spend what the parent needs for its answer.
func TestChildrenLeaveTheReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: 10 * time.Second, Reserve: 2 * time.Second}).Start(t.Context(), budget.Arrival{})
		defer entry.End(nil)
		_, hop, _ := budget.StartHop(ctx, "child", budget.WithCap(10*time.Second))
		defer hop.End(nil)
		if a, _ := hop.Allowance(); a != 8*time.Second {
			t.Errorf("allowance %v", a)
		}
	})
}

// temporal 565: a child that asks for more than its parent has gets what the parent has.
func TestT23_ChildAsksForMoreThanItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: 10 * time.Second}).Start(t.Context(), budget.Arrival{})
		defer entry.End(nil)
		child, _, err := edge(newRecorder(), budget.Policy{Max: time.Hour}).Start(ctx, budget.Arrival{Ask: budget.LimitOf(time.Minute)})
		if left, ok := budget.Remaining(child); err != nil || !ok || left != 10*time.Second {
			t.Errorf("remaining %v %v %v", left, ok, err)
		}
		if d, ok := child.Deadline(); !ok || time.Until(d) != 10*time.Second {
			t.Errorf("deadline in %v", time.Until(d))
		}
	})
}

// finagle 936: a request in time used up what rejections may use. Only rejections do.
func TestGoodRequestsUseUpNoRejections(t *testing.T) {
	e := edge(newRecorder(), budget.Policy{Trust: budget.TrustInternal, Min: time.Millisecond})
	for range 1000 {
		_, entry, err := e.Start(t.Context(), budget.Arrival{Ask: budget.LimitOf(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		entry.End(nil)
	}
	if _, entry, err := e.Start(t.Context(), budget.Arrival{Ask: budget.LimitOf(1)}); err == nil {
		t.Error("the one expired request was let in")
	} else {
		entry.End(err)
	}
}

// grpc-java 11580: a handler that returns success after its end looks like one in time. It is recorded as late.
func TestSuccessAfterTheEndIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		_, entry, _ := edge(r, budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{Name: "in"})
		time.Sleep(1300 * time.Millisecond)
		entry.End(nil)
		want(t, r.span(t, "in"), map[string]any{
			budgetattr.LateKey: true, budgetattr.MarginKey: -300 * time.Millisecond, budgetattr.OutcomeKey: "done",
			budgetattr.CancelCauseKey: "local_deadline", budgetattr.PostCancelTimeKey: 300 * time.Millisecond,
		})
	})
}

// tarpc 366: clocks that differ by a minute and a half must not matter. An instant from elsewhere counts from the moment it
// is read, and what is left never grows by a second reading.
func TestT25_TwoClocksApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, skew := range []time.Duration{-90 * time.Second, 90 * time.Second} {
			ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: 10 * time.Second}).Start(t.Context(), budget.Arrival{})
			foreign := time.Now().Add(5*time.Second + skew).Round(0)
			once, cancel := budget.Expire(ctx, foreign)
			left, _ := budget.Remaining(once)
			if want := max(min(5*time.Second+skew, 10*time.Second), -85*time.Second); left != want {
				t.Errorf("skew %v: %v left, want %v", skew, left, want)
			}
			time.Sleep(time.Second)
			twice, cancelToo := budget.Expire(once, foreign.Add(time.Hour))
			if again, _ := budget.Remaining(twice); again > left-time.Second {
				t.Errorf("skew %v: grew from %v to %v", skew, left, again)
			}
			cancelToo()
			cancel()
			entry.End(nil)
		}
	})
}

// Several sources of a cancellation: the first is kept.
func TestFirstCauseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, first := range []budgetattr.Cause{budgetattr.CauseShutdown, budgetattr.CauseSuperseded, budgetattr.CauseSiblingFailed} {
			base, leave := context.WithCancel(t.Context())
			ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: time.Hour}).Start(base, budget.Arrival{ParentCause: budgetattr.CauseClientDisconnect})
			entry.Cancel(first)
			time.Sleep(time.Second)
			leave()
			synctest.Wait()
			if c, _ := budget.CauseOf(ctx); c != first {
				t.Errorf("cause %q, want %q", c, first)
			}
			entry.End(context.Cause(ctx))
		}
		// A cause given to a context above, as a server that shuts down gives it, arrives.
		base, stop := context.WithCancelCause(t.Context())
		ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: time.Hour}).Start(base, budget.Arrival{ParentCause: budgetattr.CauseClientDisconnect})
		stop(budget.CauseError(budgetattr.CauseShutdown))
		<-ctx.Done()
		if c, _ := budget.CauseOf(ctx); c != budgetattr.CauseShutdown {
			t.Errorf("cause %q", c)
		}
		entry.End(context.Cause(ctx))
	})
}
