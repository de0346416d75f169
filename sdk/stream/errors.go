package stream

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// ErrClosed is returned by a read of a stream that its own reader has closed.
var ErrClosed = errors.New("stream is closed")

// Clock names the clock of a stream that ran out.
type Clock string

// The clocks of a stream.
const (
	// ClockLiveness runs while no byte arrives.
	ClockLiveness Clock = "liveness"
	// ClockProgress runs while no content arrives.
	ClockProgress Clock = "progress"
	// ClockFirstContent runs until the first content arrives.
	ClockFirstContent Clock = "first_content"
	// ClockTotal runs for the whole life of the stream.
	ClockTotal Clock = "total"
)

// IdleError says that a clock of a stream ran out. To the standard library it is a read timeout of the transport: it is
// syscall.ETIMEDOUT and a net.Error with Timeout, and it is not context.DeadlineExceeded, because no deadline of the caller
// has passed.
type IdleError struct {
	// Clock is the clock that ran out and Limit its bound.
	Clock Clock
	Limit time.Duration
	// Silent is the time the producer was waited for without a byte, or without content for ClockProgress. Pauses of the
	// reader are not in it.
	Silent time.Duration
	// Chunks and Content count what had arrived: all chunks, and those that were content.
	Chunks, Content int
	// Lifetime is the age of the stream.
	Lifetime time.Duration
}

// Error implements error.
func (e *IdleError) Error() string {
	return fmt.Sprintf("stream timed out: %s limit of %v after %d chunks in %v", e.Clock, e.Limit, e.Chunks, e.Lifetime.Round(time.Millisecond))
}

// Timeout reports true: the error is a timeout.
func (e *IdleError) Timeout() bool { return true }

// Temporary reports false: the stream is over.
func (e *IdleError) Temporary() bool { return false }

// Is makes the error a transport's read timeout.
func (e *IdleError) Is(target error) bool { return target == syscall.ETIMEDOUT }

// Retryable reports whether the call may be sent again: only when nothing of the answer had arrived.
func (e *IdleError) Retryable() bool { return e.Chunks == 0 }

// Phase is the phase of the call in which its time ran out.
func (e *IdleError) Phase() budgetattr.Phase {
	switch {
	case e.Clock == ClockTotal:
		return budgetattr.PhaseTotal
	case e.Content == 0:
		return budgetattr.PhaseFirstToken
	}
	return budgetattr.PhaseBetweenTokens
}

// Cause is the cause with which the request's context was cancelled.
func (e *IdleError) Cause() budgetattr.Cause { return budgetattr.CauseStreamIdle }

// cancellation returns why ctx is done, as an error that is ctx.Err to errors.Is whatever its cause is.
func cancellation(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
