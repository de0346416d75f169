package envelope

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/record"
)

// Run is one execution of a unit of work. It is safe for concurrent use.
type Run struct {
	consumer *Consumer
	envelope Envelope

	mu       sync.Mutex
	entry    *budget.Entry
	stop     *Cancellation
	n        int
	unit     Unit // as it was when the execution began
	attempts *budget.Attempts
	counted  int // attempts that are in the store
	begun    bool
	spent    map[string]float64
	result   json.RawMessage
	children bool
}

type runKey struct{}

// FromContext returns the execution that ctx belongs to, or nil.
func FromContext(ctx context.Context) *Run {
	r, _ := ctx.Value(runKey{}).(*Run)
	return r
}

// ID returns the cancellation id of the unit.
func (r *Run) ID() string { return r.envelope.CancellationID }

// N returns the number of this execution, from 1.
func (r *Run) N() int { return r.n }

// Envelope returns what the unit came with.
func (r *Run) Envelope() Envelope { return r.envelope }

// SetResult keeps a result with the unit, as JSON, when it closes.
func (r *Run) SetResult(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("result of %s: %w", r.ID(), err)
	}
	r.mu.Lock()
	r.result = b
	r.mu.Unlock()
	return nil
}

// Spend adds to the costs of the unit, in a unit of cost such as token. What is spent under a context that has ended is
// recorded as cost after cancellation too.
func (r *Run) Spend(ctx context.Context, unit string, amount float64) {
	r.mu.Lock()
	if r.spent == nil {
		r.spent = map[string]float64{}
	}
	r.spent[unit] += amount
	r.mu.Unlock()
	if ctx.Err() != nil {
		r.entry.CostAfterCancel(unit, amount)
	}
}

// Attempt counts an attempt of a layer inside this execution, durably and before it is made, and returns the context to
// make it in. The first is the execution's own and counted already. Requests that a client library repeats in that context
// without telling count as attempts of layer sdk. The error is [budget.ErrAttempts] if none are left.
func (r *Run) Attempt(ctx context.Context, layer string) (context.Context, error) {
	r.mu.Lock()
	first := !r.begun
	r.begun = true
	r.mu.Unlock()
	if !first {
		_, err := record.Change(ctx, r.consumer.store, unitKey(r.ID()), func(u Unit, _ bool) (Unit, error) {
			switch {
			case u.State == Closed || u.Run != r.n:
				return u, ErrClosed
			case r.envelope.AttemptsLeft >= 0 && u.made() >= r.envelope.AttemptsLeft:
				return u, budget.ErrAttempts
			}
			u.count(layer, 1)
			return u, nil
		})
		if err != nil {
			return ctx, fmt.Errorf("attempt of %s: %w", r.ID(), err)
		}
	}
	ctx, _, ok := r.attempts.Begin(ctx, layer)
	if !ok {
		return ctx, fmt.Errorf("attempt of %s: %w", r.ID(), budget.ErrAttempts)
	}
	r.mu.Lock()
	r.counted++
	r.mu.Unlock()
	return ctx, nil
}

// Delegate returns the context for agents and other children inside this process: it ends when the unit's deadline less its
// synthesis reserve is reached. The caller calls cancel.
func (r *Run) Delegate(ctx context.Context) (context.Context, context.CancelFunc) {
	if left, ok := budget.Remaining(ctx); ok && r.envelope.Synthesis > 0 {
		end := time.Now().Add(left - r.envelope.Synthesis.Duration())
		return context.WithDeadlineCause(ctx, end, budget.CauseError(budgetattr.CauseLocalDeadline))
	}
	return context.WithCancel(ctx)
}

// inherit fills in what a child takes from this unit.
func (r *Run) inherit(child Envelope) Envelope {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.children = true
	child.CancellationID = r.ID() + "." + child.WorkID
	child.ParentID = r.ID()
	child.ExpiresAt, child.NeededBy = r.envelope.ExpiresAt, r.envelope.NeededBy
	child.Attempts, child.Waited, child.Costs = maps.Clone(r.unit.Attempts), r.unit.Waited, maps.Clone(r.unit.Costs)
	for unit, n := range r.spent {
		if child.Costs == nil {
			child.Costs = map[string]float64{}
		}
		child.Costs[unit] += n
	}
	if r.envelope.AttemptsLeft >= 0 {
		child.AttemptsLeft = max(r.envelope.AttemptsLeft-r.unit.made(), 0)
	}
	if child.Owner == "" {
		child.Owner = r.envelope.Owner
	}
	if child.ExpiredTo == "" {
		child.ExpiredTo = r.envelope.ExpiredTo
	}
	return child
}

