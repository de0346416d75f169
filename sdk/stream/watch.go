// Package stream watches streams for silence. A stream has two clocks: liveness, which any byte winds, and progress, which
// only content winds. When one runs out, the request's own context is cancelled, the source is closed, and the reader gets an
// error that says which clock it was. Time in which the reader itself did not read does not count as the producer's silence.
package stream

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
)

// simultaneous is how close a cancellation and a timeout may be to count as fired at the same time.
const simultaneous = time.Millisecond

// Facts are what is known about a stream so far.
type Facts struct {
	// Chunks and Content count what arrived: all chunks, and those that were content.
	Chunks, Content int
	// FirstContent is the time from the start to the first content; it is meaningless while Content is 0.
	FirstContent time.Duration
	// ReaderPaused is the time in which nobody read.
	ReaderPaused time.Duration
	// Lifetime is the time from the start to the end, or to now while the stream is open.
	Lifetime time.Duration
	// Err is what ended the stream: nil while it is open, io.EOF after a clean end.
	Err error
}

// source is what a watch pulls from. pull runs under the context it is given, one call at a time; finish follows the last
// pull in the same goroutine; abort frees what a pull may be blocked in and may run beside it. Each but pull may be nil.
type source[T any] struct {
	pull   func(context.Context) (T, error)
	finish func()
	abort  func()
}

type item[T any] struct {
	value T
	err   error
	// panicked is what a pull panicked with; it goes on in the goroutine of the reader.
	panicked any
}

// watch pulls items one at a time in a goroutine of its own, so that a source that never returns cannot hold its reader.
// next must not be called concurrently with itself; close and facts may be called at any time.
type watch[T any] struct {
	limits limits
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc

	content func(T) bool
	source  source[T]
	want    chan struct{}
	got     chan item[T]
	timer   *time.Timer
	// working counts what is still inside the source: the puller and the abort.
	working sync.WaitGroup

	mu      sync.Mutex
	start   time.Time
	ended   time.Time
	idleAt  time.Time
	paused  time.Duration
	stalled time.Duration
	facts   Facts
}

func newWatch[T any](parent context.Context, src source[T], content func(T) bool, opts []Option) *watch[T] {
	now := time.Now()
	w := &watch[T]{
		limits:  newLimits(opts),
		parent:  parent,
		content: content,
		source:  src,
		want:    make(chan struct{}),
		got:     make(chan item[T], 1),
		start:   now,
		idleAt:  now,
	}
	if !w.limits.start.IsZero() {
		w.start = w.limits.start
	}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.working.Go(w.run)
	return w
}

// run serves one pull for each demand. Its last result stays in the buffer of got when nobody waits for it any more.
func (w *watch[T]) run() {
	if w.source.finish != nil {
		defer w.source.finish()
	}
	for {
		select {
		case <-w.want:
		case <-w.ctx.Done():
			return
		}
		it := w.pull()
		w.got <- it
		if it.err != nil || it.panicked != nil {
			return
		}
	}
}

func (w *watch[T]) pull() (it item[T]) {
	defer func() { it.panicked = recover() }()
	it.value, it.err = w.source.pull(w.ctx)
	return it
}

// next returns the next item, or the error that ended the stream, again and again.
func (w *watch[T]) next() (T, error) {
	var zero T
	if err := w.resume(); err != nil {
		return zero, err
	}
	began := time.Now()
	clock, limit, wait := w.nearest()
	if clock != "" && wait <= 0 {
		return zero, w.end(w.idleError(clock, limit, 0))
	}
	expired := w.arm(clock != "", wait)
	select {
	case w.want <- struct{}{}:
	case <-w.ctx.Done():
		return zero, w.end(w.cancelled())
	}
	select {
	case it := <-w.got:
		return w.take(it, began)
	case <-w.ctx.Done():
		return zero, w.end(w.cancelled())
	case <-expired:
		pending := time.Since(began)
		if w.callerLeft() {
			return zero, w.end(cancellation(w.parent))
		}
		select {
		case it := <-w.got:
			return w.take(it, began)
		default:
			return zero, w.end(w.idleError(clock, limit, pending))
		}
	}
}

