package envelope

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/record"
)

// ErrInvalid is found in the error of an envelope that cannot be believed. Such work must not run.
var ErrInvalid = errors.New("invalid envelope")

// Envelope is what a unit of work carries while it waits. It is a plain value; copies share the maps, which nobody changes
// once it is written. schema.json describes its JSON form.
type Envelope struct {
	// WorkID names the unit. CancellationID is the path of work ids from the root of its tree, joined by dots, and ParentID
	// the execution that created it, the cancellation id of the parent unit or any other name.
	WorkID         string `json:"work_id"`
	CancellationID string `json:"cancellation_id"`
	ParentID       string `json:"parent_id,omitempty"`

	// CreatedAt is when the unit was made, QueuedAt when it was last handed to a broker. All instants are UTC, by the clock
	// of the reference that Clock names, or of the machine that wrote them if it is empty.
	CreatedAt time.Time `json:"created_at"`
	QueuedAt  time.Time `json:"queued_at"`
	Clock     string    `json:"clock,omitempty"`
	// DeadlineAt ends the budget. ExpiresAt, if there is one, ends the worth of the data, permission or quote it rests on.
	DeadlineAt time.Time `json:"deadline_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`
	// NeededBy is the business instant the result is for. It governs nothing.
	NeededBy time.Time `json:"needed_by,omitzero"`

	Class string `json:"class,omitempty"`
	// MinUseful is the smallest remainder with which the unit is worth starting. Synthesis is kept for the unit's own end:
	// its children cannot spend it.
	MinUseful Seconds `json:"min_useful_s,omitempty"`
	Synthesis Seconds `json:"synthesis_reserve_s,omitempty"`

	// Attempts counts what was tried, by layer; AttemptsLeft is how many more there may be over all layers, or -1 for any.
	Attempts     map[string]int `json:"attempts,omitempty"`
	AttemptsLeft int            `json:"attempts_left"`
	// Waited is the time spent waiting so far, Costs what was spent so far by unit of cost.
	Waited Seconds            `json:"waited_s,omitempty"`
	Costs  map[string]float64 `json:"costs,omitempty"`

	Owner string `json:"owner,omitempty"`
	// ExpiredTo is the destination of the work when it has expired; empty means that it is only recorded.
	ExpiredTo string `json:"expired_to,omitempty"`
	Reason    string `json:"reason,omitempty"`

	// RegrantOf is the cancellation id of the unit that a person gave a new deadline by this one, GrantedBy that person,
	// and Regrants how often that was done for the work.
	RegrantOf string `json:"regrant_of,omitempty"`
	GrantedBy string `json:"granted_by,omitempty"`
	Regrants  int    `json:"regrants,omitempty"`
}

// Seconds is a duration that JSON shows as a number of seconds.
type Seconds time.Duration

// Duration returns the duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) }

// Spec says what a new unit is to be. Only ID is required, and Limit where nothing else bounds the work.
type Spec struct {
	// ID names the unit among its siblings. The same ID for the same work makes sending it twice harmless.
	ID string
	// Limit is the longest time from now that the unit may take. Zero means what is left of the parent.
	Limit time.Duration
	// Reserve is left to the parent after the unit, on top of a parent unit's synthesis reserve.
	Reserve time.Duration
	// ExpiresAt and NeededBy are instants by this machine's clock.
	ExpiresAt, NeededBy  time.Time
	Class                string
	MinUseful, Synthesis time.Duration
	// Attempts is how many there may be over all layers; zero means no more than the parent has left.
	Attempts                 int
	Owner, ExpiredTo, Reason string
}

