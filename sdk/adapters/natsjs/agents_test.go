package natsjs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/laxity-dev/laxity/sdk/adapters/natsjs"
	"github.com/laxity-dev/laxity/sdk/approval"
	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/envelope"
)

// A child that asks for an hour gets what its parent has left, less the parent's synthesis reserve, also through the queue.
func TestT23_ChildAsksForMoreThanItsParent(t *testing.T) {
	s := newSystem(t)
	left := make(chan time.Duration, 1)
	s.work("child", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		d, _ := budget.Remaining(ctx)
		left <- d
		return r.SetResult("part")
	})
	parents := s.work("parent", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		own, _ := budget.Remaining(ctx)
		child := s.send(ctx, "child", envelope.Spec{ID: "child", Limit: time.Hour, Attempts: 50})
		if got := next(t, left); got > own-2*time.Second {
			t.Errorf("the child got %v of %v", got, own)
		}
		s.eventually("the child closes", func() bool { return s.unit(child.CancellationID).State == envelope.Closed })
		return nil
	})
	s.send(t.Context(), "parent", envelope.Spec{ID: "parent", Limit: 20 * time.Second, Synthesis: 2 * time.Second, Attempts: 3})
	if d := next(t, parents); d.Outcome != budgetattr.OutcomeDone {
		t.Errorf("%+v", d)
	}
	s.checks(nil, "parent")
}

// Valid when it is queued, expired when it is delivered: it does not run, is recorded and goes where expired work goes.
func TestT24_EntersTheQueueValidLeavesExpired(t *testing.T) {
	s := newSystem(t)
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 100 * time.Millisecond, ExpiredTo: "late.job"})
	time.Sleep(time.Until(s.unit("job").Envelope.DeadlineAt) + 50*time.Millisecond) // it waits in the broker
	d := next(t, s.work("job", func(context.Context, *envelope.Run, []byte) error {
		t.Error("expired work ran")
		return nil
	}))
	if d.Action != envelope.Route || d.Outcome != budgetattr.OutcomeExpiredInQueue || d.Reason != envelope.RefusedExpired {
		t.Errorf("%+v", d)
	}
	late, err := s.js.CreateOrUpdateConsumer(t.Context(), "WORK", jetstream.ConsumerConfig{FilterSubject: "late.>", AckPolicy: jetstream.AckNonePolicy})
	s.must(err)
	msg, err := late.Next(jetstream.FetchMaxWait(20 * time.Second))
	s.must(err)
	if msg.Headers().Get(natsjs.HeaderRefusal) != "expired" || msg.Headers().Get("Work-Id") != "job" || string(msg.Data()) != "payload" {
		t.Errorf("%v", msg.Headers())
	}
	entries := s.entries("job")
	if len(entries) != 1 || entries[0][budgetattr.OutcomeKey].AsString() != "expired_in_queue" || entries[0][budgetattr.EnvelopeWaitKey].AsFloat64() < 0.1 {
		t.Errorf("%v", entries)
	}
	if s.count(budgetattr.MetricExpiredInQueue) != 1 {
		t.Error("not in the metrics")
	}
	s.checks(nil, "job")
}

// skewed is this machine's clock as another machine has it.
func skewed(by time.Duration) envelope.ClockOption {
	return envelope.WithNow(func() time.Time { return time.Now().Add(by) })
}

// The work goes through writers and readers whose clocks differ a little, and each hop of the way leaves it less.
func TestT25_TwoClocksSlightlyApart(t *testing.T) {
	handed(t, 250*time.Millisecond, true, 0)
	handed(t, -250*time.Millisecond, true, 0)
}

// Thirty seconds apart: with a reference no unit gains time; without one none gains more than the tolerance.
func TestTwoWorkersThirtySecondsApart(t *testing.T) {
	for _, by := range []time.Duration{30 * time.Second, -30 * time.Second} {
		handed(t, by, true, 0)
		handed(t, by, false, 15*time.Second)
		handed(t, by, false, 30*time.Second)
	}
}

