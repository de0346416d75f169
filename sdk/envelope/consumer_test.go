package envelope_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

// site is a consumer with its store and spans.
type site struct {
	*envelope.Consumer
	store *record.Memory
	clock *envelope.Clock
	spans *tracetest.SpanRecorder
}

func newSite(t *testing.T, policy budget.Policy) *site {
	s := &site{store: new(record.Memory), clock: envelope.NewClock(envelope.WithTolerance(time.Millisecond)), spans: tracetest.NewSpanRecorder()}
	s.Consumer = s.consumer(t, policy, s.clock)
	return s
}

func (s *site) consumer(t *testing.T, policy budget.Policy, clock *envelope.Clock) *envelope.Consumer {
	c, err := envelope.NewConsumer(t.Context(), policy, s.store, clock,
		budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *site) send(t *testing.T, ctx context.Context, spec envelope.Spec) envelope.Envelope {
	t.Helper()
	e, err := envelope.New(ctx, s.clock, spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := envelope.Register(ctx, s.store, e); err != nil {
		t.Fatal(err)
	}
	return e
}

func (s *site) unit(t *testing.T, id string) envelope.Unit {
	t.Helper()
	u, err := envelope.GetUnit(t.Context(), s.store, id)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// entry returns the attributes of the last entry span.
func (s *site) entry(t *testing.T) map[attribute.Key]attribute.Value {
	t.Helper()
	ended := s.spans.Ended()
	for i := len(ended) - 1; i >= 0; i-- {
		m := map[attribute.Key]attribute.Value{}
		for _, kv := range ended[i].Attributes() {
			m[kv.Key] = kv.Value
		}
		if _, ok := m[budgetattr.WorkIDKey]; ok {
			return m
		}
	}
	t.Fatal("no entry span")
	return nil
}

func nothing(context.Context, *envelope.Run) error { return nil }

func TestDeliveredWorkRunsUnderTheRestOfItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: 10 * time.Second})
		time.Sleep(4 * time.Second)
		d := s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, r *envelope.Run) error {
			if left, ok := budget.Remaining(ctx); !ok || left != 6*time.Second-time.Millisecond {
				t.Errorf("%v left", left)
			}
			r.Spend(ctx, "token", 7)
			return r.SetResult("good")
		})
		u := s.unit(t, "job")
		if d.Action != envelope.Ack || u.State != envelope.Closed || u.Outcome != budgetattr.OutcomeDone || string(u.Result) != `"good"` ||
			u.Waited.Duration() != 4*time.Second || u.Costs["token"] != 7 || u.Attempts["queue"] != 1 {
			t.Errorf("%+v\n%+v", d, u)
		}
		a := s.entry(t)
		if a[budgetattr.BudgetSourceKey].AsString() != "envelope" || a[budgetattr.EnvelopeWaitKey].AsFloat64() != 4 ||
			a[budgetattr.BudgetReceivedKey].AsFloat64() != 5.999 || a[budgetattr.OutcomeKey].AsString() != "done" {
			t.Errorf("%v", a)
		}
		// Delivered once more, it is done.
		d = s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(context.Context, *envelope.Run) error {
			t.Error("a closed unit ran")
			return nil
		})
		if d.Action != envelope.Ack || d.Reason != envelope.RefusedClosed {
			t.Errorf("%+v", d)
		}
	})
}

