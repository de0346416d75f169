package budgethttp

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// StatusClientGone is the status in records of a request whose client left before the answer. It is never sent.
const StatusClientGone = 499

// Status returns the HTTP status for an error of this sdk: 504 where time ran out, 503 at shutdown, 499 where the caller
// is gone, 500 for anything else.
func Status(err error) int {
	var cancelled *budget.CancelledError
	switch {
	case errors.Is(err, budget.ErrExhausted):
		return http.StatusGatewayTimeout
	case errors.As(err, &cancelled) && cancelled.Cause == budgetattr.CauseShutdown:
		return http.StatusServiceUnavailable
	case errors.As(err, &cancelled):
		return StatusClientGone
	}
	return http.StatusInternalServerError
}

// statusError is the error of a request that a handler answered with a status of failure.
type statusError int

func (s statusError) Error() string { return "HTTP status " + strconv.Itoa(int(s)) }

// ErrorType is the status as error.type carries it.
func (s statusError) ErrorType() string { return strconv.Itoa(int(s)) }
