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

// Each test here is a fault that was found in this package.

// A nearer deadline of the context it came under governed the work, but what it had received was recorded as more.
func TestIssueReceivedIsWhatTheContextLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		base, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		for name, ask := range map[string]budget.Limit{"default": {}, "caller": budget.LimitOf(time.Second)} {
			_, entry, _ := edge(r, budget.Policy{Default: 2 * time.Second}).Start(base, budget.Arrival{Name: name, Ask: ask})
			entry.End(nil)
			want(t, r.span(t, name), map[string]any{
				budgetattr.BudgetReceivedKey: 300 * time.Millisecond, budgetattr.MarginKey: 300 * time.Millisecond,
				budgetattr.BudgetSourceKey: name,
			})
		}
	})
}

// A Control that NewControl did not make panicked at the first request.
func TestIssueZeroControlEnforces(t *testing.T) {
	var c budget.Control
	if c.Mode() != budgetattr.ModeEnforce {
		t.Errorf("mode %q", c.Mode())
	}
	e := budget.NewEdge(budget.Policy{Default: time.Minute, Control: &c})
	refused := 0
	for range 1000 {
		_, entry, err := e.Start(t.Context(), budget.Arrival{Ask: budget.LimitOf(0)})
		if err != nil {
			refused++
		}
		entry.End(err)
	}
	if refused == 0 || refused > 300 {
		t.Errorf("%d of 1000 refused for a value from outside", refused)
	}
	c.SetMode(budgetattr.ModeOff)
	if c.Mode() != budgetattr.ModeOff {
		t.Errorf("mode %q", c.Mode())
	}
}

// A reserve as large as the budget made every hop of every request refused, and nothing said so.
func TestIssueReserveThatLeavesNothingIsRefused(t *testing.T) {
	for _, p := range []budget.Policy{
		{Default: time.Second, Reserve: time.Second}, {Max: time.Second, Reserve: 2 * time.Second},
	} {
		if err := p.Validate(); !errors.Is(err, budget.ErrTerms) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// A hop that its deadline ended was recorded as superseded if the request was closed at the same moment.
func TestIssueEndOfTheRequestIsNoCauseOfATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, _ := edge(newRecorder(), budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{})
		hopCtx, hop, _ := budget.StartHop(ctx, "left")
		defer hop.End(nil)
		<-ctx.Done()
		entry.End(context.Cause(ctx))
		if cause, _ := budget.CauseOf(hopCtx); cause != budgetattr.CauseLocalDeadline {
			t.Errorf("cause %q", cause)
		}
	})
}