// handed sends a unit from a machine with the right clock to one whose clock is off, which sends a child back.
func handed(t *testing.T, off time.Duration, reference bool, tolerance time.Duration) {
	t.Run(fmt.Sprintf("off %v reference %v tolerance %v", off, reference, tolerance), func(t *testing.T) {
		s := newSystem(t)
		there := envelope.NewClock(skewed(off), envelope.WithTolerance(tolerance))
		if reference {
			s.must(there.Measure(t.Context(), "nats", natsjs.Now(s.kv)))
		} else {
			s.clock = envelope.NewClock(envelope.WithTolerance(tolerance))
			s.pub = natsjs.NewPublisher(s.js, s.store, s.clock)
		}
		const whole = 60 * time.Second
		var sent time.Time
		check := func(who string, ctx context.Context) {
			got, _ := budget.Remaining(ctx)
			truth := whole - time.Since(sent)
			if gained := got - truth; gained > tolerance || reference && truth-got > 2*time.Second {
				t.Errorf("%s got %v, there were %v", who, got, truth)
			}
		}
		back := s.work("back", func(ctx context.Context, _ *envelope.Run, _ []byte) error {
			check("child", ctx)
			return nil
		})
		forth := s.workAs("forth", there, func(ctx context.Context, r *envelope.Run, _ []byte) error {
			check("unit", ctx)
			e, err := envelope.New(ctx, there, envelope.Spec{ID: "child"})
			if err != nil {
				return err
			}
			if err := natsjs.NewPublisher(s.js, s.store, there).Send(ctx, "work.back", e, nil); err != nil {
				return err
			}
			s.eventually("the child closes", func() bool { return s.unit(e.CancellationID).State == envelope.Closed })
			return nil
		})
		e, err := envelope.New(t.Context(), s.clock, envelope.Spec{ID: "unit", Limit: whole})
		s.must(err)
		sent = time.Now()
		s.must(s.pub.Send(t.Context(), "work.forth", e, nil))
		d := next(t, forth)
		switch {
		case d.Reason == envelope.RefusedClock && !reference:
			// The message comes from a future that the tolerance does not allow.
		case d.Outcome != budgetattr.OutcomeDone:
			t.Errorf("%+v", d)
		default:
			if d := next(t, back); d.Outcome != budgetattr.OutcomeDone && (reference || d.Reason != envelope.RefusedClock && d.Reason != envelope.RefusedExpired) {
				t.Errorf("%+v", d)
			}
		}
	})
}

// A client library repeats requests and tells nobody: they are counted, and refused beyond the allowance.
func TestT27_AnSDKThatRetriesInside(t *testing.T) {
	s := newSystem(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	client := &http.Client{Transport: budgethttp.NewTransport(nil)}
	library := func(ctx context.Context) error { // ten attempts, whatever anyone else allows
		err := errors.New("unavailable")
		for range 10 {
			req, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
			res, e := client.Do(req)
			if e != nil {
				err = e
				continue
			}
			_ = res.Body.Close()
		}
		return err
	}
	said := s.work("job", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		ctx, err := r.Attempt(ctx, "agent")
		if err != nil {
			return err
		}
		if err := library(ctx); err != nil {
			return &envelope.Again{After: 10 * time.Millisecond, Err: err}
		}
		return nil
	})
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 20 * time.Second, Attempts: 4})
	if d := next(t, said); d.Action != envelope.Ack || d.Outcome != budgetattr.OutcomeFailed {
		t.Errorf("%+v", d)
	}
	if u := s.unit("job"); asked.Load() != 4 || u.Attempts["sdk"] != 3 || u.Attempts["queue"] != 1 {
		t.Errorf("%d requests, %v", asked.Load(), u.Attempts)
	}
	s.checks(nil, "job")
}

// The wait before another delivery fills what is left: there is none, and the answer comes at once.
func TestT28_BackOffFillsTheRest(t *testing.T) {
	s := newSystem(t)
	began := time.Now()
	said := s.work("job", func(context.Context, *envelope.Run, []byte) error {
		return &envelope.Again{After: 8 * time.Second, Err: errors.New("busy")}
	})
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 9 * time.Second, MinUseful: 2 * time.Second, Attempts: 5})
	d := next(t, said)
	if d.Action != envelope.Ack || d.Outcome != budgetattr.OutcomeFailed || time.Since(began) > 7*time.Second {
		t.Errorf("%+v after %v", d, time.Since(began))
	}
	s.checks(nil, "job")
}

