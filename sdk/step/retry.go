package step

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/laxity-dev/laxity/sdk/budget"
)

// Retry declares that a step may be repeated. One layer owns retries: a step inside another one that declares Retry draws
// its attempts from the outer one's, and so do the silent retries of client libraries over budgethttp. An attempt must
// therefore send one request; what calls several dependencies is several steps.
type Retry struct {
	// Attempts is how many attempts there may be over all layers, the first one included. Up to one means that the step
	// must not be repeated.
	Attempts int
	// Wait is the first back-off, 50 ms if zero. It doubles up to MaxWait, 2 s if zero.
	Wait, MaxWait time.Duration
	// Jitter is the share by which a back-off varies, 0.5 if zero; below zero it does not vary.
	Jitter float64
	// If decides by the error whether a repetition makes sense. Nil means: not for what was cancelled, refused, permanent
	// or already delivered in part, and for HTTP statuses only 408, 425, 429, 500 and 502 to 504.
	If func(error) bool
	// Hedge sends a second attempt beside the first one if that has not answered after this time, and cancels the slower
	// one. Zero means no hedging.
	Hedge time.Duration
}

// Reason says why a retry or a hedge was not sent.
type Reason string

// The reasons.
const (
	ReasonBudget     Reason = "budget"      // it does not fit
	ReasonCause      Reason = "cause"       // the failure would come again
	ReasonAttempts   Reason = "attempts"    // the allowance is used up
	ReasonRetryAfter Reason = "retry_after" // the time the peer asks for does not fit
	ReasonEnded      Reason = "ended"       // the request is over
	ReasonHedge      Reason = "hedge"       // a hedge does not fit
)

func (r Retry) backoff() *backoff.ExponentialBackOff {
	b := &backoff.ExponentialBackOff{InitialInterval: r.Wait, MaxInterval: r.MaxWait, Multiplier: 2, RandomizationFactor: r.Jitter}
	if b.InitialInterval <= 0 {
		b.InitialInterval = 50 * time.Millisecond
	}
	if b.MaxInterval <= 0 {
		b.MaxInterval = max(2*time.Second, b.InitialInterval)
	}
	switch {
	case r.Jitter == 0:
		b.RandomizationFactor = 0.5
	case r.Jitter < 0:
		b.RandomizationFactor = 0
	}
	b.Reset()
	return b
}

// allows reports whether the failure may be met by a repetition.
func (r Retry) allows(err error) bool {
	if r.If != nil {
		return r.If(err)
	}
	if _, ok := errors.AsType[*backoff.PermanentError](err); ok {
		return false
	}
	if errors.Is(err, budget.ErrAttempts) || errors.Is(err, budget.ErrTerms) || errors.Is(err, context.Canceled) {
		return false
	}
	var says interface{ Retryable() bool }
	if errors.As(err, &says) {
		return says.Retryable()
	}
	if e, ok := errors.AsType[*budget.ExhaustedError](err); ok {
		return !e.Refused
	}
	return true
}

// retryAfter returns the time that the peer wants to be left alone.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*backoff.RetryAfterError](err); ok {
		return e.Duration
	}
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.RetryAfter
	}
	return 0
}

// StatusError is an HTTP answer that is no success.
type StatusError struct {
	Code int
	// RetryAfter is what the header of that name asks for; zero if it is missing.
	RetryAfter time.Duration
}

// CheckStatus returns a [*StatusError] for an answer that is no success. The body stays to be closed by the caller.
func CheckStatus(resp *http.Response) error {
	if resp.StatusCode < 400 {
		return nil
	}
	e := &StatusError{Code: resp.StatusCode}
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		e.RetryAfter = max(time.Until(at), 0)
	}
	return e
}

// Error names the status.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Code) }

// ErrorType is the status, as OpenTelemetry wants it.
func (e *StatusError) ErrorType() string { return strconv.Itoa(e.Code) }

// Retryable reports whether the same request may do better later.
func (e *StatusError) Retryable() bool {
	switch e.Code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

type ownerKey struct{}

// owner returns the counter of the layer that owns retries, or nil.
func owner(ctx context.Context) *budget.Attempts {
	a, _ := ctx.Value(ownerKey{}).(*budget.Attempts)
	return a
}
