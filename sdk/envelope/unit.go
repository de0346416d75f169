package envelope

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/record"
)

// State is where a unit of work is.
type State string

// The states of a unit.
const (
	Queued  State = "queued"
	Running State = "running"
	Closed  State = "closed"
)

// Unit is what is known of a unit of work beyond its message. It survives restarts and redelivery.
type Unit struct {
	Envelope Envelope `json:"envelope"`
	State    State    `json:"state"`
	// Outcome is the readable final state of a closed unit, Reason says more.
	Outcome budgetattr.Outcome `json:"outcome,omitempty"`
	Reason  string             `json:"reason,omitempty"`
	// Run numbers the executions of the unit. Only the last may close it.
	Run int `json:"run,omitempty"`
	// Attempts, Waited and Costs are those of the envelope and what came on top.
	Attempts map[string]int     `json:"attempts,omitempty"`
	Waited   Seconds            `json:"waited_s,omitempty"`
	Costs    map[string]float64 `json:"costs,omitempty"`

	// PausedFor names what a queued unit waits for, if not for its turn.
	PausedFor string `json:"paused_for,omitempty"`

	QueuedAt  time.Time `json:"queued_at,omitzero"`
	StartedAt time.Time `json:"started_at,omitzero"`
	ClosedAt  time.Time `json:"closed_at,omitzero"`
	// Cancelled is set once the unit was told to stop, StoppedAt once it is known that none of it runs. Until then it counts
	// as possibly still running, closed or not.
	Cancelled *Cancellation `json:"cancelled,omitempty"`
	StoppedAt time.Time     `json:"stopped_at,omitzero"`

	Result json.RawMessage `json:"result,omitempty"`
	// Late keeps results that arrived when the unit was closed or another execution had it: evidence that changes nothing.
	// The first 16 are kept and all counted.
	Late      []Late `json:"late,omitempty"`
	LateCount int    `json:"late_count,omitempty"`
}

// Late is a result that was refused.
type Late struct {
	Run     int                `json:"run"`
	At      time.Time          `json:"at"`
	Outcome budgetattr.Outcome `json:"outcome"`
	Result  json.RawMessage    `json:"result,omitempty"`
}

const maxLate = 16

// ID returns the cancellation id of the unit.
func (u *Unit) ID() string { return u.Envelope.CancellationID }

// Current returns the unit's envelope with the attempts, waiting and costs of all its executions so far.
func (u *Unit) Current() Envelope {
	e := u.Envelope
	if e.AttemptsLeft >= 0 {
		e.AttemptsLeft = max(e.AttemptsLeft-u.made(), 0)
	}
	e.Attempts, e.Waited, e.Costs = maps.Clone(u.Attempts), u.Waited, maps.Clone(u.Costs)
	return e
}

// Confirmed reports whether the unit is known not to run.
func (u *Unit) Confirmed() bool {
	return u.State == Queued || u.State == Closed && !u.StoppedAt.IsZero()
}

// Cancellation says who wants a unit and all below it stopped, and why.
type Cancellation struct {
	// Cause is upstream_cancel if empty.
	Cause budgetattr.Cause `json:"cause"`
	By    string           `json:"by,omitempty"`
	At    time.Time        `json:"at"`
}

// ErrClosed is the error of work on a unit that is closed.
var ErrClosed = errors.New("unit of work is closed")

func unitKey(id string) string   { return "unit." + id }
func cancelKey(id string) string { return "cancel." + id }

