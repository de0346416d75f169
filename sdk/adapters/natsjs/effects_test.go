package natsjs_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
	"github.com/laxity-dev/laxity/sdk/envelope"
)

// effectSpans returns the recorded states of an effect, by the order in which its hops ended.
func (s *system) effectSpans(key string) []string {
	var states []string
	for _, span := range s.spans.Ended() {
		if a := attributesOf(span); a[budgetattr.EffectKeyKey].AsString() == key {
			states = append(states, a[budgetattr.EffectStateKey].AsString())
		}
	}
	return states
}

// reconcile passes over the effects until none is open.
func (s *system) reconcile(store effect.Store, op effect.Operation) {
	s.Helper()
	r, err := effect.NewReconciler(store, budget.Policy{Default: 5 * time.Second}, []effect.Operation{op}, s.opts...)
	s.must(err)
	s.eventually("every effect is settled", func() bool {
		if _, err := r.Pass(context.Background(), 0); err != nil {
			s.Error(err)
		}
		open, err := store.Unsettled(context.Background(), time.Now().Add(time.Hour), 10)
		s.must(err)
		return len(open) == 0
	})
}

// The user cancels while the bank commits: the booking is found by its key, and its durable result is what the unit has.
func TestT20_CommitWhileCancelling(t *testing.T) {
	s := newSystem(t)
	s.policy.Cleanup = 2 * time.Second
	store, db := s.effects()
	b := newBank(t, db)
	b.before.Store(int64(200 * time.Millisecond))
	op := booking(b.URL)
	op.Cap = 5 * time.Second
	w := s.writer(store, op)
	result := make(chan effect.Effect, 1)
	said := s.work("job", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		e, err := w.Do(ctx, r.ID(), effect.Key(r.ID(), "book"), []byte("100"))
		result <- e
		return err
	})
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 30 * time.Second})
	s.eventually("the bank has it", func() bool { return b.arrived.Load() == 1 })
	if _, err := envelope.Cancel(t.Context(), s.store, "job", envelope.Cancellation{By: "user"}); err != nil {
		t.Fatal(err)
	}
	d := next(t, said)
	e := next(t, result)
	if e.State != budgetattr.EffectReconciled || string(e.Result) != "receipt" || d.Outcome != budgetattr.OutcomeDone {
		t.Errorf("%+v, %+v", d, e)
	}
	if n := b.count(t, e.Key); n != 1 {
		t.Errorf("booked %d times", n)
	}
	s.checks(store, "job")
}

// The write was sent and its answer did not come in time: asked by its key inside the reserve, it is there.
func TestT26_TimeoutAfterAWriteWasSent(t *testing.T) {
	s := newSystem(t)
	store, db := s.effects()
	b := newBank(t, db)
	b.after.Store(int64(2 * time.Second))
	w := s.writer(store, booking(b.URL))
	said := s.work("job", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		_, err := w.Do(ctx, r.ID(), effect.Key(r.ID(), "book"), nil)
		return err
	})
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 20 * time.Second})
	if d := next(t, said); d.Outcome != budgetattr.OutcomeDone {
		t.Errorf("%+v", d)
	}
	if states := s.effectSpans("job/book"); len(states) != 2 || states[0] != "sent" || states[1] != "reconciled" {
		t.Errorf("%v", states)
	}
	if n := b.count(t, "job/book"); n != 1 {
		t.Errorf("booked %d times", n)
	}
	s.checks(store, "job")
}

// The user leaves: the read stops at the server, the write goes on there. Nobody says that it failed, and it is found.
func TestT36_CancellationStopsAReadButNotTheRemoteWrite(t *testing.T) {
	s := newSystem(t)
	s.policy.Cleanup = 100 * time.Millisecond // too little to see the write arrive
	store, db := s.effects()
	b := newBank(t, db)
	b.before.Store(int64(time.Second))
	op := booking(b.URL)
	op.Cap, op.Settle = 5*time.Second, 2*time.Second
	w := s.writer(store, op)
	said := s.work("job", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		var reading sync.WaitGroup
		reading.Go(func() {
			if res, err := call(ctx, "GET", b.URL+"/slow", ""); err == nil {
				_ = res.Body.Close()
			}
		})
		defer reading.Wait()
		_, err := w.Do(ctx, r.ID(), effect.Key(r.ID(), "book"), nil)
		return err
	})
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 30 * time.Second})
	s.eventually("the write is on its way", func() bool { return b.arrived.Load() == 1 })
	if _, err := envelope.Cancel(t.Context(), s.store, "job", envelope.Cancellation{By: "user"}); err != nil {
		t.Fatal(err)
	}
	if d := next(t, said); d.Outcome != budgetattr.OutcomeUncertain {
		t.Errorf("%+v", d)
	}
	s.eventually("the read stopped", func() bool { return b.left.Load() == 1 })
	s.reconcile(store, op)
	if e, err := store.Get(t.Context(), "job/book"); err != nil || e.State != budgetattr.EffectReconciled || b.count(t, e.Key) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	if u := s.unit("job"); u.Outcome != budgetattr.OutcomeUncertain {
		t.Errorf("a closed unit changed: %+v", u)
	}
	if s.count(budgetattr.MetricEffectsUncertain) == 0 {
		t.Error("not in the metrics")
	}
	s.checks(store, "job")
}

// There was no time to ask: the unit ends uncertain, never failed, and the effect that exists is found by a reconciler.
func TestT38_StateSaysTimeoutWhileTheEffectExists(t *testing.T) {
	s := newSystem(t)
	store, db := s.effects()
	b := newBank(t, db)
	b.after.Store(int64(3 * time.Second))
	op := booking(b.URL)
	ask := op.Ask
	op.Ask = func(context.Context, string) (effect.Presence, []byte, error) {
		return effect.Unknown, nil, errors.New("the bank's register is away")
	}
	w := s.writer(store, op)
	said := s.work("job", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		_, err := w.Do(ctx, r.ID(), effect.Key(r.ID(), "book"), nil)
		if !errors.Is(err, effect.ErrUncertain) {
			t.Errorf("%v", err)
		}
		return err
	})
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 20 * time.Second})
	if d := next(t, said); d.Outcome != budgetattr.OutcomeUncertain {
		t.Errorf("%+v", d)
	}
	if e := s.entries("job"); e[0][budgetattr.OutcomeKey].AsString() != "uncertain" {
		t.Errorf("%v", e)
	}
	if states := s.effectSpans("job/book"); len(states) == 0 || states[len(states)-1] != "uncertain" {
		t.Errorf("%v", states)
	}
	open, err := store.Unsettled(t.Context(), time.Now().Add(time.Hour), 10)
	if err != nil || len(open) != 1 || open[0].State != budgetattr.EffectUncertain {
		t.Errorf("listed %+v, %v", open, err)
	}
	op.Ask = ask
	s.reconcile(store, op)
	if e, err := store.Get(t.Context(), "job/book"); err != nil || e.State != budgetattr.EffectReconciled || string(e.Result) != "receipt" || b.count(t, e.Key) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	s.checks(store, "job")
}
