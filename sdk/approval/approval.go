// Package approval is a durable pause for a person: a question that is stored, not a call that is held open.
//
// The work that needs an approval asks with [Ask] and ends its execution with [envelope.Pause]. Whoever takes the person's
// answer stores it with [Decide] and sends the unit's envelope again. The work then goes through [Resume], which trusts
// nothing it knew before the pause: it looks anew whether the unit is open, the approval valid and for the version shown,
// the data unchanged, and the time enough for the effect and its confirmation.
package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

// Approval is one question to a person and, later, the answer.
type Approval struct {
	// ID names the approval, Unit is the cancellation id of the unit of work that waits.
	ID   string `json:"id"`
	Unit string `json:"unit"`
	// Object is what is to be approved, in the version that is shown.
	Object   string    `json:"object"`
	Version  string    `json:"version"`
	Question string    `json:"question,omitempty"`
	AskedAt  time.Time `json:"asked_at"`
	// ValidUntil ends the time in which the approval may be answered and used.
	ValidUntil time.Time `json:"valid_until"`
	// Effect and Confirm are what the approved effect and its confirmation need.
	Effect  envelope.Seconds `json:"effect_s"`
	Confirm envelope.Seconds `json:"confirm_s"`
	Answer  *Answer          `json:"answer,omitempty"`
}

// Answer is what a person said.
type Answer struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
	// Version is the version of the object that the person saw.
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	Note    string    `json:"note,omitempty"`
}

// Reason says why an approval is of no use.
type Reason string

// The reasons.
const (
	Unanswered  Reason = "unanswered"
	Denied      Reason = "denied"
	Expired     Reason = "expired"
	UnitClosed  Reason = "unit_closed"
	OtherObject Reason = "version_changed"
	DataChanged Reason = "data_changed"
	NoTime      Reason = "no_time"
)

// ErrRefused is found in every [*RefusedError].
var ErrRefused = errors.New("approval refused")

// ErrConflict says that an approval's ID stands for another unit or object.
var ErrConflict = errors.New("approval id stands for another question")

// RefusedError says why the approved effect must not be made.
type RefusedError struct {
	ID     string
	Reason Reason
	// Err says more; it is an [*budget.ExhaustedError] for NoTime.
	Err error
}

// Error names approval and reason.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("approval %s refused: %s", e.ID, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is makes errors.Is find [ErrRefused].
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap returns what says more.
func (e *RefusedError) Unwrap() error { return e.Err }

func key(id string) string { return "approval." + id }

// Ask stores a question. Asking again under the same ID changes nothing and returns what is stored, so that an execution
// that is repeated asks once. An ID is for one unit and object; for another the error is ErrConflict.
func Ask(ctx context.Context, s record.Store, a Approval) (Approval, error) {
	switch {
	case a.Unit == "" || a.Object == "" || a.Version == "":
		return a, fmt.Errorf("approval %s: unit, object and version are required", a.ID)
	case a.ValidUntil.IsZero():
		return a, fmt.Errorf("approval %s: valid until when?", a.ID)
	case a.Effect < 0 || a.Confirm < 0:
		return a, fmt.Errorf("approval %s: a duration is negative", a.ID)
	}
	a.Answer = nil
	if a.AskedAt.IsZero() {
		a.AskedAt = time.Now()
	}
	a.AskedAt, a.ValidUntil = a.AskedAt.UTC().Round(0), a.ValidUntil.UTC().Round(0)
	return record.Change(ctx, s, key(a.ID), func(old Approval, exists bool) (Approval, error) {
		if exists && (old.Unit != a.Unit || old.Object != a.Object) {
			return old, fmt.Errorf("approval %s: %w: %s of %s", a.ID, ErrConflict, old.Object, old.Unit)
		}
		if exists {
			return old, nil
		}
		return a, nil
	})
}

// Get returns an approval.
func Get(ctx context.Context, s record.Store, id string) (Approval, error) {
	return record.Get[Approval](ctx, s, key(id))
}

