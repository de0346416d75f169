package budget

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// ErrExhausted is found by errors.Is in every error that means that time ran out, or would have.
var ErrExhausted = errors.New("budget exhausted")

// ExhaustedError says that a budget, an expiry or a limit of a hop ended the work, or that the work was refused because
// the time left was not worth starting with. It is a timeout to the standard library. Read it, do not change it: one
// value may be the cause of several contexts.
type ExhaustedError struct {
	// Stage is the hop that ended or was refused; empty for the request itself.
	Stage string
	// Cause is local_deadline, upstream_deadline, expiry or stream_idle.
	Cause budgetattr.Cause
	// Phase is the part of the call in which time ran out; empty if not known.
	Phase budgetattr.Phase
	// Binding is the term that bound the hop; empty for the request itself.
	Binding budgetattr.Binding
	// Refused says that the work was never started. Then Allowance did not reach Floor.
	Refused          bool
	Allowance, Floor time.Duration
	// Remaining is what was left of the governing limit, if HasRemaining. It is above zero where a hop used up its own
	// slice and the request goes on.
	Remaining    time.Duration
	HasRemaining bool
}

// Error names stage, phase and what was left.
func (e *ExhaustedError) Error() string {
	var b strings.Builder
	b.WriteString("budget exhausted")
	if e.Stage != "" {
		b.WriteString(": " + e.Stage)
	}
	if e.Refused {
		b.WriteString(": refused, allowance " + e.Allowance.String() + " below " + max(e.Floor, 1).String())
	}
	if e.Phase != "" {
		b.WriteString(": in phase " + string(e.Phase))
	}
	b.WriteString(" (" + string(e.Cause))
	if e.Binding != "" {
		b.WriteString(", bound by " + string(e.Binding))
	}
	if e.HasRemaining {
		b.WriteString(", " + e.Remaining.String() + " left")
	}
	b.WriteByte(')')
	return b.String()
}

// Is makes errors.Is find [ErrExhausted] and context.DeadlineExceeded.
func (e *ExhaustedError) Is(target error) bool {
	return target == ErrExhausted || target == context.DeadlineExceeded
}

// Timeout is true: time ran out.
func (e *ExhaustedError) Timeout() bool { return true }

// Temporary is false: the same budget will not come back.
func (e *ExhaustedError) Temporary() bool { return false }

// CancelledError says that work was cancelled for a reason other than time. errors.Is finds context.Canceled in it.
type CancelledError struct{ Cause budgetattr.Cause }

// Error names the cause.
func (e *CancelledError) Error() string { return "cancelled: " + string(e.Cause) }

// Is makes errors.Is find context.Canceled.
func (e *CancelledError) Is(target error) bool { return target == context.Canceled }

// CauseError returns the error that stands for a cause in context.WithCancelCause: an [*ExhaustedError] where time ran out,
// a [*CancelledError] otherwise.
func CauseError(cause budgetattr.Cause) error {
	switch cause {
	case budgetattr.CauseLocalDeadline:
		return localDeadline
	case budgetattr.CauseUpstreamDeadline:
		return upstreamDeadline
	case budgetattr.CauseExpiry:
		return expired
	case budgetattr.CauseStreamIdle:
		return &ExhaustedError{Cause: cause}
	}
	return &CancelledError{Cause: cause}
}

// Shared by every context that such a limit ends, so that deriving one allocates no error.
var (
	localDeadline    error = &ExhaustedError{Cause: budgetattr.CauseLocalDeadline}
	upstreamDeadline error = &ExhaustedError{Cause: budgetattr.CauseUpstreamDeadline}
	expired          error = &ExhaustedError{Cause: budgetattr.CauseExpiry}
)

// sameTime is the distance within which two signals fire at the same time.
const sameTime = time.Millisecond

// CauseOf returns why ctx ended, and false while it has not.
//
// The first signal wins and is kept. Of signals that fire at the same time, within a millisecond, the caller's own
// wins over any timeout: a user who left was not timed out. Contexts cancelled by code that knows nothing of this package
// are read as follows: a plain deadline is local_deadline; the cancel function of a context below the request is
// superseded, or sibling_failed if it carries an error, as errgroup's does; a context above the request was cancelled by
// whoever called.
func CauseOf(ctx context.Context) (budgetattr.Cause, bool) {
	if ctx.Err() == nil {
		return "", false
	}
	var entry *Entry
	if sc := scopeFrom(ctx); sc != nil {
		entry = sc.entry
	}
	cause, known := causeOfError(context.Cause(ctx))
	if entry != nil {
		if s, ok := entry.signalled(); ok && (!known || isTime(cause) && isCaller(s.cause)) {
			// A timeout of a hop long before the caller left stays a timeout.
			end, bounded := ctx.Deadline()
			same := sameTime
			if s.cause == budgetattr.CauseSuperseded {
				same = 0 // nobody's wish: the request was over
			}
			if !known || !bounded || s.at.Sub(end) < same {
				return s.cause, true
			}
		}
	}
	if known {
		return cause, true
	}
	switch err := context.Cause(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		return budgetattr.CauseLocalDeadline, true
	case err != context.Canceled:
		return budgetattr.CauseSiblingFailed, true
	case entry != nil:
		return budgetattr.CauseSuperseded, true
	}
	return budgetattr.CauseUpstreamCancel, true
}

// causeOfError returns the cause that an error of this package carries.
func causeOfError(err error) (budgetattr.Cause, bool) {
	if e, ok := errors.AsType[*ExhaustedError](err); ok {
		return e.Cause, true
	}
	if c, ok := errors.AsType[*CancelledError](err); ok {
		return c.Cause, true
	}
	return "", false
}

// isCaller reports whether the cause is that the caller left.
func isCaller(c budgetattr.Cause) bool {
	return c == budgetattr.CauseClientDisconnect || c == budgetattr.CauseUpstreamCancel
}

func isTime(c budgetattr.Cause) bool {
	switch c {
	case budgetattr.CauseLocalDeadline, budgetattr.CauseUpstreamDeadline, budgetattr.CauseExpiry, budgetattr.CauseStreamIdle:
		return true
	}
	return false
}
