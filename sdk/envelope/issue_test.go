package envelope_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

// A message made anew for a unit that is on record, as by a publisher that restarts, brings no new deadline.
func TestIssueSendingAgainRenewsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: 10 * time.Second, Attempts: 2})
		again := func(context.Context, *envelope.Run) error { return &envelope.Again{Err: errors.New("busy")} }
		if d := s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, again); d.Action != envelope.Retry {
			t.Fatalf("%+v", d)
		}
		time.Sleep(4 * time.Second)
		e = s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: time.Hour, Attempts: 50})
		var left time.Duration
		s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, r *envelope.Run) error {
			left, _ = budget.Remaining(ctx)
			if _, err := r.Attempt(ctx, "step"); err != nil {
				t.Error(err)
			}
			if _, err := r.Attempt(ctx, "step"); !errors.Is(err, budget.ErrAttempts) {
				t.Errorf("a third attempt of two: %v", err)
			}
			return nil
		})
		if left > 6*time.Second || left < 5*time.Second {
			t.Errorf("%v left of 6 s", left)
		}
		s.send(t, t.Context(), envelope.Spec{ID: "late", Limit: time.Second})
		time.Sleep(time.Minute)
		e = s.send(t, t.Context(), envelope.Spec{ID: "late", Limit: time.Second})
		if d := s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, nothing); d.Reason != envelope.RefusedExpired {
			t.Errorf("%+v", d)
		}
	})
}

// The worker that closed a unit died before its message was routed: the next delivery routes it.
func TestIssueExpiredWorkIsRoutedAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: time.Second, ExpiredTo: "late"})
		time.Sleep(time.Minute)
		for range 2 {
			d := s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, nothing)
			if d.Action != envelope.Route || d.To != "late" || d.Reason != envelope.RefusedExpired || d.Outcome != budgetattr.OutcomeExpiredInQueue {
				t.Errorf("%+v", d)
			}
		}
	})
}

// brittle is a store whose lists fail, as those of a worker that dies before its list.
type brittle struct {
	record.Memory
	broken bool
}

func (b *brittle) List(ctx context.Context, key string) ([]record.Entry, error) {
	if b.broken {
		return nil, errors.New("away")
	}
	return b.Memory.List(ctx, key)
}

// The worker died, or its store did, between closing a unit and stopping its children: the next delivery stops them.
func TestIssueChildrenAreStoppedAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, clock := &brittle{broken: true}, envelope.NewClock()
		consumer, err := envelope.NewConsumer(t.Context(), budget.Policy{}, store, clock)
		if err != nil {
			t.Fatal(err)
		}
		e, err := envelope.New(t.Context(), clock, envelope.Spec{ID: "parent", Limit: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		d := consumer.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, _ *envelope.Run) error {
			child, err := envelope.New(ctx, clock, envelope.Spec{ID: "child"})
			if err != nil {
				return err
			}
			return envelope.Register(ctx, store, child)
		})
		if d.Action != envelope.Retry || d.Err == nil {
			t.Errorf("acknowledged with a child that waits: %+v", d)
		}
		store.broken = false
		if d := consumer.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, nothing); d.Action != envelope.Ack || d.Reason != envelope.RefusedClosed {
			t.Errorf("%+v", d)
		}
		if u, err := envelope.GetUnit(t.Context(), store, "parent.child"); err != nil || u.Outcome != budgetattr.OutcomeCancelled {
			t.Errorf("%+v, %v", u, err)
		}
	})
}

// A message that was never delivered finds its unit running: the answer of a person that came before the pause was on
// record. It waits, and takes no attempt from the unit.
func TestIssueAnAnswerBeforeThePauseWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: time.Minute, Attempts: 1})
		s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job", First: true}, func(context.Context, *envelope.Run) error {
			d := s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job", First: true}, nothing)
			if d.Action != envelope.Retry || d.After <= 0 {
				t.Errorf("%+v", d)
			}
			return &envelope.Pause{For: "person"}
		})
		if u := s.unit(t, "job"); u.PausedFor != "person" {
			t.Errorf("%+v", u)
		}
		if d := s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, nothing); d.Outcome != budgetattr.OutcomeDone {
			t.Errorf("%+v", d)
		}
	})
}

// A unit comes from a machine whose clock is ahead; its children are written by the reference. The expiry moves with them.
func TestIssueAnExpiryIsNotTakenFromAnotherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		ahead := envelope.NewClock(skewed(30 * time.Second))
		e, err := envelope.New(t.Context(), ahead, envelope.Spec{ID: "job", Limit: time.Hour, ExpiresAt: time.Now().Add(90 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		here := envelope.NewClock(envelope.WithTolerance(31 * time.Second))
		if err := here.Measure(t.Context(), "database", func(context.Context) (time.Time, error) { return time.Now(), nil }); err != nil {
			t.Fatal(err)
		}
		s.consumer(t, budget.Policy{}, here).Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, _ *envelope.Run) error {
			left, _ := budget.Remaining(ctx)
			child, err := envelope.New(ctx, here, envelope.Spec{ID: "child"})
			if err != nil {
				return err
			}
			if got := child.ExpiresAt.Sub(child.CreatedAt); got > left {
				t.Errorf("the child's data is good for %v, its parent's for %v", got, left)
			}
			return nil
		})
	})
}