// Register records a unit as queued before its message is sent, so that a cancellation finds it. Registering it again
// changes nothing. A unit that is closed, or cancelled at its own or any id above it, must not be sent: ErrClosed.
func Register(ctx context.Context, s record.Store, e Envelope) error {
	if err := e.Validate(); err != nil {
		return err
	}
	u, err := record.Change(ctx, s, unitKey(e.CancellationID), func(u Unit, exists bool) (Unit, error) {
		if exists {
			return u, errUnchanged
		}
		return fresh(e), nil
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return fmt.Errorf("register %s: %w", e.CancellationID, err)
	}
	if u.State == Closed {
		return fmt.Errorf("register %s: %w as %s", e.CancellationID, ErrClosed, u.Outcome)
	}
	c, err := cancelled(ctx, s, e.CancellationID)
	if err != nil || c == nil {
		return err
	}
	if _, err := stopQueued(ctx, s, e.CancellationID, *c); err != nil {
		return err
	}
	return fmt.Errorf("register %s: %w: cancelled", e.CancellationID, ErrClosed)
}

var errUnchanged = errors.New("unchanged")

func fresh(e Envelope) Unit {
	return Unit{Envelope: e, State: Queued, QueuedAt: e.QueuedAt, Attempts: maps.Clone(e.Attempts), Waited: e.Waited, Costs: maps.Clone(e.Costs)}
}

// GetUnit returns what is known of a unit, or an error that wraps [record.ErrNotFound].
func GetUnit(ctx context.Context, s record.Store, id string) (Unit, error) {
	return record.Get[Unit](ctx, s, unitKey(id))
}

// Await returns a unit when it is closed, or as it is when ctx ends, with the cause.
func Await(ctx context.Context, s record.Store, id string) (Unit, error) {
	watch, stop := context.WithCancel(ctx)
	defer stop()
	closed := make(chan Unit, 1)
	err := s.Watch(watch, unitKey(id), func(e record.Entry) {
		var u Unit
		if e.Key == unitKey(id) && json.Unmarshal(e.Value, &u) == nil && u.State == Closed {
			select {
			case closed <- u:
			default:
			}
		}
	})
	if err != nil {
		return Unit{}, fmt.Errorf("await %s: %w", id, err)
	}
	select {
	case u := <-closed:
		return u, nil
	case <-ctx.Done():
		clean, done := budget.Cleanup(ctx)
		defer done()
		u, err := GetUnit(clean, s, id)
		if err == nil && u.State != Closed {
			err = context.Cause(ctx)
		}
		return u, err
	}
}

// Units returns the unit of an id and all below it, by id.
func Units(ctx context.Context, s record.Store, id string) ([]Unit, error) {
	entries, err := s.List(ctx, unitKey(id))
	if err != nil {
		return nil, fmt.Errorf("units of %s: %w", id, err)
	}
	units := make([]Unit, len(entries))
	for i, e := range entries {
		if err := json.Unmarshal(e.Value, &units[i]); err != nil {
			return nil, fmt.Errorf("record %s: %w", e.Key, err)
		}
	}
	return units, nil
}

// Cancel stops the unit of an id and all below it. What is queued is closed at once and will not run, however often it is
// delivered; what runs is told, and confirms when it has stopped; what is closed stays as it is; what would be created below
// is refused. It returns the units as they are then; ask [Units] again for those not yet [Unit.Confirmed]. The first
// cancellation of an id counts.
func Cancel(ctx context.Context, s record.Store, id string, c Cancellation) ([]Unit, error) {
	if c.Cause == "" {
		c.Cause = budgetattr.CauseUpstreamCancel
	}
	if c.At.IsZero() {
		c.At = time.Now()
	}
	c.At = c.At.UTC().Round(0)
	c, err := record.Change(ctx, s, cancelKey(id), func(first Cancellation, exists bool) (Cancellation, error) {
		if exists {
			return first, errUnchanged
		}
		return c, nil
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return nil, fmt.Errorf("cancel %s: %w", id, err)
	}
	units, err := Units(ctx, s, id)
	if err != nil {
		return nil, err
	}
	for i := range units {
		if units[i], err = stopQueued(ctx, s, units[i].ID(), c); err != nil {
			return nil, fmt.Errorf("cancel %s: %w", units[i].ID(), err)
		}
	}
	return units, nil
}

// stopQueued closes a unit that waits and notes on one that runs that it was told.
func stopQueued(ctx context.Context, s record.Store, id string, c Cancellation) (Unit, error) {
	u, err := record.Change(ctx, s, unitKey(id), func(u Unit, exists bool) (Unit, error) {
		if !exists || u.State == Closed || u.State == Running && u.Cancelled != nil {
			return u, errUnchanged
		}
		u.Cancelled = &c
		if u.State == Queued {
			at := time.Now().UTC().Round(0)
			u.close(budgetattr.OutcomeCancelled, "cancelled while it waited", at)
			u.StoppedAt = at
		}
		return u, nil
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return u, err
}

func (u *Unit) close(o budgetattr.Outcome, reason string, at time.Time) {
	u.State, u.Outcome, u.Reason, u.ClosedAt = Closed, o, reason, at
}

// cancelled returns the cancellation of an id or of the nearest above it, or nil.
func cancelled(ctx context.Context, s record.Store, id string) (*Cancellation, error) {
	for {
		c, err := record.Get[Cancellation](ctx, s, cancelKey(id))
		if err == nil {
			return &c, nil
		}
		if !errors.Is(err, record.ErrNotFound) {
			return nil, fmt.Errorf("cancellation of %s: %w", id, err)
		}
		dot := strings.LastIndexByte(id, '.')
		if dot < 0 {
			return nil, nil
		}
		id = id[:dot]
	}
}
