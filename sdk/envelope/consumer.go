package envelope

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/record"
)

// Delivery is one message that a broker delivered.
type Delivery struct {
	Envelope Envelope
	// Name names the kind of work: the entry span and the route of its metrics.
	Name string
	// Headers carry the trace context; nil if there is none.
	Headers propagation.TextMapCarrier
	// Attributes are added to the entry span.
	Attributes []attribute.KeyValue
	// First says that the broker has never delivered this message before, so that an execution of its unit which still shows
	// as running is another message's and may live: the delivery waits for its turn. Leave it false if the broker cannot tell.
	First bool
}

// Action is what is to be done with a message.
type Action uint8

const (
	// Ack: the message is done with.
	Ack Action = iota
	// Retry: deliver it again, not before Disposition.After.
	Retry
	// Route: send it to Disposition.To, then acknowledge it here.
	Route
)

// Disposition says what became of a delivery.
type Disposition struct {
	Action Action
	After  time.Duration
	To     string
	// Outcome and Reason are those of the unit, Outcome empty if it is not closed.
	Outcome budgetattr.Outcome
	Reason  Refusal
	// Err is what went wrong, if anything did.
	Err error
}

// Refusal says why a delivered unit did not run.
type Refusal string

// The refusals.
const (
	RefusedExpired   Refusal = "expired"       // less than its minimum was left
	RefusedClock     Refusal = "clock_unknown" // the clocks may differ by as much as is left
	RefusedCancelled Refusal = "cancelled"
	RefusedClosed    Refusal = "closed" // it was done before
	RefusedAttempts  Refusal = "attempts"
)

// Again asks for another delivery after an error that does no harm to repeat. It is granted if attempts are left and the
// time fits.
type Again struct {
	After time.Duration
	Err   error
}

// Error returns the text of the error.
func (a *Again) Error() string { return a.Err.Error() }

// Unwrap returns the error.
func (a *Again) Unwrap() error { return a.Err }

// Pause is the error of work that waits for something outside, such as a person's approval, without an open call. The unit
// stays open, its message is done with, and whoever has the answer sends the envelope again. Clock and counters go on; the
// way back counts as no attempt.
type Pause struct {
	// For names what is waited for.
	For string
}

// Error says what is waited for.
func (p *Pause) Error() string { return "paused for " + p.For }

// Consumer runs units of work that a broker delivers. It is safe for concurrent use.
type Consumer struct {
	edge  *budget.Edge
	store record.Store
	clock *Clock

	mu   sync.Mutex
	runs map[*Run]struct{}
}

// NewConsumer returns a consumer that keeps its units in the store. Envelopes are believed like a caller inside: the
// policy's Max clamps them, and nothing raises or defaults them. ctx ends the watch for cancellations, and with it those of
// work still running; let it outlive the work.
func NewConsumer(ctx context.Context, policy budget.Policy, store record.Store, clock *Clock, opts ...budget.Option) (*Consumer, error) {
	policy.Trust, policy.Min = budget.TrustInternal, 0
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	c := &Consumer{edge: budget.NewEdge(policy, opts...), store: store, clock: clock, runs: map[*Run]struct{}{}}
	if err := store.Watch(ctx, "cancel", c.found); err != nil {
		return nil, fmt.Errorf("watch cancellations: %w", err)
	}
	return c, nil
}

// found tells the units that run under a cancelled id.
func (c *Consumer) found(e record.Entry) {
	var told []*Run
	id := e.Key[len("cancel."):]
	c.mu.Lock()
	for r := range c.runs {
		if record.Below(r.ID(), id) {
			told = append(told, r)
		}
	}
	c.mu.Unlock()
	for _, r := range told {
		r.tell(e)
	}
}