// A child that ignores its cancellation is not waited for beyond the clean-up; it is named, counts as running, and confirms
// when it stops. What it brings is late, and its cost is visible.
func TestT29_ChildIgnoresCancellation(t *testing.T) {
	s := newSystem(t)
	release := make(chan struct{})
	running := make(chan struct{})
	children := s.work("child", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		close(running)
		<-release
		r.Spend(ctx, "token", 100)
		return r.SetResult("nobody waits for this")
	})
	parents := s.work("parent", func(ctx context.Context, _ *envelope.Run, _ []byte) error {
		s.send(ctx, "child", envelope.Spec{ID: "child"})
		<-ctx.Done()
		return context.Cause(ctx)
	})
	s.send(t.Context(), "parent", envelope.Spec{ID: "parent", Limit: 60 * time.Second})
	next(t, running)
	units, err := envelope.Cancel(t.Context(), s.store, "parent", envelope.Cancellation{Cause: budgetattr.CauseClientDisconnect, By: "user"})
	if err != nil || len(units) != 2 {
		t.Fatalf("%v, %v", units, err)
	}
	if d := next(t, parents); d.Outcome != budgetattr.OutcomeCancelled {
		t.Errorf("%+v", d)
	}
	if d := next(t, children); d.Outcome != budgetattr.OutcomeCancelled {
		t.Errorf("%+v", d)
	}
	if u := s.unit("parent.child"); u.State != envelope.Closed || u.Confirmed() {
		t.Errorf("a child that goes on has confirmed: %+v", u)
	}
	if e := s.entries("parent.child"); len(e) != 1 || e[0][budgetattr.CancelConfirmedKey].AsBool() || e[0][budgetattr.OpenChildrenKey].AsInt64() != 1 ||
		e[0][budgetattr.CancelCauseKey].AsString() != "client_disconnect" {
		t.Errorf("%v", e)
	}
	if s.count(budgetattr.MetricStillRunning) != 1 {
		t.Error("not in the metrics as still running")
	}
	close(release)
	s.eventually("the child confirms", func() bool { u := s.unit("parent.child"); return u.Confirmed() })
	s.eventually("it runs no more", func() bool { return s.count(budgetattr.MetricStillRunning) == 0 })
	if u := s.unit("parent.child"); u.Result != nil || u.LateCount != 1 || s.count(budgetattr.MetricPostCancelCost) != 100 {
		t.Errorf("%+v", u)
	}
	s.checks(nil, "parent")
}

// The parent has answered without a branch: its result is evidence, and the answer stays.
func TestT30_ResultAfterFanIn(t *testing.T) {
	s := newSystem(t)
	release := make(chan struct{})
	branch := func(_ context.Context, r *envelope.Run, _ []byte) error {
		if r.Envelope().WorkID == "slow" {
			<-release
		}
		return r.SetResult(r.Envelope().WorkID)
	}
	branches := s.work("branch", branch)
	parents := s.work("parent", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		s.send(ctx, "branch", envelope.Spec{ID: "slow"})
		s.send(ctx, "branch", envelope.Spec{ID: "fast"})
		s.eventually("the fast branch closes", func() bool { return s.unit("parent.fast").State == envelope.Closed })
		s.eventually("the slow branch runs", func() bool { return s.unit("parent.slow").State == envelope.Running })
		budget.FromContext(ctx).SetOutcome(budgetattr.OutcomePartial)
		return r.SetResult("fast only")
	})
	s.send(t.Context(), "parent", envelope.Spec{ID: "parent", Limit: 60 * time.Second})
	if d := next(t, parents); d.Outcome != budgetattr.OutcomePartial {
		t.Errorf("%+v", d)
	}
	next(t, branches) // fast
	d := next(t, branches)
	if d.Outcome != budgetattr.OutcomeCancelled {
		t.Errorf("a branch of a closed parent: %+v", d)
	}
	close(release)
	s.eventually("the late result is kept", func() bool { return s.unit("parent.slow").LateCount == 1 })
	if u := s.unit("parent"); u.Outcome != budgetattr.OutcomePartial || string(u.Result) != `"fast only"` {
		t.Errorf("%+v", u)
	}
	if u := s.unit("parent.slow"); u.Result != nil || string(u.Late[0].Result) != `"slow"` {
		t.Errorf("%+v", u)
	}
	s.checks(nil, "parent")
}