func TestExpiredWorkIsRecordedAndRouted(t *testing.T) {
	for name, c := range map[string]struct {
		spec    envelope.Spec
		wait    time.Duration
		refusal envelope.Refusal
		outcome budgetattr.Outcome
		action  envelope.Action
	}{
		"deadline":   {envelope.Spec{Limit: time.Minute, ExpiredTo: "late"}, 2 * time.Minute, envelope.RefusedExpired, "expired_in_queue", envelope.Route},
		"recorded":   {envelope.Spec{Limit: time.Minute}, 2 * time.Minute, envelope.RefusedExpired, "expired_in_queue", envelope.Ack},
		"min useful": {envelope.Spec{Limit: time.Minute, MinUseful: 30 * time.Second, ExpiredTo: "late"}, 40 * time.Second, envelope.RefusedExpired, "expired_in_queue", envelope.Route},
		"expiry":     {envelope.Spec{Limit: time.Hour, ExpiresAt: time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)}, 2 * time.Minute, envelope.RefusedExpired, "expired_in_queue", envelope.Ack},
		"clock":      {envelope.Spec{Limit: time.Minute, ExpiredTo: "late"}, time.Minute - time.Microsecond, envelope.RefusedClock, "rejected", envelope.Route},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, budget.Policy{})
				c.spec.ID = "job"
				e := s.send(t, t.Context(), c.spec)
				time.Sleep(c.wait)
				d := s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(context.Context, *envelope.Run) error {
					t.Error("it ran")
					return nil
				})
				if d.Reason != c.refusal || d.Outcome != c.outcome || d.Action != c.action {
					t.Errorf("%+v", d)
				}
				a := s.entry(t)
				if a[budgetattr.OutcomeKey].AsString() != string(c.outcome) || a[budgetattr.WorkRefusalKey].AsString() != string(c.refusal) ||
					a[budgetattr.EnvelopeWaitKey].AsFloat64() != c.wait.Seconds() {
					t.Errorf("%v", a)
				}
			})
		})
	}
}

func TestShadowRunsWhatWouldHaveBeenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{Control: budget.NewControl(budgetattr.ModeShadow)})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: time.Second})
		time.Sleep(time.Minute)
		ran := false
		s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, _ *envelope.Run) error {
			ran = true
			return ctx.Err()
		})
		if u := s.unit(t, "job"); !ran || u.State != envelope.Closed {
			t.Errorf("ran %v, %+v", ran, u)
		}
	})
}

func TestAttemptsAreCountedOverAllLayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: time.Minute, Attempts: 4})
		sent := 0
		try := func(ctx context.Context, r *envelope.Run) error {
			for range 2 { // a layer that retries
				ctx, err := r.Attempt(ctx, "step")
				if err != nil {
					break
				}
				sent++
				budget.NextWireAttempt(ctx)
			}
			return &envelope.Again{After: time.Second, Err: errors.New("unavailable")}
		}
		delivery := envelope.Delivery{Envelope: e, Name: "job"}
		if d := s.Handle(t.Context(), delivery, try); d.Action != envelope.Retry || d.After != time.Second {
			t.Fatalf("%+v", d)
		}
		if d := s.Handle(t.Context(), delivery, try); d.Action != envelope.Ack || d.Outcome != budgetattr.OutcomeFailed {
			t.Fatalf("%+v", d)
		}
		if u := s.unit(t, "job"); sent != 4 || u.Attempts["queue"] != 2 || u.Attempts["step"] != 2 {
			t.Errorf("%d sent, %v", sent, u.Attempts)
		}
	})
}

func TestSilentRetriesOfAnSDKAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: time.Minute, Attempts: 3})
		refused := 0
		s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, r *envelope.Run) error {
			ctx, err := r.Attempt(ctx, "step")
			for range 5 {
				if budget.NextWireAttempt(ctx).Refused {
					refused++
				}
			}
			return err
		})
		if u := s.unit(t, "job"); refused != 2 || u.Attempts["sdk"] != 2 {
			t.Errorf("%d refused, %v", refused, u.Attempts)
		}
	})
}

func TestAgainDoesNotAskForWhatCannotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: 10 * time.Second, MinUseful: 2 * time.Second})
		d := s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(context.Context, *envelope.Run) error {
			time.Sleep(3 * time.Second)
			return &envelope.Again{After: 6 * time.Second, Err: errors.New("unavailable")}
		})
		if d.Action != envelope.Ack || s.unit(t, "job").Outcome != budgetattr.OutcomeFailed {
			t.Errorf("%+v", d)
		}
	})
}