func (r *Run) adopt(u Unit) {
	r.mu.Lock()
	r.unit, r.n = u, u.Run
	r.mu.Unlock()
}

// start gives the execution its entry, and the cancellation that came before.
func (r *Run) start(ctx context.Context, entry *budget.Entry) {
	limit := 0
	if r.envelope.AttemptsLeft >= 0 {
		limit = max(r.envelope.AttemptsLeft-r.unit.made()+1, 1)
	}
	r.mu.Lock()
	r.entry, r.attempts = entry, budget.NewAttempts(ctx, limit)
	c := r.stop
	r.mu.Unlock()
	if c != nil {
		entry.Cancel(c.Cause)
	}
}

// tell stops the execution because of a cancellation that was recorded.
func (r *Run) tell(e record.Entry) {
	var c Cancellation
	if err := json.Unmarshal(e.Value, &c); err != nil {
		c = Cancellation{At: time.Now()}
	}
	if c.Cause == "" {
		c.Cause = budgetattr.CauseUpstreamCancel
	}
	r.mu.Lock()
	r.stop = &c
	entry := r.entry
	r.mu.Unlock()
	if entry != nil {
		entry.Cancel(c.Cause)
	}
}

// do runs the work, waits for it no longer than its clean-up after the end, and closes the unit.
func (r *Run) do(ctx context.Context, name string, work func(context.Context, *Run) error) Disposition {
	var (
		mu                      sync.Mutex
		started, returned, left bool
	)
	err := budget.Run(ctx, name+" work", func(ctx context.Context) error {
		mu.Lock()
		started = true
		mu.Unlock()
		err := work(ctx, r)
		mu.Lock()
		returned = true
		late := left
		mu.Unlock()
		if late {
			r.stopped(ctx, err)
		}
		return err
	})
	mu.Lock()
	left = started && !returned
	mu.Unlock()
	d := r.finish(ctx, err, !left)
	if d.Action == Ack && d.Outcome == "" && d.Err == nil {
		// Paused: the caller's answer is that it goes on.
		r.entry.SetOutcome(budgetattr.OutcomeDoneWithPending)
		err = nil
	}
	r.entry.End(err)
	return d
}

// finish decides what becomes of the unit and records it.
func (r *Run) finish(ctx context.Context, err error, stopped bool) Disposition {
	outcome := r.entry.Final(err)
	if pause, ok := errors.AsType[*Pause](err); ok && ctx.Err() == nil {
		if d, done := r.requeue(ctx, Disposition{Action: Ack}, pause.For); done {
			return d
		}
	}
	if cause, ended := budget.CauseOf(ctx); ended && cause == budgetattr.CauseShutdown && err != nil {
		// The worker goes, the work stays.
		clean, done := budget.Cleanup(ctx)
		defer done()
		if d, done := r.requeue(clean, Disposition{Action: Retry, Err: err}, ""); done {
			return d
		}
	}
	if again, ok := errors.AsType[*Again](err); ok && outcome == budgetattr.OutcomeFailed && r.fits(ctx, again.After) {
		if d, done := r.requeue(ctx, Disposition{Action: Retry, After: again.After, Err: again.Err}, ""); done {
			return d
		}
	}
	store, done := budget.Cleanup(ctx)
	defer done()
	at := r.consumer.clock.against(r.envelope.Clock).At
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	r.mu.Lock()
	result, stop, children := r.result, r.stop, r.children || r.n > 1
	r.mu.Unlock()
	late := false
	u, storeErr := record.Change(store, r.consumer.store, unitKey(r.ID()), func(u Unit, _ bool) (Unit, error) {
		late = u.State == Closed || u.Run != r.n
		r.settle(&u)
		if late {
			u.late(r.n, at, outcome, result)
			if u.Run == r.n && stopped && u.StoppedAt.IsZero() {
				u.StoppedAt = at
			}
			return u, nil
		}
		u.close(outcome, reason, at)
		if stop != nil && u.Cancelled == nil {
			u.Cancelled = stop
		}
		if stopped {
			u.StoppedAt = at
		}
		u.Result = result
		return u, nil
	})
	if storeErr != nil {
		return Disposition{Action: Retry, After: time.Second, Err: fmt.Errorf("close %s: %w", r.ID(), storeErr)}
	}
	if late {
		r.entry.LateResult()
		return Disposition{Outcome: u.Outcome, Reason: RefusedClosed, Err: err}
	}
	if children {
		if err := r.endChildren(store); err != nil {
			// The next delivery finds the unit closed, and tells them.
			return Disposition{Action: Retry, After: time.Second, Outcome: u.Outcome, Err: err}
		}
	}
	return Disposition{Outcome: u.Outcome, Err: err}
}