// Handle checks a delivery and, if it may run, runs work under what is left of its budget. It returns what to do with the
// message; whoever adapts a broker does that, and need know nothing else. A ctx cancelled with the cause shutdown (see
// [budget.CauseError]) ends the execution and leaves the unit to another. Work that does not stop after its end is waited
// for no longer than the policy's clean-up: then the unit closes without it, counts as possibly still running until it
// returns, and its result is late.
func (c *Consumer) Handle(ctx context.Context, d Delivery, work func(context.Context, *Run) error) Disposition {
	e := d.Envelope
	if err := e.Validate(); err != nil {
		return routed(e.ExpiredTo, Disposition{Outcome: budgetattr.OutcomeRejected, Err: err})
	}
	held, err := GetUnit(ctx, c.store, e.CancellationID)
	switch {
	case err == nil:
		if d.First && held.State == Running {
			return Disposition{Action: Retry, After: turn}
		}
		e = held.Envelope.delivered(e)
	case !errors.Is(err, record.ErrNotFound):
		return Disposition{Action: Retry, After: time.Second, Err: err}
	}
	d.Envelope = e
	now := c.clock.against(e.Clock)
	run := &Run{consumer: c, envelope: e}
	c.add(run)
	defer c.remove(run)
	u, refusal, err := c.begin(ctx, run, c.checkTime(e, now), now)
	if err != nil {
		return Disposition{Action: Retry, After: time.Second, Err: err}
	}
	run.adopt(u)
	if d.Headers != nil {
		ctx = propagation.TraceContext{}.Extract(ctx, d.Headers)
	}
	// Opening the execution took time of the unit's own.
	ctx, entry, _ := c.edge.Start(ctx, c.arrival(d, u, refusal, c.clock.against(e.Clock)))
	entry.SetRoute(d.Name)
	run.start(ctx, entry)
	if refusal != "" {
		entry.SetOutcome(refusal.outcome())
		disposition := Disposition{Outcome: u.Outcome, Reason: refusal}
		// Whoever closed the unit may have died before its children were told and its message was routed.
		if why := Refusal(u.Reason); (why == RefusedExpired || why == RefusedClock) && u.Outcome == why.outcome() {
			disposition.Reason = why
			disposition = routed(e.ExpiredTo, disposition)
		}
		if u.Run > 0 {
			if err := run.endChildren(context.WithoutCancel(ctx)); err != nil {
				disposition.Action, disposition.After, disposition.Err = Retry, time.Second, err
			}
		}
		entry.End(nil)
		return disposition
	}
	return run.do(context.WithValue(ctx, runKey{}, run), d.Name, work)
}

// turn is how long a delivery waits that finds its unit running.
const turn = 200 * time.Millisecond

// routed makes a disposition send the message on, if there is a destination.
func routed(to string, d Disposition) Disposition {
	if to != "" {
		d.Action, d.To = Route, to
	}
	return d
}

func (r Refusal) outcome() budgetattr.Outcome {
	switch r {
	case RefusedExpired:
		return budgetattr.OutcomeExpiredInQueue
	case RefusedCancelled:
		return budgetattr.OutcomeCancelled
	}
	return budgetattr.OutcomeRejected
}

// checkTime says whether the time left is worth starting with, by the clocks.
func (c *Consumer) checkTime(e Envelope, now Reading) Refusal {
	if c.edge.Policy().Control.Mode() != budgetattr.ModeEnforce {
		return ""
	}
	raw := e.governing().Sub(now.At)
	switch referred := e.Clock != "" && now.Reference == e.Clock; {
	case !referred && e.QueuedAt.Sub(now.At) > now.Unsure:
		return RefusedClock // written in our future: the clocks differ by more than they may
	case raw <= 0:
		return RefusedExpired
	case raw < now.Unsure && !referred:
		return RefusedClock
	case e.left(e.governing(), now) < max(e.MinUseful.Duration(), 1):
		return RefusedExpired
	}
	return ""
}