// Cancelling one id reaches the running unit, its queued child and its running grandchild; each confirms.
func TestCancelReachesTheWholeTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		root := s.send(t, t.Context(), envelope.Spec{ID: "root", Limit: time.Minute})
		bystander := s.send(t, t.Context(), envelope.Spec{ID: "root2", Limit: time.Minute})
		s.send(t, t.Context(), envelope.Spec{ID: "waiting", Limit: time.Minute})
		done := make(chan envelope.Disposition, 8)
		wait := func(ctx context.Context, _ *envelope.Run) error { <-ctx.Done(); return context.Cause(ctx) }
		var queued envelope.Envelope
		go func() {
			done <- s.Handle(t.Context(), envelope.Delivery{Envelope: root, Name: "root"}, func(ctx context.Context, r *envelope.Run) error {
				child := s.send(t, ctx, envelope.Spec{ID: "child"})
				queued = s.send(t, ctx, envelope.Spec{ID: "queued"})
				go func() { done <- s.Handle(t.Context(), envelope.Delivery{Envelope: child, Name: "child"}, wait) }()
				return wait(ctx, r)
			})
		}()
		go func() {
			done <- s.Handle(t.Context(), envelope.Delivery{Envelope: bystander, Name: "other"}, func(ctx context.Context, _ *envelope.Run) error {
				time.Sleep(10 * time.Second)
				return ctx.Err()
			})
		}()
		synctest.Wait()
		units, err := envelope.Cancel(t.Context(), s.store, "root", envelope.Cancellation{Cause: budgetattr.CauseClientDisconnect, By: "user"})
		if err != nil || len(units) != 3 {
			t.Fatalf("%d units, %v", len(units), err)
		}
		for range 3 {
			<-done
		}
		units, _ = envelope.Units(t.Context(), s.store, "root")
		for _, u := range units {
			if !u.Confirmed() || u.Cancelled == nil || u.Cancelled.Cause != budgetattr.CauseClientDisconnect || u.Outcome != budgetattr.OutcomeCancelled {
				t.Errorf("%s: %+v", u.ID(), u)
			}
		}
		if u := s.unit(t, "root2"); u.Outcome != budgetattr.OutcomeDone {
			t.Errorf("bystander: %+v", u)
		}
		d := s.Handle(t.Context(), envelope.Delivery{Envelope: queued, Name: "queued"}, func(context.Context, *envelope.Run) error {
			t.Error("cancelled work ran when it was delivered again")
			return nil
		})
		if d.Reason != envelope.RefusedCancelled || s.entry(t)[budgetattr.OutcomeKey].AsString() != "cancelled" {
			t.Errorf("%+v", d)
		}
		if err := envelope.Register(t.Context(), s.store, envelope.Envelope{WorkID: "new", CancellationID: "root.new", CreatedAt: root.CreatedAt,
			QueuedAt: root.QueuedAt, DeadlineAt: root.DeadlineAt}); !errors.Is(err, envelope.ErrClosed) {
			t.Errorf("a cancelled parent's new child: %v", err)
		}
	})
}

func TestChildrenLeaveTheSynthesisReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "root", Limit: 10 * time.Second, Synthesis: 2 * time.Second, Attempts: 3})
		s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "root"}, func(ctx context.Context, r *envelope.Run) error {
			child := s.send(t, ctx, envelope.Spec{ID: "child", Limit: time.Hour, Attempts: 100})
			if reserve := e.DeadlineAt.Sub(child.DeadlineAt); reserve < 2*time.Second || child.AttemptsLeft != 2 || child.ParentID != "root" {
				t.Errorf("reserve %v, %+v", reserve, child)
			}
			inner, cancel := r.Delegate(ctx)
			defer cancel()
			<-inner.Done()
			if left, _ := budget.Remaining(ctx); left != 2*time.Second {
				t.Errorf("%v left for the synthesis", left)
			}
			return nil
		})
		if u := s.unit(t, "root.child"); u.Outcome != budgetattr.OutcomeCancelled || u.Cancelled.Cause != budgetattr.CauseSuperseded {
			t.Errorf("a child outlived its closed parent: %+v", u)
		}
	})
}

