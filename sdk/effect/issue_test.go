package effect_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
)

// slow is a store in which planning takes so long that the caller leaves meanwhile.
type slow struct {
	effect.Memory
	planned func()
}

func (s *slow) Plan(ctx context.Context, e effect.Effect) (effect.Effect, error) {
	e, err := s.Memory.Plan(ctx, e)
	s.planned()
	return e, err
}

// The caller leaves between plan and send: nothing is sent then, and no reconciler sends it later. A worker that shuts down
// leaves it to the next.
func TestIssueACancelledHandlerCommitsNothingLater(t *testing.T) {
	for cause, want := range map[budgetattr.Cause]struct {
		state effect.State
		sent  int
	}{budgetattr.CauseClientDisconnect: {budgetattr.EffectAbandoned, 0}, budgetattr.CauseShutdown: {budgetattr.EffectConfirmed, 1}} {
		synctest.Test(t, func(t *testing.T) {
			l := &ledger{}
			ctx, entry := request(t, time.Hour)
			defer entry.End(nil)
			store := &slow{planned: func() { entry.Cancel(cause) }}
			if _, err := writer(t, store, l.op()).Do(ctx, "unit", "k", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			time.Sleep(time.Minute)
			r, err := effect.NewReconciler(store, budget.Policy{}, []effect.Operation{l.op()})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Pass(t.Context(), time.Second); err != nil {
				t.Error(err)
			}
			if e, _ := store.Get(t.Context(), "k"); e.State != want.state || len(l.keys()) != want.sent {
				t.Errorf("%s: %+v, booked %v", cause, e, l.keys())
			}
		})
	}
}

// What stays uncertain for ever, and a destination that is busy, do not keep a pass from what comes after.
func TestIssueAPassReachesEveryEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(effect.Memory)
		at := time.Now().UTC().Truncate(time.Microsecond)
		plan := func(key, operation string) {
			at = at.Add(time.Microsecond)
			if _, err := store.Plan(t.Context(), effect.Effect{Key: key, Operation: operation, State: budgetattr.EffectPlanned, ChangedAt: at}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 1200 {
			plan(fmt.Sprintf("forgotten/%d", i), "nobody declares it")
		}
		plan("busy", "busy")
		plan("k", "book")
		l := &ledger{}
		busy := effect.Operation{Name: "busy", Send: func(context.Context, effect.Request) ([]byte, error) {
			return nil, effect.NotDone(errors.New("later"), true)
		}}
		r, err := effect.NewReconciler(store, budget.Policy{}, []effect.Operation{l.op(), busy})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		report, err := r.Pass(t.Context(), time.Second)
		if err != nil || report.Confirmed != 1 || len(report.Open) != 1201 || len(l.keys()) != 1 {
			t.Errorf("%d confirmed, %d open, %v", report.Confirmed, len(report.Open), err)
		}
	})
}
