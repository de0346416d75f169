// Package budget gives a request one time budget instead of many unrelated timeouts.
//
// An [Edge] grants the budget where a request enters the service. Below it the budget is an ordinary context with a
// deadline, so code that knows nothing of this package is bounded too. [StartHop] asks, immediately before a dependency is
// called, how much of the remainder the call may use, refuses it if that is not enough to be worth starting, and records
// the answer on a span. What still runs when the response goes out is found and named.
//
// Inside a process only monotonic time counts, and nothing ever replaces a deadline by a later one. What leaves the
// process is a shrinking remainder; see package wire for its forms.
//
// Time that ran out is an [*ExhaustedError]: errors.Is finds both [ErrExhausted] and context.DeadlineExceeded in it, and
// it is a timeout to the standard library. Work that was cancelled for another reason is a [*CancelledError]. [CauseOf]
// tells which of the known causes ended a context.
//
// The package does not log. It writes OpenTelemetry spans and metrics, whose names are in package budgetattr.
package budget