// The person says yes when effect and confirmation no longer fit: it is refused, and the state says so.
func TestT31_ApprovalNearExpiry(t *testing.T) {
	for name, c := range map[string]struct {
		effect time.Duration
		want   budgetattr.Outcome
	}{"fits": {100 * time.Millisecond, budgetattr.OutcomeDone}, "does not fit": {time.Minute, budgetattr.OutcomeRejected}} {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t)
			var published atomic.Int32
			said := s.work("job", func(ctx context.Context, r *envelope.Run, _ []byte) error {
				_, err := approval.Ask(ctx, s.store, approval.Approval{ID: "publish", Unit: r.ID(), Object: "briefing", Version: "v1",
					ValidUntil: time.Now().Add(time.Hour), Effect: envelope.Seconds(c.effect), Confirm: envelope.Seconds(50 * time.Millisecond)})
				if err != nil {
					return err
				}
				_, err = approval.Resume(ctx, s.store, "publish", approval.Checks{Version: func(context.Context) (string, error) { return "v1", nil }})
				if refused, ok := errors.AsType[*approval.RefusedError](err); ok {
					if refused.Reason == approval.Unanswered {
						return &envelope.Pause{For: "publish"}
					}
					budget.FromContext(ctx).SetOutcome(budgetattr.OutcomeRejected)
				}
				if err == nil {
					published.Add(1)
				}
				return err
			})
			e := s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 20 * time.Second, Attempts: 1})
			if d := next(t, said); d.Action != envelope.Ack || d.Outcome != "" || s.unit("job").PausedFor != "publish" {
				t.Fatalf("%+v", d)
			}
			_, err := approval.Decide(t.Context(), s.store, "publish", approval.Answer{Approved: true, By: "editor", Version: "v1"})
			s.must(err)
			s.must(s.pub.Send(t.Context(), "work.job", e, []byte("payload")))
			if d := next(t, said); d.Outcome != c.want || (published.Load() == 1) != (c.want == budgetattr.OutcomeDone) {
				t.Errorf("%+v, published %d times", d, published.Load())
			}
			s.checks(nil, "job")
		})
	}
}

// The data is worth nothing before the deadline comes: the nearer of the two governs, and that is recorded.
func TestT32_DataExpiresBeforeTheDeadline(t *testing.T) {
	s := newSystem(t)
	said := s.work("job", func(ctx context.Context, _ *envelope.Run, _ []byte) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: time.Hour, ExpiresAt: time.Now().Add(3 * time.Second)})
	if d := next(t, said); d.Outcome != budgetattr.OutcomeCancelled {
		t.Errorf("%+v", d)
	}
	e := s.entries("job")
	if len(e) != 1 || e[0][budgetattr.GovernedByKey].AsString() != "expiry" || e[0][budgetattr.CancelCauseKey].AsString() != "expiry" {
		t.Errorf("%v", e)
	}
	s.checks(nil, "job")
}

// Cancelled while it waits for another delivery, and while it was never delivered: neither runs.
func TestT34_CancelledUnitIsRedelivered(t *testing.T) {
	s := newSystem(t)
	var runs atomic.Int32
	s.send(t.Context(), "job", envelope.Spec{ID: "waiting", Limit: time.Minute})
	if _, err := envelope.Cancel(t.Context(), s.store, "waiting", envelope.Cancellation{By: "user"}); err != nil {
		t.Fatal(err)
	}
	said := s.work("job", func(_ context.Context, r *envelope.Run, _ []byte) error {
		runs.Add(1)
		return &envelope.Again{After: 300 * time.Millisecond, Err: errors.New("busy")}
	})
	if d := next(t, said); d.Reason != envelope.RefusedCancelled || d.Action != envelope.Ack {
		t.Errorf("%+v", d)
	}
	s.send(t.Context(), "job", envelope.Spec{ID: "again", Limit: time.Minute})
	if d := next(t, said); d.Action != envelope.Retry {
		t.Errorf("%+v", d)
	}
	units, err := envelope.Cancel(t.Context(), s.store, "again", envelope.Cancellation{By: "user"})
	if err != nil || !units[0].Confirmed() {
		t.Errorf("%+v, %v", units, err)
	}
	if d := next(t, said); d.Reason != envelope.RefusedCancelled || runs.Load() != 1 {
		t.Errorf("%+v, %d runs", d, runs.Load())
	}
	if e := s.entries("again"); e[len(e)-1][budgetattr.OutcomeKey].AsString() != "cancelled" || e[len(e)-1][budgetattr.WorkRefusalKey].AsString() != "cancelled" {
		t.Errorf("%v", e)
	}
	s.checks(nil, "waiting", "again")
}

