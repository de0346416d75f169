package step

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
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

// job is the work of one attempt. Jobs are reused, unless their work was left behind.
type job[In, Out any] struct {
	do         Func[In, Out]
	valid      func(context.Context, Out) error // nil if there is no check
	in         In
	ctx        context.Context // of the caller
	hopCtx     context.Context
	work       context.Context // in which the work runs
	settle     func()          // nil unless work is another context than that of the hop
	completing bool
	reply      reply[Out]
	taken      atomic.Bool   // by who is first: the work with its result, or the caller who leaves
	done       chan struct{} // has room for one
}

func newJob[In, Out any](pool *sync.Pool) *job[In, Out] {
	if j, ok := pool.Get().(*job[In, Out]); ok {
		return j
	}
	return &job[In, Out]{done: make(chan struct{}, 1)}
}

// release returns the reply and gives the job back. The work is over.
func (j *job[In, Out]) release(pool *sync.Pool) reply[Out] {
	r, done := j.reply, j.done
	*j = job[In, Out]{done: done}
	pool.Put(j)
	return r
}

// once does the work.
func (j *job[In, Out]) once() {
	r := &j.reply
	if j.settle != nil {
		defer j.settle()
	}
	defer func() { r.panicked = recover() }()
	if r.value, r.err = j.do(j.work, j.in); r.err == nil && j.valid != nil {
		r.hop.Reached(budgetattr.TargetComplete)
		if r.err = j.valid(j.work, r.value); r.err == nil {
			r.hop.Reached(budgetattr.TargetValidated)
		}
	}
	if r.err == nil {
		if !j.completing && j.hopCtx.Err() != nil {
			// The unit is closed: its result counts no more.
			r.err = r.hop.Err(context.Cause(j.hopCtx))
			late(j.ctx)
		}
	} else if part, ok := errors.AsType[*Partial[Out]](r.err); ok {
		r.err = &Partial[Out]{Value: part.Value, Err: r.hop.Err(part.Err)} // delivered is delivered, whatever ended it
	} else {
		r.err = r.hop.Err(r.err)
	}
}

// run does the work in a goroutine of its own, also if the work ends that.
func (j *job[In, Out]) run() {
	defer j.deliver()
	j.once()
}

func (j *job[In, Out]) deliver() {
	if j.taken.CompareAndSwap(false, true) {
		j.done <- struct{}{} // from here on the job is the caller's
		return
	}
	if j.reply.err == nil {
		late(j.ctx)
	}
	j.reply.hop.End(j.reply.err)
}

// attempt does the work once, as one hop. The caller waits no longer than the hop lives and a moment more, whatever the
// work does; a result that comes later is counted and goes nowhere.
func attempt[In, Out any](ctx context.Context, s *Step[In, Out], stage string, do Func[In, Out], in In, completion time.Duration, opts []budget.HopOption) reply[Out] {
	hopCtx, hop, err := budget.StartHop(ctx, stage, opts...)
	if err != nil {
		return reply[Out]{err: err, refused: true}
	}
	j := newJob[In, Out](&s.jobs)
	j.do, j.valid, j.in, j.ctx, j.hopCtx, j.work = do, s.valid, in, ctx, hopCtx, hopCtx
	j.reply.hop, j.reply.err = hop, errNoReturn
	if completion > 0 {
		j.completing = true
		j.work, j.settle = completing(hopCtx, hop, stage, completion)
	}
	ended := hopCtx.Done()
	if ended == nil {
		j.once()
		return j.release(&s.jobs)
	}
	go j.run()
	select {
	case <-j.done:
		return j.release(&s.jobs)
	case <-ended:
	}
	timer := time.NewTimer(patience(ctx) + completion)
	defer timer.Stop()
	select {
	case <-j.done:
		return j.release(&s.jobs)
	case <-timer.C:
	}
	if !j.taken.CompareAndSwap(false, true) {
		<-j.done
		return j.release(&s.jobs)
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