// New returns the envelope of a unit handed on from ctx: a child of the unit that runs under ctx if there is one. Its
// deadline is never after the parent's less all reserves. The error is that of a hop that is refused: an
// [*budget.ExhaustedError] if less than MinUseful is left, the cause if ctx has ended, so that nothing cancelled derives
// new work.
func New(ctx context.Context, clock *Clock, spec Spec) (Envelope, error) {
	if ctx.Err() != nil {
		cause, _ := budget.CauseOf(ctx)
		return Envelope{}, budget.CauseError(cause)
	}
	now := clock.Read()
	left, bounded := budget.Remaining(ctx)
	e := Envelope{
		WorkID: spec.ID, CancellationID: spec.ID, CreatedAt: now.At, QueuedAt: now.At, Clock: now.Reference,
		Class: spec.Class, MinUseful: Seconds(spec.MinUseful), Synthesis: Seconds(spec.Synthesis),
		AttemptsLeft: -1, Owner: spec.Owner, ExpiredTo: spec.ExpiredTo, Reason: spec.Reason,
	}
	reserve := spec.Reserve
	run := FromContext(ctx)
	if run != nil {
		e = run.inherit(e)
		reserve += run.envelope.Synthesis.Duration()
	}
	if spec.Attempts > 0 && (e.AttemptsLeft < 0 || spec.Attempts < e.AttemptsLeft) {
		e.AttemptsLeft = spec.Attempts
	}
	left -= reserve
	if spec.Limit > 0 && (!bounded || spec.Limit < left) {
		left, bounded = spec.Limit, true
	}
	if !bounded {
		return Envelope{}, fmt.Errorf("%w: %s has no limit: give Spec.Limit or a context with a budget", ErrInvalid, spec.ID)
	}
	if now.Reference != "" {
		// What this clock may be ahead of the reference, the reader must not gain.
		left -= now.Unsure
	}
	if left <= 0 || left < spec.MinUseful {
		return Envelope{}, &budget.ExhaustedError{
			Stage: spec.ID, Cause: budgetattr.CauseLocalDeadline, Refused: true, Allowance: max(left, 0), Floor: spec.MinUseful,
			Remaining: left + reserve, HasRemaining: true,
		}
	}
	e.DeadlineAt = now.At.Add(left)
	if run != nil && run.envelope.Clock != e.Clock && !e.ExpiresAt.IsZero() {
		// Instants of another clock say nothing here; what they leave does.
		e.ExpiresAt = now.At.Add(run.envelope.left(e.ExpiresAt, clock.against(run.envelope.Clock)))
		if now.Reference != "" {
			e.ExpiresAt = e.ExpiresAt.Add(-now.Unsure)
		}
	}
	if run != nil && run.envelope.Clock == e.Clock {
		e.DeadlineAt = earlier(e.DeadlineAt, run.envelope.DeadlineAt.Add(-reserve))
	}
	shift := now.At.Sub(clock.now())
	e.ExpiresAt = earlier(e.ExpiresAt, shifted(spec.ExpiresAt, shift))
	e.NeededBy = earlier(e.NeededBy, shifted(spec.NeededBy, shift))
	return e, e.Validate()
}

func shifted(at time.Time, by time.Duration) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(by).UTC().Round(0)
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Regrant returns a new unit for the work of an old one, with a new deadline that a person grants. It is no child: it is
// linked to the old unit, starts from its counters of attempts, waiting and costs, and its records say who granted it and
// why. Spec.Limit is the time granted, and Spec.Attempts, if given, replaces what the old unit had left. Give the envelope
// of [Unit.Current], which counts what was done since it was sent. Close or cancel the old unit, or both may run.
func Regrant(ctx context.Context, clock *Clock, old Envelope, by string, spec Spec) (Envelope, error) {
	if by == "" || spec.Reason == "" || spec.Limit <= 0 {
		return Envelope{}, fmt.Errorf("%w: a regrant of %s needs who grants it, a reason and a limit", ErrInvalid, old.WorkID)
	}
	// The person's grant rests on nothing that is left.
	e, err := New(Detach(ctx, spec.ID), clock, spec)
	if err != nil {
		return Envelope{}, err
	}
	e.CancellationID, e.ParentID = spec.ID, old.ParentID
	e.Attempts, e.Waited, e.Costs = maps.Clone(old.Attempts), old.Waited, maps.Clone(old.Costs)
	if spec.Attempts == 0 {
		e.AttemptsLeft = old.AttemptsLeft
	}
	e.RegrantOf, e.GrantedBy, e.Regrants = old.CancellationID, by, old.Regrants+1
	return e, e.Validate()
}