// Neither the way nor its alternative fits: nothing starts, and the unit ends with a state that says so.
func TestT35_TheAlternativeDoesNotFitEither(t *testing.T) {
	s := newSystem(t)
	started := 0
	said := s.work("job", func(ctx context.Context, _ *envelope.Run, _ []byte) error {
		for _, way := range []struct {
			stage    string
			min      time.Duration
			decision budgetattr.Decision
		}{{"generate", 30 * time.Second, budgetattr.DecisionFallback}, {"summary", 20 * time.Second, budgetattr.DecisionPending}} {
			_, hop, err := budget.StartHop(ctx, way.stage, budget.WithMinUseful(way.min), budget.WithRefusal(way.decision))
			if err == nil {
				started++
				hop.End(nil)
			}
		}
		budget.FromContext(ctx).SetOutcome(budgetattr.OutcomeDoneWithPending)
		return nil
	})
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 10 * time.Second})
	if d := next(t, said); d.Outcome != budgetattr.OutcomeDoneWithPending || started != 0 {
		t.Errorf("%+v, %d started", d, started)
	}
	if s.count(budgetattr.MetricRefused) != 2 {
		t.Errorf("%v refused in the metrics", s.count(budgetattr.MetricRefused))
	}
	s.checks(nil, "job")
}

// The main step would use everything: it is cut where the reserve begins, and the end is still told in time.
func TestT37_MainStepEatsTheFinalReserve(t *testing.T) {
	s := newSystem(t)
	s.policy.Reserve = 2 * time.Second
	said := s.work("job", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		mainCtx, hop, err := budget.StartHop(ctx, "main")
		if err != nil {
			return err
		}
		<-mainCtx.Done()
		hop.End(hop.Err(mainCtx.Err()))
		if left := time.Until(r.Envelope().DeadlineAt); left < time.Second {
			t.Errorf("%v left to tell the end", left)
		}
		budget.FromContext(ctx).SetOutcome(budgetattr.OutcomeDegraded)
		return nil
	})
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 4 * time.Second})
	if d := next(t, said); d.Outcome != budgetattr.OutcomeDegraded {
		t.Errorf("%+v", d)
	}
	if e := s.entries("job"); e[0][budgetattr.LateKey].AsBool() || e[0][budgetattr.MarginKey].AsFloat64() <= 0 {
		t.Errorf("%v", e)
	}
	s.checks(nil, "job")
}

// A person may grant what no machine may: a new unit, linked, counted, with its source.
func TestAPersonRegrants(t *testing.T) {
	s := newSystem(t)
	said := s.work("job", func(context.Context, *envelope.Run, []byte) error { return nil })
	old, err := envelope.New(t.Context(), s.clock, envelope.Spec{ID: "job", Limit: time.Millisecond + 20*time.Millisecond})
	s.must(err)
	time.Sleep(time.Until(old.DeadlineAt) + 10*time.Millisecond)
	s.must(s.pub.Send(t.Context(), "work.job", old, nil))
	if d := next(t, said); d.Outcome != budgetattr.OutcomeExpiredInQueue {
		t.Errorf("%+v", d)
	}
	e, err := envelope.Regrant(t.Context(), s.clock, old, "duty manager", envelope.Spec{ID: "job-2", Limit: time.Minute, Reason: "customer waits"})
	s.must(err)
	s.must(s.pub.Send(t.Context(), "work.job", e, nil))
	if d := next(t, said); d.Outcome != budgetattr.OutcomeDone {
		t.Errorf("%+v", d)
	}
	a := s.entries("job-2")[0]
	if a[budgetattr.BudgetSourceKey].AsString() != "regrant" || a[budgetattr.WorkRegrantOfKey].AsString() != "job" ||
		a[budgetattr.WorkGrantedByKey].AsString() != "duty manager" || s.count(budgetattr.MetricRegrants) != 1 {
		t.Errorf("%v", a)
	}
}
