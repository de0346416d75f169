package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/stream"
)

// ErrProvider is the record of a stream in which the provider reported an error. The client reads the error itself.
var ErrProvider = errors.New("the provider reported an error in the stream")

// TimeoutError says that a stream ended because it was silent, or made no progress. It wraps the [*stream.IdleError], and
// is to the standard library what that is: a read timeout of the transport, and no deadline of the caller.
type TimeoutError struct {
	Stage, Model string
	// Phase is first_byte, first_token, between_tokens or total.
	Phase budgetattr.Phase
	// Tokens counts what had been received.
	Tokens int
	// Remaining is what was left of the budget, if HasRemaining.
	Remaining    time.Duration
	HasRemaining bool
	Idle         *stream.IdleError
}

// Error names stage, phase and what was left.
func (e *TimeoutError) Error() string {
	left := ""
	if e.HasRemaining {
		left = ", " + e.Remaining.Round(time.Millisecond).String() + " of the budget left"
	}
	return fmt.Sprintf("%s: in phase %s after %d tokens%s: %v", e.Stage, e.Phase, e.Tokens, left, e.Idle)
}

// Unwrap returns the error of the stream.
func (e *TimeoutError) Unwrap() error { return e.Idle }

// Timeout reports true: the error is a timeout.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary reports false: the stream is over.
func (e *TimeoutError) Temporary() bool { return false }

// Retryable reports whether the call may be sent again: only if no token was received.
func (e *TimeoutError) Retryable() bool { return e.Tokens == 0 }

// StopReason says why no further candidate of a [Fallback] was taken.
type StopReason string

// The reasons.
const (
	StopCandidates StopReason = "candidates" // all were tried
	StopBudget     StopReason = "budget"     // the next one has no time
	StopCancelled  StopReason = "cancelled"  // nobody waits any more
)

// Failure is a candidate that gave no answer.
type Failure struct {
	Name    string
	Elapsed time.Duration
	Err     error
}

// FallbackError says that no candidate answered. It wraps why each of them did not.
type FallbackError struct {
	Reason StopReason
	Tried  []Failure
}

// Error names the candidates.
func (e *FallbackError) Error() string {
	var tried []string
	for _, f := range e.Tried {
		tried = append(tried, fmt.Sprintf("%s: %v", f.Name, f.Err))
	}
	return fmt.Sprintf("no candidate answered (stopped by %s): %s", e.Reason, strings.Join(tried, "; "))
}

// Unwrap returns the errors of the candidates.
func (e *FallbackError) Unwrap() []error {
	var all []error
	for _, f := range e.Tried {
		all = append(all, f.Err)
	}
	return all
}

// Timeout reports whether time ended the last candidate.
func (e *FallbackError) Timeout() bool {
	if len(e.Tried) == 0 {
		return e.Reason == StopBudget
	}
	t, ok := e.Tried[len(e.Tried)-1].Err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// Temporary reports false.
func (e *FallbackError) Temporary() bool { return false }
