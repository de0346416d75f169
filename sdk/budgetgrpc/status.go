package budgetgrpc

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Code returns the gRPC code for an error of this sdk: DeadlineExceeded where time ran out, Unavailable at shutdown,
// Canceled for other cancellations, and the error's own code otherwise.
func Code(err error) codes.Code {
	if errors.Is(err, budget.ErrExhausted) {
		return codes.DeadlineExceeded
	}
	if c, ok := errors.AsType[*budget.CancelledError](err); ok {
		if c.Cause == budgetattr.CauseShutdown {
			return codes.Unavailable
		}
		return codes.Canceled
	}
	return status.Code(err)
}

// rpcError is an error of this sdk that is a gRPC status too, so that both status.Code and errors.As understand it.
type rpcError struct{ err error }

func (e *rpcError) Error() string              { return e.err.Error() }
func (e *rpcError) Unwrap() error              { return e.err }
func (e *rpcError) ErrorType() string          { return Code(e.err).String() }
func (e *rpcError) Timeout() bool              { return errors.Is(e.err, budget.ErrExhausted) }
func (e *rpcError) Temporary() bool            { return false }
func (e *rpcError) GRPCStatus() *status.Status { return status.New(Code(e.err), e.err.Error()) }

// statusOf makes an error of this sdk a status; other errors stay as they are.
func statusOf(err error) error {
	_, cancelled := errors.AsType[*budget.CancelledError](err)
	if cancelled || errors.Is(err, budget.ErrExhausted) || errors.Is(err, budget.ErrAttempts) {
		return &rpcError{err}
	}
	return err
}

// failed reports whether a code says that the server failed, by the semantic conventions.
func failed(c codes.Code) bool {
	switch c {
	case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
		return true
	}
	return false
}
