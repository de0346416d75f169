package effect_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
	"github.com/laxity-dev/laxity/sdk/effect/effecttest"
)

func TestMemoryKeepsTheContract(t *testing.T) { effecttest.Run(t, new(effect.Memory)) }

// ledger is a destination that does not know keys twice: it books whatever it gets.
type ledger struct {
	mu     sync.Mutex
	booked []string
	answer time.Duration // after booking
	delay  time.Duration // before booking, whatever becomes of the caller
	lose   bool
}

func (l *ledger) book(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.booked = append(l.booked, key)
}

func (l *ledger) keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.booked)
}

func (l *ledger) send(ctx context.Context, r effect.Request) ([]byte, error) {
	if l.lose {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if l.delay == 0 {
		l.book(r.Key)
	} else {
		time.AfterFunc(l.delay, func() { l.book(r.Key) })
	}
	select {
	case <-time.After(l.delay + l.answer):
		return []byte("receipt"), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *ledger) ask(context.Context, string) (effect.Presence, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.booked) > 0 {
		return effect.Present, []byte("receipt"), nil
	}
	return effect.Absent, nil, nil
}

func (l *ledger) op() effect.Operation {
	return effect.Operation{
		Name: "book", Send: l.send, Ask: l.ask, Expected: 100 * time.Millisecond, Confirm: 2 * time.Second,
		Cap: time.Second, Settle: 500 * time.Millisecond, Repeat: true,
	}
}

func request(t *testing.T, d time.Duration) (context.Context, *budget.Entry) {
	ctx, entry, err := budget.NewEdge(budget.Policy{Default: d, Cleanup: time.Second}).Start(t.Context(), budget.Arrival{})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, entry
}

func writer(t *testing.T, s effect.Store, op effect.Operation) *effect.Writer {
	w, err := effect.NewWriter(s, op)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAnAnswerConfirmsAndIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{answer: 50 * time.Millisecond}
		w := writer(t, new(effect.Memory), l.op())
		ctx, entry := request(t, 5*time.Second)
		defer entry.End(nil)
		for range 2 {
			e, err := w.Do(ctx, "unit", "k", []byte("x"))
			if err != nil || e.State != budgetattr.EffectConfirmed || string(e.Result) != "receipt" {
				t.Errorf("%+v, %v", e, err)
			}
		}
		if _, err := w.Do(ctx, "unit", "k", []byte("y")); !errors.Is(err, effect.ErrConflict) {
			t.Errorf("another payload under the key: %v", err)
		}
		if len(l.keys()) != 1 {
			t.Errorf("booked %v", l.keys())
		}
	})
}

func TestATimeoutAfterSendingIsReconciledInTheReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{delay: 300 * time.Millisecond, answer: time.Hour}
		w := writer(t, new(effect.Memory), l.op())
		ctx, entry := request(t, 4*time.Second)
		e, err := w.Do(ctx, "unit", "k", nil)
		if err != nil || e.State != budgetattr.EffectReconciled || entry.Final(err) != budgetattr.OutcomeDone || len(l.keys()) != 1 {
			t.Errorf("%+v, %v, booked %v", e, err, l.keys())
		}
		entry.End(err)
	})
}

func TestWhatIsAbsentIsSentAgainOnlyWhenItCanNoLongerArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{lose: true}
		op := l.op()
		sends := 0
		op.Send = func(ctx context.Context, r effect.Request) ([]byte, error) {
			if sends++; sends > 1 {
				l.lose = false
			}
			return l.send(ctx, r)
		}
		ctx, entry := request(t, 10*time.Second)
		defer entry.End(nil)
		e, err := writer(t, new(effect.Memory), op).Do(ctx, "unit", "k", nil)
		if err != nil || e.State != budgetattr.EffectConfirmed || sends != 2 || e.Sends != 2 || len(l.keys()) != 1 {
			t.Errorf("%+v, %v, %d sends", e, err, sends)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{lose: true}
		op := l.op()
		op.Repeat = false
		ctx, entry := request(t, 10*time.Second)
		defer entry.End(nil)
		e, err := writer(t, new(effect.Memory), op).Do(ctx, "unit", "k", nil)
		if !errors.Is(err, effect.ErrAbandoned) || e.State != budgetattr.EffectAbandoned || e.Sends != 1 {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

func TestNothingIsSentWithoutTimeToSendAndAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{}
		store := new(effect.Memory)
		w := writer(t, store, l.op())
		ctx, entry := request(t, 2*time.Second+99*time.Millisecond)
		defer entry.End(nil)
		if _, err := w.Do(ctx, "unit", "k", nil); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("%v", err)
		}
		entry.Cancel(budgetattr.CauseClientDisconnect)
		if _, err := w.Do(ctx, "unit", "other", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled handler: %v", err)
		}
		if e, _ := store.Get(t.Context(), "k"); e.State != budgetattr.EffectAbandoned || len(l.keys()) != 0 {
			t.Errorf("%+v, booked %v", e, l.keys())
		}
		if _, err := store.Get(t.Context(), "other"); !errors.Is(err, effect.ErrNotFound) {
			t.Errorf("%v", err)
		}
	})
}