// begin opens an execution of the unit, or closes the unit if it must not run.
func (c *Consumer) begin(ctx context.Context, run *Run, refusal Refusal, now Reading) (Unit, Refusal, error) {
	e := run.envelope
	// The mark is read after the run is among those that the watch tells, and before the unit shows as running.
	mark, err := cancelled(ctx, c.store, e.CancellationID)
	if err != nil {
		return Unit{}, "", err
	}
	var why Refusal
	u, err := record.Change(ctx, c.store, unitKey(e.CancellationID), func(u Unit, exists bool) (Unit, error) {
		if !exists {
			u = fresh(e)
		}
		why = refusal
		switch {
		case u.State == Closed && u.Outcome == budgetattr.OutcomeCancelled:
			why = RefusedCancelled
			return u, errUnchanged
		case u.State == Closed:
			why = RefusedClosed
			return u, errUnchanged
		case mark != nil || u.Cancelled != nil:
			// Of an execution before that died nothing runs any more.
			why = RefusedCancelled
			if u.Cancelled == nil {
				u.Cancelled = mark
			}
			u.close(budgetattr.OutcomeCancelled, "cancelled before it ran", now.At)
			u.StoppedAt = now.At
			return u, nil
		case why == "" && u.PausedFor == "" && e.AttemptsLeft >= 0 && u.made() >= e.AttemptsLeft:
			why = RefusedAttempts
		}
		if why != "" {
			u.close(why.outcome(), string(why), now.At)
			u.StoppedAt = now.At
			if why == RefusedAttempts {
				u.Outcome = budgetattr.OutcomeFailed
			}
			return u, nil
		}
		u.Waited += Seconds(u.wait(now))
		if u.PausedFor == "" {
			u.count(LayerQueue, 1)
		}
		u.State, u.Run, u.StartedAt, u.PausedFor = Running, u.Run+1, now.At, ""
		return u, nil
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return u, why, err
}

// LayerQueue is the layer of attempts made by delivering a unit.
const LayerQueue = "queue"

// made is the number of attempts since the envelope was written.
func (u *Unit) made() int {
	n := -u.Envelope.attempts()
	for _, k := range u.Attempts {
		n += k
	}
	return n
}

func (u *Unit) count(layer string, n int) {
	if u.Attempts == nil {
		u.Attempts = map[string]int{}
	}
	u.Attempts[layer] += n
}

// wait is how long the unit has waited since it was queued, or since an execution that died began.
func (u *Unit) wait(now Reading) time.Duration {
	since := u.QueuedAt
	if u.StartedAt.After(since) {
		since = u.StartedAt
	}
	return max(now.At.Sub(since), 0)
}

// arrival describes the delivery to the edge.
func (c *Consumer) arrival(d Delivery, u Unit, refusal Refusal, now Reading) budget.Arrival {
	e := d.Envelope
	kv := append([]attribute.KeyValue{
		attribute.String(budgetattr.WorkIDKey, e.CancellationID),
		attribute.Int(budgetattr.WorkRunKey, u.Run),
	}, d.Attributes...)
	for _, p := range [...]struct{ key, value string }{
		{budgetattr.WorkParentKey, e.ParentID}, {budgetattr.WorkRefusalKey, string(refusal)}, {budgetattr.WorkReasonKey, e.Reason},
		{budgetattr.WorkRegrantOfKey, e.RegrantOf}, {budgetattr.WorkGrantedByKey, e.GrantedBy},
		{budgetattr.PayloadClassKey, e.Class},
	} {
		if p.value != "" {
			kv = append(kv, attribute.String(p.key, p.value))
		}
	}
	a := budget.Arrival{
		Name: d.Name, Kind: trace.SpanKindConsumer, Attributes: kv, Ask: budget.LimitOf(e.left(e.DeadlineAt, now)), Source: e.source(),
		EnvelopeWait: u.lastWait(now), Attempt: u.total(),
	}
	if !e.ExpiresAt.IsZero() {
		// In terms of this process's own clock, which is the one the edge reads.
		a.Expiry = time.Now().Add(e.left(e.ExpiresAt, now))
	}
	return a
}

// lastWait is what this delivery added to the wait, also if the unit did not run.
func (u *Unit) lastWait(now Reading) time.Duration {
	if u.State == Running {
		return max(now.At.Sub(u.QueuedAt), 0)
	}
	return u.wait(now)
}

func (u *Unit) total() int {
	n := 0
	for _, k := range u.Attempts {
		n += k
	}
	return max(n, 1)
}

func (c *Consumer) add(r *Run) {
	c.mu.Lock()
	c.runs[r] = struct{}{}
	c.mu.Unlock()
}

func (c *Consumer) remove(r *Run) {
	c.mu.Lock()
	delete(c.runs, r)
	c.mu.Unlock()
}