// Detach is [budget.Detach] that leaves the unit of ctx as well: what is made under it is no child, and does not end with it.
func Detach(ctx context.Context, id string) context.Context {
	return context.WithValue(budget.Detach(ctx, id), runKey{}, (*Run)(nil))
}

// delivered returns the envelope that governs a unit which is on record and whose message says m: whoever sends it again can
// take from its time and add to nothing.
func (e Envelope) delivered(m Envelope) Envelope {
	if m.Clock != e.Clock {
		return e
	}
	if m.QueuedAt.After(e.QueuedAt) {
		e.QueuedAt = m.QueuedAt
	}
	e.DeadlineAt, e.ExpiresAt = earlier(e.DeadlineAt, m.DeadlineAt), earlier(e.ExpiresAt, m.ExpiresAt)
	return e
}

// Validate reports the first thing that makes the envelope unbelievable.
func (e *Envelope) Validate() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, a...))
	}
	if err := record.CheckName(e.WorkID); err != nil {
		return bad("work_id: %v", err)
	}
	if err := record.CheckKey(e.CancellationID); err != nil {
		return bad("cancellation_id: %v", err)
	}
	if last := e.CancellationID[strings.LastIndexByte(e.CancellationID, '.')+1:]; last != e.WorkID {
		return bad("cancellation_id %q does not end in work_id %q", e.CancellationID, e.WorkID)
	}
	switch {
	case e.CreatedAt.IsZero() || e.QueuedAt.IsZero() || e.DeadlineAt.IsZero():
		return bad("created_at, queued_at and deadline_at are required")
	case e.DeadlineAt.Before(e.CreatedAt):
		return bad("deadline_at is before created_at")
	case e.QueuedAt.Before(e.CreatedAt):
		return bad("queued_at is before created_at")
	case e.MinUseful < 0 || e.Synthesis < 0 || e.Waited < 0:
		return bad("a duration is negative")
	case max(e.MinUseful, e.Synthesis, e.Waited) > century || e.DeadlineAt.Sub(e.CreatedAt) > century.Duration():
		return bad("a duration is longer than a century")
	case e.AttemptsLeft < -1 || e.AttemptsLeft > maxAttempts:
		return bad("attempts_left is %d", e.AttemptsLeft)
	case e.Regrants < 0 || (e.RegrantOf == "") != (e.GrantedBy == "") || (e.RegrantOf == "") != (e.Regrants == 0):
		return bad("regrant_of, granted_by and regrants belong together")
	}
	for layer, n := range e.Attempts {
		if n < 0 || n > maxAttempts || layer == "" {
			return bad("attempts of layer %q are %d", layer, n)
		}
	}
	for unit, n := range e.Costs {
		if !(n >= 0 && n < 1e18) || unit == "" {
			return bad("costs of unit %q are %v", unit, n)
		}
	}
	return nil
}

// Beyond these nobody means what the envelope says, and sums could overflow.
const (
	century     = Seconds(100 * 365 * 24 * time.Hour)
	maxAttempts = 1_000_000_000
)

// governing is the nearer of deadline and expiry.
func (e *Envelope) governing() time.Time { return earlier(e.DeadlineAt, e.ExpiresAt) }

// left is what remains to an instant of the envelope at a reading, without what the clocks may differ. It is never more than
// there was when the work was queued.
func (e *Envelope) left(to time.Time, now Reading) time.Duration {
	return max(min(to.Sub(now.At), to.Sub(e.QueuedAt)), -century.Duration()) - now.Unsure
}

// source says where the budget comes from.
func (e *Envelope) source() budgetattr.Source {
	if e.RegrantOf != "" {
		return budgetattr.SourceRegrant
	}
	return budgetattr.SourceEnvelope
}

func (e *Envelope) attempts() int {
	total := 0
	for _, n := range e.Attempts {
		total += n
	}
	return total
}
