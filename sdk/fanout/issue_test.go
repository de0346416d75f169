package fanout_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/fanout"
)

// A branch that panics must not take the process down: the panic is its consumer's.
func TestIssuePanicOfABranchIsTheConsumers(t *testing.T) {
	in(t, budget.Policy{Default: time.Second}, func(ctx context.Context) {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("panic %v", p)
			}
		}()
		_, _ = fanout.Collect(ctx, fanout.Plan{}, branch("a", time.Hour, nil),
			fanout.Branch[string]{Name: "b", Do: func(context.Context) (string, error) { panic("boom") }})
	}, func(r *budgettest.Recorder) { budgettest.Stopped(t, r, 0) })
}

func TestIssuePanicAfterTheCloseHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := fanout.Branch[string]{Name: "b", Do: func(context.Context) (string, error) { time.Sleep(time.Second); panic("boom") }}
		got, err := fanout.Collect(t.Context(), fanout.Plan{Deadline: 100 * ms}, branch("a", 0, nil), late)
		if err != nil || names(got) != "a" {
			t.Errorf("%v, %v", got, err)
		}
		time.Sleep(2 * time.Second)
	})
}

// Once the quorum cannot be reached, nothing is waited for.
func TestIssueQuorumThatCannotBeReached(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(ctx context.Context) {
		start := time.Now()
		got, err := fanout.Collect(ctx, fanout.Plan{Quorum: 3}, branch("a", 10*ms, nil), branch("b", 20*ms, errUnavailable), branch("c", 30*ms, errUnavailable), branch("d", time.Hour, nil), branch("e", 25*ms, errUnavailable))
		var e *fanout.IncompleteError
		if !errors.As(err, &e) || e.Valid != 1 || names(got) != "a" || !errors.Is(err, errUnavailable) || time.Since(start) != 30*ms {
			t.Errorf("%v, %v after %v", got, err, time.Since(start))
		}
	}, func(r *budgettest.Recorder) { budgettest.Stopped(t, r, 0) })
}

// What is enough is at least the quorum.
func TestIssueEnoughBelowTheQuorum(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(ctx context.Context) {
		got, err := fanout.Collect(ctx, fanout.Plan{Quorum: 2, Enough: 1}, branch("a", 10*ms, nil), branch("b", 20*ms, nil), branch("c", time.Hour, nil))
		if err != nil || names(got) != "a b" {
			t.Errorf("%v, %v", got, err)
		}
	}, func(*budgettest.Recorder) {})
}

func TestIssueNoBranches(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(ctx context.Context) {
		if got, err := fanout.Collect[string](ctx, fanout.Plan{}); err != nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
		_, err := fanout.Collect[string](ctx, fanout.Plan{Quorum: 1})
		var e *fanout.IncompleteError
		if !errors.As(err, &e) || strings.Contains(err.Error(), "nil") {
			t.Errorf("err %v", err)
		}
	}, func(*budgettest.Recorder) {})
}

func TestIssueAllFailAndAbandoned(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(ctx context.Context) {
		got, err := fanout.Collect(ctx, fanout.Plan{}, branch("a", 10*ms, errUnavailable), branch("b", 20*ms, errUnavailable))
		if err != nil || len(got) != 0 { // the plan needs none
			t.Errorf("%v, %v", got, err)
		}
		for range fanout.Each(ctx, fanout.Plan{}, branch("c", 0, nil), branch("d", time.Hour, nil)) {
			break
		}
	}, func(r *budgettest.Recorder) { budgettest.Stopped(t, r, 0) })
}

// A branch that ends its goroutine, as a failed assertion does, has failed.
func TestIssueBranchThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := fanout.Collect(t.Context(), fanout.Plan{Quorum: 1}, fanout.Branch[string]{Name: "a", Do: func(context.Context) (string, error) {
			runtime.Goexit()
			return "", nil
		}})
		if err == nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
	})
}