// callerLeft reports whether the caller left, and gives one who leaves at the instant of a timeout a moment to be heard:
// cancellation beats a timeout that fires at the same time.
func (w *watch[T]) callerLeft() bool {
	grace := time.NewTimer(simultaneous)
	defer grace.Stop()
	select {
	case <-w.parent.Done():
		return true
	case <-grace.C:
		return false
	}
}

// resume ends the reader's pause, or returns what ended the stream.
func (w *watch[T]) resume() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.facts.Err == nil {
		w.paused += time.Since(w.idleAt)
	}
	return w.facts.Err
}

// nearest returns the clock that runs out first and how long a pull may wait for it; no clock if there is no limit.
func (w *watch[T]) nearest() (clock Clock, limit, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	consider := func(c Clock, l, left time.Duration) {
		if l > 0 && (clock == "" || left < wait) {
			clock, limit, wait = c, l, left
		}
	}
	consider(ClockTotal, w.limits.total, w.limits.total-time.Since(w.start))
	consider(ClockLiveness, w.limits.idle, w.limits.idle)
	if w.facts.Content == 0 && w.limits.firstContent > 0 {
		waited := time.Since(w.start) - w.paused
		consider(ClockFirstContent, w.limits.firstContent, w.limits.firstContent-waited)
	} else {
		consider(ClockProgress, w.limits.progress, w.limits.progress-w.stalled)
	}
	return clock, limit, wait
}

// arm returns a channel that fires after wait; without a limit it never does.
func (w *watch[T]) arm(limited bool, wait time.Duration) <-chan time.Time {
	if !limited {
		return nil
	}
	if w.timer == nil {
		w.timer = time.NewTimer(wait)
	} else {
		w.timer.Reset(wait)
	}
	return w.timer.C
}

// take accounts for an item that arrived.
func (w *watch[T]) take(it item[T], began time.Time) (T, error) {
	if it.panicked != nil {
		w.close()
		panic(it.panicked)
	}
	if it.err != nil {
		// A source that fails because its caller left says so in its own words; the caller's are the true ones.
		if it.err != io.EOF && w.parent.Err() != nil {
			it.err = cancellation(w.parent)
		}
		return it.value, w.end(it.err)
	}
	content := w.content(it.value)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idleAt = time.Now()
	w.facts.Chunks++
	w.stalled += w.idleAt.Sub(began)
	if content {
		if w.facts.Content == 0 {
			w.facts.FirstContent = w.idleAt.Sub(w.start)
		}
		w.facts.Content++
		w.stalled = 0
	}
	return it.value, nil
}

// cancelled says why the stream's context ended: its caller, or a close by the reader.
func (w *watch[T]) cancelled() error {
	if w.parent.Err() != nil {
		return cancellation(w.parent)
	}
	return context.Cause(w.ctx)
}

func (w *watch[T]) idleError(clock Clock, limit, pending time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	silent := pending
	if clock != ClockLiveness {
		silent += w.stalled
	}
	e := &IdleError{Clock: clock, Limit: limit, Silent: silent, Chunks: w.facts.Chunks, Content: w.facts.Content, Lifetime: time.Since(w.start)}
	budget.ObserveStreamIdle(w.ctx, w.limits.stage, e.Phase(), silent)
	return e
}

// end closes the stream with its first error, cancels the request and frees the source, and returns that first error. A read
// that is still inside the source fails into the buffer and is heard by nobody.
func (w *watch[T]) end(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.facts.Err != nil {
		return w.facts.Err
	}
	w.facts.Err = err
	w.ended = time.Now()
	w.cancel(err)
	if w.source.abort != nil {
		// A source may be slow to close; its reader has waited long enough.
		w.working.Go(w.source.abort)
	}
	return err
}

// wait returns when nothing of the stream runs any more, which a source that ignores both its context and its close can delay
// for ever, or when ctx is done; it reports which.
func (w *watch[T]) wait(ctx context.Context) bool {
	stopped := make(chan struct{})
	go func() { w.working.Wait(); close(stopped) }()
	select {
	case <-stopped:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *watch[T]) close() { _ = w.end(ErrClosed) }

func (w *watch[T]) snapshot() Facts {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.facts
	f.ReaderPaused = w.paused
	f.Lifetime = time.Since(w.start)
	if !w.ended.IsZero() {
		f.Lifetime = w.ended.Sub(w.start)
	}
	return f
}
