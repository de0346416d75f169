// Package effecttest holds the contract of an [effect.Store] as tests that every implementation runs.
package effecttest

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
)

// Run tests a store, which may hold other effects already. Its keys begin with "contract/".
func Run(t *testing.T, s effect.Store) {
	t.Run("plan once", func(t *testing.T) { testPlan(t, s) })
	t.Run("move by version and order", func(t *testing.T) { testMove(t, s) })
	t.Run("one of many wins", func(t *testing.T) { testRace(t, s) })
	t.Run("list what is unsettled", func(t *testing.T) { testUnsettled(t, s) })
	t.Run("keep evidence", func(t *testing.T) { testEvidence(t, s) })
}

var epoch = time.Date(2001, 2, 3, 4, 5, 6, 789000, time.UTC)

func planned(key string) effect.Effect {
	return effect.Effect{
		Key: "contract/" + key, Operation: "mail", Unit: "root.child", Payload: []byte{0, 1, 0xff}, Fingerprint: "f",
		State: budgetattr.EffectPlanned, PlannedAt: epoch, NotAfter: epoch.Add(time.Hour), ChangedAt: epoch,
	}
}

func plan(t *testing.T, s effect.Store, key string) effect.Effect {
	t.Helper()
	e, err := s.Plan(t.Context(), planned(key))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func testPlan(t *testing.T, s effect.Store) {
	want := planned("plan")
	got := plan(t, s, "plan")
	if got.Version == 0 {
		t.Error("no version")
	}
	want.Version = got.Version
	if !reflect.DeepEqual(got, want) {
		t.Errorf("planned\n%+v, want\n%+v", got, want)
	}
	if again := plan(t, s, "plan"); !reflect.DeepEqual(again, got) {
		t.Errorf("planned again\n%+v, want\n%+v", again, got)
	}
	if e, err := s.Get(t.Context(), want.Key); err != nil || !reflect.DeepEqual(e, got) {
		t.Errorf("read %+v, %v", e, err)
	}
	other := planned("plan")
	other.Fingerprint = "g"
	if _, err := s.Plan(t.Context(), other); !errors.Is(err, effect.ErrConflict) {
		t.Errorf("another payload: %v", err)
	}
	other = planned("plan")
	other.Operation = "post"
	if _, err := s.Plan(t.Context(), other); !errors.Is(err, effect.ErrConflict) {
		t.Errorf("another operation: %v", err)
	}
	if _, err := s.Get(t.Context(), "contract/none"); !errors.Is(err, effect.ErrNotFound) {
		t.Errorf("none: %v", err)
	}
}

func testMove(t *testing.T, s effect.Store) {
	e := plan(t, s, "move")
	old := e
	e.State, e.SentAt, e.SettledBy, e.Sends, e.ChangedAt = budgetattr.EffectSent, epoch.Add(time.Second), epoch.Add(2*time.Second), 1, epoch.Add(time.Second)
	sent, err := s.Move(t.Context(), e)
	if err != nil || sent.Version != e.Version+1 {
		t.Fatalf("moved to %+v, %v", sent, err)
	}
	e.Version++
	if got, err := s.Get(t.Context(), e.Key); err != nil || !reflect.DeepEqual(got, e) || !reflect.DeepEqual(got, sent) {
		t.Fatalf("read\n%+v, want\n%+v (%v)", got, e, err)
	}
	old.State = budgetattr.EffectSent
	if _, err := s.Move(t.Context(), old); !errors.Is(err, effect.ErrMoved) {
		t.Fatalf("an old version: %v", err)
	}
	e.State, e.Result, e.Reason = budgetattr.EffectConfirmed, []byte("receipt"), "because"
	if e, err = s.Move(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for _, to := range []effect.State{budgetattr.EffectPlanned, budgetattr.EffectSent, budgetattr.EffectUncertain, budgetattr.EffectReconciled, budgetattr.EffectAbandoned} {
		next := e
		next.State = to
		if _, err := s.Move(t.Context(), next); err == nil {
			t.Errorf("a confirmed effect became %s", to)
		}
	}
	got, err := s.Get(t.Context(), e.Key)
	if err != nil || string(got.Result) != "receipt" || got.Reason != "because" || got.State != budgetattr.EffectConfirmed {
		t.Errorf("read %+v, %v", got, err)
	}
}

func testRace(t *testing.T, s effect.Store) {
	e := plan(t, s, "race")
	e.State, e.Sends = budgetattr.EffectSent, 1
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			switch _, err := s.Move(t.Context(), e); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, effect.ErrMoved):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 8 marked it as sent", won.Load())
	}
}

func testUnsettled(t *testing.T, s effect.Store) {
	for i, state := range []effect.State{budgetattr.EffectPlanned, budgetattr.EffectSent, budgetattr.EffectUncertain, budgetattr.EffectConfirmed, budgetattr.EffectAbandoned} {
		e := planned("list/" + string(state))
		e.ChangedAt = epoch.Add(-time.Hour).Add(time.Duration(i) * time.Second)
		e, err := s.Plan(t.Context(), e)
		for _, next := range map[effect.State][]effect.State{
			budgetattr.EffectSent:      {budgetattr.EffectSent},
			budgetattr.EffectUncertain: {budgetattr.EffectSent, budgetattr.EffectUncertain},
			budgetattr.EffectConfirmed: {budgetattr.EffectSent, budgetattr.EffectConfirmed},
			budgetattr.EffectAbandoned: {budgetattr.EffectAbandoned},
		}[state] {
			if err != nil {
				t.Fatal(err)
			}
			e.State = next
			e, err = s.Move(t.Context(), e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var states []effect.State
	list, err := s.Unsettled(t.Context(), epoch.Add(-time.Minute), 100)
	for _, e := range list {
		states = append(states, e.State)
	}
	if want := []effect.State{budgetattr.EffectPlanned, budgetattr.EffectSent, budgetattr.EffectUncertain}; err != nil || !reflect.DeepEqual(states, want) {
		t.Errorf("listed %v, %v; want %v", states, err, want)
	}
	if list, err := s.Unsettled(t.Context(), epoch.Add(-time.Minute), 2); err != nil || len(list) != 2 {
		t.Errorf("listed %d of at most 2, %v", len(list), err)
	}
	if list, err := s.Unsettled(t.Context(), epoch.Add(-2*time.Hour), 100); err != nil || len(list) != 0 {
		t.Errorf("listed %v before there was any, %v", list, err)
	}
}

func testEvidence(t *testing.T, s effect.Store) {
	e := plan(t, s, "evidence")
	want := []effect.Evidence{{At: epoch, Result: []byte("a"), Text: "late"}, {At: epoch.Add(time.Second), Text: "later"}}
	for _, ev := range want {
		if err := s.AddEvidence(t.Context(), e.Key, ev); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Evidence(t.Context(), e.Key)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("kept %+v, %v", got, err)
	}
	many := plan(t, s, "evidence/many")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if err := s.AddEvidence(t.Context(), many.Key, want[0]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := s.Evidence(t.Context(), many.Key); err != nil || len(got) != 16 {
		t.Errorf("kept %d of 16 that came at once, %v", len(got), err)
	}
	if err := s.AddEvidence(t.Context(), "contract/none", want[0]); err == nil {
		t.Error("evidence of nothing")
	}
	if after, _ := s.Get(t.Context(), e.Key); !reflect.DeepEqual(after, e) {
		t.Errorf("evidence changed the effect: %+v", after)
	}
}