// A worker that died left the unit running: the next delivery goes on with clock and counters.
func TestAnotherExecutionTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{Cleanup: time.Second})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: 30 * time.Second})
		delivery := envelope.Delivery{Envelope: e, Name: "job"}
		first := make(chan envelope.Disposition)
		go func() {
			first <- s.Handle(t.Context(), delivery, func(ctx context.Context, r *envelope.Run) error {
				time.Sleep(20 * time.Second) // silent for so long that the broker gives the work to another
				_ = r.SetResult("first")
				return nil
			})
		}()
		time.Sleep(5 * time.Second)
		d := s.Handle(t.Context(), delivery, func(ctx context.Context, r *envelope.Run) error {
			if left, _ := budget.Remaining(ctx); r.N() != 2 || left > 25*time.Second {
				t.Errorf("execution %d with %v", r.N(), left)
			}
			return r.SetResult("second")
		})
		if d.Outcome != budgetattr.OutcomeDone {
			t.Errorf("%+v", d)
		}
		d = <-first
		u := s.unit(t, "job")
		if d.Reason != envelope.RefusedClosed || string(u.Result) != `"second"` || u.LateCount != 1 || string(u.Late[0].Result) != `"first"` || u.Attempts["queue"] != 2 {
			t.Errorf("%+v\n%+v", d, u)
		}
		if s.entry(t)[budgetattr.LateResultsKey].AsInt64() != 1 {
			t.Errorf("%v", s.entry(t))
		}
	})
}

// Work that ignores its end is left behind after the clean-up, counts as possibly running, and confirms when it returns.
func TestWorkThatIgnoresItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{Cleanup: time.Second})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: 5 * time.Second})
		began := time.Now()
		d := s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, r *envelope.Run) error {
			time.Sleep(20 * time.Second)
			r.Spend(ctx, "token", 3)
			return r.SetResult("too late")
		})
		if took := time.Since(began); took > 7*time.Second || d.Outcome != budgetattr.OutcomeCancelled {
			t.Errorf("%+v after %v", d, took)
		}
		u := s.unit(t, "job")
		if u.State != envelope.Closed || !u.StoppedAt.IsZero() {
			t.Errorf("%+v", u)
		}
		if a := s.entry(t); a[budgetattr.OpenChildrenKey].AsInt64() != 1 || a[budgetattr.CancelConfirmedKey].AsBool() {
			t.Errorf("%v", a)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if u := s.unit(t, "job"); u.StoppedAt.IsZero() || u.LateCount != 1 || u.Result != nil || u.Outcome != budgetattr.OutcomeCancelled {
			t.Errorf("%+v", u)
		}
	})
}

func TestWhatMakesNoSenseIsRefused(t *testing.T) {
	if envelope.FromContext(t.Context()) != nil {
		t.Error("an execution out of nowhere")
	}
	if _, err := envelope.NewConsumer(t.Context(), budget.Policy{Reserve: -1}, new(record.Memory), envelope.NewClock()); !errors.Is(err, budget.ErrTerms) {
		t.Errorf("%v", err)
	}
	s := newSite(t, budget.Policy{})
	if d := s.Handle(t.Context(), envelope.Delivery{}, nothing); d.Action != envelope.Ack || !errors.Is(d.Err, envelope.ErrInvalid) {
		t.Errorf("%+v", d)
	}
}

// A worker that shuts down gives its work back: the unit is not cancelled.
func TestShutdownLeavesTheWorkToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: time.Minute})
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(budget.CauseError(budgetattr.CauseShutdown)) })
		d := s.Handle(ctx, envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, _ *envelope.Run) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if u := s.unit(t, "job"); d.Action != envelope.Retry || u.State != envelope.Queued {
			t.Errorf("%+v\n%+v", d, u)
		}
		d = s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, nothing)
		if u := s.unit(t, "job"); d.Outcome != budgetattr.OutcomeDone || u.Run != 2 {
			t.Errorf("%+v\n%+v", d, u)
		}
	})
}