func skewed(by time.Duration) envelope.ClockOption {
	return envelope.WithNow(func() time.Time { return time.Now().Add(by) })
}

// A reference whose clock was set is believed at once, also if the answer before was the more exact one.
func TestIssueAClockThatWasSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, off, took := envelope.NewClock(), time.Duration(0), time.Duration(0)
		read := func(context.Context) (time.Time, error) { time.Sleep(took); return time.Now().Add(off - took/2), nil }
		for _, step := range []struct{ off, took time.Duration }{{0, 0}, {-30 * time.Second, 10 * time.Millisecond}} {
			off, took = step.off, step.took
			if err := c.Measure(t.Context(), "broker", read); err != nil {
				t.Fatal(err)
			}
			if got := time.Until(c.Read().At); (got - off).Abs() > took {
				t.Errorf("off by %v, the reference by %v", got, off)
			}
		}
	})
}

// What no writer means is refused where it is read, and never counts for something else.
func TestIssueMalformedEnvelopes(t *testing.T) {
	const good = `"work_id":"a","cancellation_id":"a","created_at":"2026-01-01T00:00:00Z","queued_at":"2026-01-01T00:00:00Z",`
	for name, text := range map[string]string{
		"attempts_left missing": `{` + good + `"deadline_at":"2026-01-01T00:01:00Z"}`,
		"attempts_left null":    `{` + good + `"deadline_at":"2026-01-01T00:01:00Z","attempts_left":null}`,
		"attempts_left huge":    `{` + good + `"deadline_at":"2026-01-01T00:01:00Z","attempts_left":9223372036854775807}`,
		"attempts huge":         `{` + good + `"deadline_at":"2026-01-01T00:01:00Z","attempts_left":1,"attempts":{"a":9223372036854775807}}`,
		"waited for ages":       `{` + good + `"deadline_at":"2026-01-01T00:01:00Z","attempts_left":1,"waited_s":9e9}`,
		"deadline in 9999":      `{` + good + `"deadline_at":"9999-12-31T23:59:59Z","attempts_left":1}`,
		"deadline in 10000":     `{` + good + `"deadline_at":"10000-01-01T00:00:00Z","attempts_left":1}`,
		"negative duration":     `{` + good + `"deadline_at":"2026-01-01T00:01:00Z","attempts_left":1,"min_useful_s":-1}`,
	} {
		if e, err := envelope.Parse([]byte(text)); !errors.Is(err, envelope.ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if _, err := envelope.Parse([]byte(`{` + good + `"deadline_at":"2026-01-01T00:01:00Z","attempts_left":-1,"from_a_later_version":{}}`)); err != nil {
		t.Errorf("an unknown field: %v", err)
	}
	e, err := envelope.New(t.Context(), envelope.NewClock(), envelope.Spec{ID: "a", Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	e.Attempts = map[string]int{"queue": 3}
	for name, spoil := range map[string]func(http.Header){
		"two deadlines":    func(h http.Header) { h.Add("Work-Deadline-At", "2099-01-01T00:00:00Z") },
		"a counter twice":  func(h http.Header) { h.Set("Work-Attempts", "queue=3,queue=0") },
		"no attempts left": func(h http.Header) { h.Del("Work-Attempts-Left") },
	} {
		h := http.Header{}
		if err := e.Inject(propagation.HeaderCarrier(h)); err != nil {
			t.Fatal(err)
		}
		spoil(h)
		if got, err := envelope.Extract(propagation.HeaderCarrier(h)); !errors.Is(err, envelope.ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// An expiry of long ago is over, not so far away that it comes round again.
func TestIssueAnExpiryOfLongAgo(t *testing.T) {
	s := newSite(t, budget.Policy{})
	e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: time.Minute})
	e.ExpiresAt = time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)
	if d := s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, nothing); d.Reason != envelope.RefusedExpired {
		t.Errorf("%+v", d)
	}
	if got := s.entry(t)[budgetattr.GovernedByKey].AsString(); got != "expiry" {
		t.Errorf("governed by %q", got)
	}
}

// A person grants time. Attempts that were made stay made, unless the person grants those too.
func TestIssueARegrantStartsFromWhatWasDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: 10 * time.Second, Attempts: 3})
		time.Sleep(time.Second)
		s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, r *envelope.Run) error {
			r.Spend(ctx, "token", 5)
			return errors.New("no")
		})
		u := s.unit(t, "job")
		again, err := envelope.Regrant(t.Context(), s.clock, u.Current(), "duty", envelope.Spec{ID: "job-2", Limit: time.Minute, Reason: strings.Repeat("x", 10)})
		if err != nil || again.AttemptsLeft != 2 || again.Attempts["queue"] != 1 || again.Costs["token"] != 5 || again.Waited.Duration() != time.Second {
			t.Errorf("%+v, %v", again, err)
		}
	})
}