func TestCancellationWhileSending(t *testing.T) {
	for name, complete := range map[string]bool{"interrupts": false, "completes": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{delay: 200 * time.Millisecond, answer: 200 * time.Millisecond}
				op := l.op()
				op.Complete = complete
				store := new(effect.Memory)
				ctx, entry := request(t, 10*time.Second)
				time.AfterFunc(100*time.Millisecond, func() { entry.Cancel(budgetattr.CauseClientDisconnect) })
				e, err := writer(t, store, op).Do(ctx, "unit", "k", nil)
				want := budgetattr.EffectReconciled
				if complete {
					want = budgetattr.EffectConfirmed
				}
				if err != nil || e.State != want || len(l.keys()) != 1 {
					t.Errorf("%+v, %v, booked %v", e, err, l.keys())
				}
				entry.End(err)
			})
		})
	}
}

func TestRefusalsOfTheDestination(t *testing.T) {
	ctx, entry := request(t, 30*time.Second)
	defer entry.End(nil)
	again := true
	op := effect.Operation{Name: "book", Send: func(context.Context, effect.Request) ([]byte, error) {
		return nil, effect.NotDone(errors.New("no"), again)
	}}
	w := writer(t, new(effect.Memory), op)
	if e, err := w.Do(ctx, "unit", "k", nil); err == nil || errors.Is(err, effect.ErrAbandoned) || e.State != budgetattr.EffectPlanned {
		t.Errorf("%+v, %v", e, err)
	}
	again = false
	if e, err := w.Do(ctx, "unit", "k", nil); !errors.Is(err, effect.ErrAbandoned) || e.State != budgetattr.EffectAbandoned || !strings.Contains(err.Error(), "no") {
		t.Errorf("%+v, %v", e, err)
	}
}

// Without a way to ask, a timeout stays uncertain, is listed and makes the outcome uncertain, never failed.
func TestUncertainIsListedAndNeverFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{lose: true}
		op := l.op()
		op.Ask = nil
		store := new(effect.Memory)
		ctx, entry := request(t, 10*time.Second)
		e, err := writer(t, store, op).Do(ctx, "unit", "k", nil)
		if !errors.Is(err, effect.ErrUncertain) || e.State != budgetattr.EffectUncertain || entry.Final(err) != budgetattr.OutcomeUncertain {
			t.Errorf("%+v, %v, %s", e, err, entry.Final(err))
		}
		entry.End(err)
		r, err := effect.NewReconciler(store, budget.Policy{}, []effect.Operation{op})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		report, err := r.Pass(t.Context(), time.Second)
		if err != nil || len(report.Uncertain) != 1 || report.Sent != 0 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// A worker died at each state in turn; the reconciler settles what it left, and a worker that comes back late is fenced.
func TestReconcilerSettlesWhatWorkersLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(effect.Memory)
		l := &ledger{}
		r, err := effect.NewReconciler(store, budget.Policy{}, []effect.Operation{l.op()})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC().Truncate(time.Microsecond)
		e, err := store.Plan(t.Context(), effect.Effect{Key: "k", Operation: "book", State: budgetattr.EffectPlanned, PlannedAt: now, ChangedAt: now})
		if err != nil {
			t.Fatal(err)
		}
		e.State, e.Sends, e.SentAt, e.SettledBy = budgetattr.EffectSent, 1, now, now.Add(5*time.Second)
		dead, err := store.Move(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		report, err := r.Pass(t.Context(), time.Second)
		if err != nil || len(report.Open) != 1 || len(l.keys()) != 0 {
			t.Errorf("while the call may still run: %+v, %v, booked %v", report, err, l.keys())
		}
		time.Sleep(10 * time.Second)
		report, err = r.Pass(t.Context(), time.Second)
		if err != nil || report.Confirmed != 1 || report.Sent != 1 || len(l.keys()) != 1 {
			t.Errorf("%+v, %v, booked %v", report, err, l.keys())
		}
		dead.State = budgetattr.EffectConfirmed
		if _, err := store.Move(t.Context(), dead); !errors.Is(err, effect.ErrMoved) {
			t.Errorf("a worker from the dead: %v", err)
		}
		// Planned and out of time: it never went out and never will.
		if _, err := store.Plan(t.Context(), effect.Effect{Key: "old", Operation: "book", State: budgetattr.EffectPlanned, NotAfter: now, ChangedAt: now}); err != nil {
			t.Fatal(err)
		}
		if report, err = r.Pass(t.Context(), 0); err != nil || report.Abandoned != 1 || len(l.keys()) != 1 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

func TestKeysAreStableAndBounded(t *testing.T) {
	if k := effect.Key("root.child", "publish", "1"); k != "root.child/publish/1" {
		t.Error(k)
	}
	long := effect.Key("u", strings.Repeat("x", 300))
	if len(long) > 200 || long == effect.Key("u", strings.Repeat("x", 301)) {
		t.Error(long)
	}
}