// Work that waits for a person holds no call open; it comes back under the same clock, and the way back is no attempt.
func TestAPauseHoldsNothingOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: time.Minute, Attempts: 1})
		delivery := envelope.Delivery{Envelope: e, Name: "job"}
		d := s.Handle(t.Context(), delivery, func(context.Context, *envelope.Run) error { return &envelope.Pause{For: "approval"} })
		if u := s.unit(t, "job"); d.Action != envelope.Ack || u.State != envelope.Queued || u.PausedFor != "approval" {
			t.Errorf("%+v\n%+v", d, u)
		}
		if s.entry(t)[budgetattr.OutcomeKey].AsString() != "done_with_pending" {
			t.Errorf("%v", s.entry(t))
		}
		time.Sleep(30 * time.Second)
		s.Handle(t.Context(), delivery, func(ctx context.Context, r *envelope.Run) error {
			if left, _ := budget.Remaining(ctx); left > 30*time.Second {
				t.Errorf("%v left", left)
			}
			return nil
		})
		if u := s.unit(t, "job"); u.Outcome != budgetattr.OutcomeDone || u.Attempts["queue"] != 1 || u.Waited.Duration() != 30*time.Second {
			t.Errorf("%+v", u)
		}
	})
}

func TestAwaitReturnsWhenTheUnitCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, budget.Policy{})
		e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: time.Minute})
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if u, err := envelope.Await(short, s.store, "job"); !errors.Is(err, context.DeadlineExceeded) || u.State != envelope.Queued {
			t.Errorf("%+v, %v", u, err)
		}
		time.AfterFunc(time.Second, func() { s.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, nothing) })
		if u, err := envelope.Await(t.Context(), s.store, "job"); err != nil || u.Outcome != budgetattr.OutcomeDone {
			t.Errorf("%+v, %v", u, err)
		}
	})
}

// Over any two clocks, measured in any asymmetric way, no unit gains time; without a reference it gains nothing as long as
// the clocks differ by no more than the tolerance of both sides.
func TestNoClockGivesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := map[bool]int{}
		for i := range 300 {
			s := newSite(t, budget.Policy{})
			reference := i%2 == 0
			tolerance := time.Duration(1+rand.N(10)) * time.Second
			clock := func() *envelope.Clock {
				skew := rand.N(tolerance) - tolerance/2
				if reference {
					skew = rand.N(2*time.Minute) - time.Minute
				}
				c := envelope.NewClock(envelope.WithTolerance(tolerance), envelope.WithNow(func() time.Time { return time.Now().Add(skew) }))
				if reference {
					if err := c.Measure(t.Context(), "broker", func(context.Context) (time.Time, error) {
						time.Sleep(rand.N(50 * time.Millisecond))
						at := time.Now()
						time.Sleep(rand.N(50 * time.Millisecond))
						return at, nil
					}); err != nil {
						t.Fatal(err)
					}
				}
				return c
			}
			s.clock = clock()
			reader := s.consumer(t, budget.Policy{}, clock())
			limit := 20*time.Second + rand.N(time.Minute)
			end := time.Now().Add(limit)
			e := s.send(t, t.Context(), envelope.Spec{ID: "job", Limit: limit})
			time.Sleep(rand.N(limit / 3))
			reader.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, _ *envelope.Run) error {
				ran[reference]++
				left, _ := budget.Remaining(ctx)
				truth := time.Until(end)
				if left > truth || reference && truth-left > time.Second {
					t.Errorf("got %v of %v, reference %v, tolerance %v", left, truth, reference, tolerance)
				}
				return nil
			})
		}
		if ran[true] != 150 || ran[false] < 100 {
			t.Errorf("only %v ran", ran)
		}
	})
}
