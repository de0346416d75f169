package step_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/step"
)

// Whatever a step declares for the case that time does not suffice is what is decided, returned and recorded.
func TestE8_WhatIsDeclaredIsDecided(t *testing.T) {
	slow := step.Terms{MinUseful: time.Hour}
	refused := func(d budgetattr.Decision) *step.Step[string, string] {
		terms := slow
		terms.Refusal = d
		return step.Required("s", takes(0, "never"), terms)
	}
	instead := func(d budgetattr.Decision) *step.Step[string, string] {
		return step.Required("s", takes(0, "never"), slow).Or(step.Fallback[string, string]{
			Name: "other", Do: takes(0, "instead"), Meets: "the same need", Decision: d})
	}
	part := step.Required("s", func(ctx context.Context, _ string) (string, error) {
		<-ctx.Done()
		return "", &step.Partial[string]{Value: "half", Err: ctx.Err()}
	}, step.Terms{Cap: 10 * time.Millisecond, Partial: true})
	for decision, c := range map[budgetattr.Decision]struct {
		step  *step.Step[string, string]
		value string
		unmet bool
	}{
		budgetattr.DecisionRun:          {step.Required("s", takes(0, "done"), step.Terms{}), "done", false},
		budgetattr.DecisionSkip:         {step.Optional("s", takes(0, "never"), func(in string) string { return in }, slow), "in", false},
		budgetattr.DecisionFallback:     {instead(budgetattr.DecisionFallback), "instead", false},
		budgetattr.DecisionShorterRoute: {instead(budgetattr.DecisionShorterRoute), "instead", false},
		budgetattr.DecisionReadOnly:     {instead(budgetattr.DecisionReadOnly), "instead", false},
		budgetattr.DecisionPartial:      {part, "half", false},
		budgetattr.DecisionPending:      {refused(budgetattr.DecisionPending), "", true},
		budgetattr.DecisionReauthorize:  {refused(budgetattr.DecisionReauthorize), "", true},
		budgetattr.DecisionCancel:       {refused(budgetattr.DecisionCancel), "", true},
		budgetattr.DecisionClose:        {refused(budgetattr.DecisionClose), "", true},
		budgetattr.DecisionReject:       {refused(""), "", false},
	} {
		t.Run(string(decision), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := budgettest.NewRecorder()
				ctx, entry, err := r.Edge(budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{Name: "in"})
				if err != nil {
					t.Fatal(err)
				}
				got, err := step.RunResult(ctx, c.step, "in")
				entry.End(err)
				var unmet *step.UnmetError
				if got.Decision != decision || got.Value != c.value || errors.As(err, &unmet) != c.unmet || (err != nil) != (c.value == "") {
					t.Errorf("%+v, %v", got, err)
				}
				if c.unmet && (unmet.Decision != decision || !errors.Is(err, budget.ErrExhausted)) {
					t.Errorf("%v says %s", err, unmet.Decision)
				}
				if d := r.Last(t, "s").Decision(); d != decision {
					t.Errorf("recorded as %s", d)
				}
			})
		})
	}
}

// The cap of one attempt ends that attempt only: the next one has a cap and a context of its own, under the same budget.
func TestE42_AnAttemptsTimeoutSparesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := budgettest.NewRecorder()
		ctx, entry, err := r.Edge(budget.Policy{Default: time.Second}).Start(t.Context(), budget.Arrival{Name: "in"})
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		s := step.Required("s", func(ctx context.Context, _ string) (string, error) {
			tries++
			end, ok := ctx.Deadline()
			if left := time.Until(end); !ok || left != 100*time.Millisecond || ctx.Err() != nil {
				t.Errorf("attempt %d has %v, %v", tries, left, ctx.Err())
			}
			if tries == 1 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			time.Sleep(90 * time.Millisecond)
			return "done", nil
		}, step.Terms{Cap: 100 * time.Millisecond, Retry: step.Retry{Attempts: 2, Wait: 50 * time.Millisecond, Jitter: -1}})
		got, err := step.RunResult(ctx, s, "in")
		left, _ := budget.Remaining(ctx)
		entry.End(err)
		if err != nil || got.Value != "done" || got.Attempts != 2 || got.Backoff != 50*time.Millisecond || left != 760*time.Millisecond {
			t.Errorf("%+v, %v; %v left", got, err, left)
		}
	})
}