// endChildren stops what still waits or runs below a unit that is closed. A unit that was cancelled hands its own cause on:
// which of the two reaches a child first must not change what is recorded.
func (r *Run) endChildren(ctx context.Context) error {
	c := Cancellation{Cause: budgetattr.CauseSuperseded, By: r.ID()}
	r.mu.Lock()
	switch {
	case r.stop != nil:
		c = *r.stop
	case r.unit.Cancelled != nil:
		c = *r.unit.Cancelled
	}
	r.mu.Unlock()
	units, err := Units(ctx, r.consumer.store, r.ID())
	if err != nil {
		return err
	}
	for _, u := range units {
		if u.State == Closed {
			continue
		}
		if _, err := Cancel(ctx, r.consumer.store, u.ID(), c); err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether a redelivery after the wait can still do something.
func (r *Run) fits(ctx context.Context, after time.Duration) bool {
	left, ok := budget.Remaining(ctx)
	return !ok || left-after >= max(r.envelope.MinUseful.Duration(), time.Millisecond)
}

// requeue gives the unit back for another delivery; false if it must close.
func (r *Run) requeue(ctx context.Context, d Disposition, pausedFor string) (Disposition, bool) {
	at := r.consumer.clock.against(r.envelope.Clock).At
	used := errors.New("attempts used up")
	_, err := record.Change(ctx, r.consumer.store, unitKey(r.ID()), func(u Unit, _ bool) (Unit, error) {
		if u.State == Closed || u.Run != r.n || u.Cancelled != nil {
			return u, errUnchanged
		}
		r.settle(&u)
		if pausedFor == "" && r.envelope.AttemptsLeft >= 0 && u.made() >= r.envelope.AttemptsLeft {
			return u, used
		}
		u.State, u.QueuedAt, u.PausedFor = Queued, at, pausedFor
		return u, nil
	})
	switch {
	case err == nil:
		return d, true
	case errors.Is(err, errUnchanged), errors.Is(err, used):
		return Disposition{}, false
	}
	return Disposition{Action: Retry, After: max(d.After, time.Second), Err: err}, true
}

// settle adds to the unit what this execution spent and what its client libraries tried without telling.
func (r *Run) settle(u *Unit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for unit, n := range r.spent {
		if u.Costs == nil {
			u.Costs = map[string]float64{}
		}
		u.Costs[unit] += n
	}
	before := r.unit.total() - 1
	if silent := r.attempts.Total() - before - r.counted; silent > 0 {
		u.count(budget.LayerSDK, silent)
	}
}

func (u *Unit) late(run int, at time.Time, o budgetattr.Outcome, result json.RawMessage) {
	u.LateCount++
	if len(u.Late) < maxLate {
		u.Late = append(u.Late, Late{Run: run, At: at, Outcome: o, Result: result})
	}
}

// stopped records that work which was left behind has returned at last.
func (r *Run) stopped(ctx context.Context, err error) {
	store, done := budget.Cleanup(ctx)
	defer done()
	at := r.consumer.clock.against(r.envelope.Clock).At
	outcome := budgetattr.OutcomeDone
	if err != nil {
		outcome = budgetattr.OutcomeFailed
	}
	r.mu.Lock()
	result := r.result
	r.mu.Unlock()
	_, _ = record.Change(store, r.consumer.store, unitKey(r.ID()), func(u Unit, _ bool) (Unit, error) {
		if u.Run == r.n {
			u.StoppedAt = at
		}
		u.late(r.n, at, outcome, result)
		return u, nil
	})
	r.entry.LateResult()
}