// Decide stores a person's answer; the first one counts. It is refused if the approval has expired, and if the person saw
// another version than the one that was asked about.
func Decide(ctx context.Context, s record.Store, id string, answer Answer) (Approval, error) {
	if answer.By == "" {
		return Approval{}, fmt.Errorf("approval %s: who answers?", id)
	}
	answer.At = time.Now().UTC().Round(0)
	return record.Change(ctx, s, key(id), func(a Approval, exists bool) (Approval, error) {
		switch {
		case !exists:
			return a, fmt.Errorf("approval %s: %w", id, record.ErrNotFound)
		case a.Answer != nil:
			return a, nil
		case answer.At.After(a.ValidUntil):
			return a, &RefusedError{ID: id, Reason: Expired}
		case answer.Version != a.Version:
			return a, &RefusedError{ID: id, Reason: OtherObject}
		}
		a.Answer = &answer
		return a, nil
	})
}

// Checks are what [Resume] looks at beyond what is stored.
type Checks struct {
	// Version returns the present version of the object.
	Version func(context.Context) (string, error)
	// Data, if given, returns an error that says which of the data the question rested on has changed.
	Data func(context.Context) error
}

// Resume returns an approval that may be used now, or a [*RefusedError]. An approval that nobody has answered yet is
// refused as Unanswered: pause again. Under the context of a unit of work, only its own approvals and those of the units
// above it are of use: of another the error is ErrConflict.
func Resume(ctx context.Context, s record.Store, id string, checks Checks) (Approval, error) {
	if ctx.Err() != nil {
		cause, _ := budget.CauseOf(ctx)
		return Approval{}, budget.CauseError(cause)
	}
	a, err := Get(ctx, s, id)
	if err != nil {
		return a, fmt.Errorf("approval %s: %w", id, err)
	}
	if run := envelope.FromContext(ctx); run != nil && !record.Below(run.ID(), a.Unit) {
		return a, fmt.Errorf("approval %s: %w: %s of %s", id, ErrConflict, a.Object, a.Unit)
	}
	refuse := func(r Reason, err error) (Approval, error) { return a, &RefusedError{ID: id, Reason: r, Err: err} }
	now := time.Now()
	switch {
	case now.After(a.ValidUntil):
		return refuse(Expired, nil)
	case a.Answer == nil:
		return refuse(Unanswered, nil)
	case !a.Answer.Approved:
		return refuse(Denied, nil)
	case a.Answer.Version != a.Version:
		return refuse(OtherObject, nil)
	}
	unit, err := envelope.GetUnit(ctx, s, a.Unit)
	switch {
	case err != nil && !errors.Is(err, record.ErrNotFound):
		return a, fmt.Errorf("approval %s: unit %s: %w", id, a.Unit, err)
	case err != nil || unit.State == envelope.Closed || unit.Cancelled != nil:
		return refuse(UnitClosed, err)
	}
	version, err := checks.Version(ctx)
	if err != nil {
		return a, fmt.Errorf("approval %s: version of %s: %w", id, a.Object, err)
	}
	if version != a.Version {
		return refuse(OtherObject, nil)
	}
	if checks.Data != nil {
		if err := checks.Data(ctx); err != nil {
			return refuse(DataChanged, err)
		}
	}
	// Last, because the checks took time: both the budget and the approval's own validity must cover what follows.
	need := a.Effect.Duration() + a.Confirm.Duration()
	left, bounded := budget.Remaining(ctx)
	if valid := time.Until(a.ValidUntil); !bounded || valid < left {
		left = valid
	}
	if left < need {
		return refuse(NoTime, &budget.ExhaustedError{
			Stage: a.Object, Cause: budgetattr.CauseLocalDeadline, Refused: true, Allowance: max(left, 0), Floor: need, Remaining: left, HasRemaining: true,
		})
	}
	return a, nil
}
