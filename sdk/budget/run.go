package budget

import (
	"context"
	"fmt"
	"time"
)

// Run does work as one hop and bounds the caller's wait even if the work ignores its cancellation: the caller waits at most
// the clean-up budget longer than the hop's context lives. Work left behind stays an open hop until it returns, so that it
// is named when the request closes, and its overrun is recorded. A panic of the work is the caller's, while it waits.
func Run(ctx context.Context, stage string, work func(context.Context) error, opts ...HopOption) error {
	hopCtx, hop, err := StartHop(ctx, stage, opts...)
	if err != nil {
		return err
	}
	type result struct {
		err   error
		panic any
	}
	grace := hop.s.scope.edge.policy.cleanup()
	done := make(chan result, 1)
	go func() {
		r := result{err: fmt.Errorf("%s did not return", stage)}
		defer func() {
			r.panic = recover()
			hop.End(r.err)
			done <- r
		}()
		r.err = hop.Err(work(hopCtx))
	}()
	finish := func(r result) error {
		if r.panic != nil {
			panic(r.panic)
		}
		return r.err
	}
	select {
	case r := <-done:
		return finish(r)
	case <-hopCtx.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case r := <-done:
		return finish(r)
	case <-patience.C:
		return hop.Err(context.Cause(hopCtx))
	}
}
