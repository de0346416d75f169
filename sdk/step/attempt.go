package step

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
)

// reply is what became of one attempt. Its hop is still open, unless the attempt was refused or left behind.
type reply[Out any] struct {
	value   Out
	err     error
	hop     budget.Hop
	refused bool
	// left says that the work ignores its end; its own goroutine ends the hop.
	left     bool
	panicked any
	// of numbers the attempts of a hedged pair; release frees the context of one.
	of      int
	release context.CancelCauseFunc
}

// end ends the hop, and panics if the work did.
func (r *reply[Out]) end() {
	if r.release != nil {
		defer r.release(nil)
	}
	if r.refused || r.left {
		return
	}
	r.hop.End(r.err)
	if r.panicked != nil {
		panic(r.panicked)
	}
}

// errNoReturn is the error of work that panicked or ended its goroutine.
var errNoReturn = errors.New("step did not return")

// Bounds of the time for which work whose time is over is waited for, so that it can be seen to stop.
const (
	minPatience = 10 * time.Millisecond
	maxPatience = 100 * time.Millisecond
)

func patience(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return maxPatience
	}
	left, ok := budget.Remaining(ctx)
	if !ok {
		return maxPatience
	}
	return min(max(left/20, minPatience), maxPatience)
}

// attempt does the work once, as one hop. The caller waits no longer than the hop lives and a moment more, whatever the
// work does; a result that comes later is counted and goes nowhere.
func attempt[In, Out any](ctx context.Context, stage string, do Func[In, Out], in In, completion time.Duration, opts []budget.HopOption) reply[Out] {
	hopCtx, hop, err := budget.StartHop(ctx, stage, opts...)
	if err != nil {
		return reply[Out]{err: err, refused: true}
	}
	work, settle := hopCtx, func() {}
	if completion > 0 {
		work, settle = completing(hopCtx, hop, stage, completion)
	}
	once := func(r *reply[Out]) {
		defer settle()
		defer func() { r.panicked = recover() }()
		r.value, r.err = do(work, in)
		if part, ok := errors.AsType[*Partial[Out]](r.err); ok {
			r.err = &Partial[Out]{Value: part.Value, Err: hop.Err(part.Err)} // delivered is delivered, whatever ended it
		} else if r.err != nil {
			r.err = hop.Err(r.err)
		} else if completion == 0 && hopCtx.Err() != nil {
			// The unit is closed: its result counts no more.
			r.err = hop.Err(context.Cause(hopCtx))
			late(ctx)
		}
	}
	if hopCtx.Done() == nil {
		r := reply[Out]{hop: hop, err: errNoReturn}
		once(&r)
		return r
	}
	var taken atomic.Bool
	done := make(chan reply[Out], 1)
	go func() {
		r := reply[Out]{hop: hop, err: errNoReturn}
		defer func() { // also if the work ends its goroutine
			if taken.CompareAndSwap(false, true) {
				done <- r
				return
			}
			if r.err == nil {
				late(ctx)
			}
			hop.End(r.err)
		}()
		once(&r)
	}()
	select {
	case r := <-done:
		return r
	case <-hopCtx.Done():
	}
	timer := time.NewTimer(patience(ctx) + completion)
	defer timer.Stop()
	select {
	case r := <-done:
		return r
	case <-timer.C:
	}
	if !taken.CompareAndSwap(false, true) {
		return <-done
	}
	return reply[Out]{err: hop.Err(context.Cause(hopCtx)), hop: hop, left: true}
}

func late(ctx context.Context) {
	if en := budget.FromContext(ctx); en != nil {
		en.LateResult()
	}
}

// completing returns the context of work that may go on for d after its cancellation. The time that it does is clean-up
// of its hop and of the request. settle must be called when the work is over.
func completing(hopCtx context.Context, hop budget.Hop, stage string, d time.Duration) (work context.Context, settle func()) {
	work, cancel := context.WithCancelCause(budget.Detach(hopCtx, stage))
	release := func() {}
	if end, ok := hopCtx.Deadline(); ok {
		var stop context.CancelFunc
		work, stop = context.WithDeadline(work, end.Add(d))
		release = stop
	}
	var mu sync.Mutex
	var timer *time.Timer
	cleaned := func() {}
	over := false
	stop := context.AfterFunc(hopCtx, func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		_, ofHop := hop.Cleanup(hopCtx)
		_, ofRequest := budget.Cleanup(hopCtx)
		cleaned = func() { ofHop(); ofRequest() }
		timer = time.AfterFunc(d, func() { cancel(context.Cause(hopCtx)) })
	})
	return work, func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
		if timer != nil {
			timer.Stop()
		}
		cleaned()
		cancel(nil)
		release()
	}
}
