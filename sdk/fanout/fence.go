package fanout

import (
	"context"
	"errors"
	"sync"

	"github.com/laxity-dev/laxity/sdk/budget"
)

// ErrClosed is the error of a result that came after its unit of work was closed.
var ErrClosed = errors.New("result came after the close")

// ErrOtherExecution is the error of a result that belongs to another execution or version of the work.
var ErrOtherExecution = errors.New("result belongs to another execution")

// Fence lets results of one execution pass until it is closed, and counts those that it refuses. It is safe for concurrent
// use.
type Fence struct {
	entry     *budget.Entry
	execution string

	mu     sync.Mutex
	closed bool
	n      int
}

// NewFence returns an open fence for an execution of the request of ctx.
func NewFence(ctx context.Context, execution string) *Fence {
	return &Fence{entry: budget.FromContext(ctx), execution: execution}
}

// Accept reports nil for a result that may be used. Otherwise the result is counted as late and must change nothing; keep
// it as evidence.
func (f *Fence) Accept(execution string) error {
	err := f.deliver(execution, func() {})
	if err != nil {
		f.count()
	}
	return err
}

// deliver calls send while the fence cannot be closed.
func (f *Fence) deliver(execution string, send func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case execution != f.execution:
		return ErrOtherExecution
	case f.closed:
		return ErrClosed
	}
	send()
	return nil
}

// count counts a result that was refused.
func (f *Fence) count() {
	f.mu.Lock()
	f.n++
	f.mu.Unlock()
	if f.entry != nil {
		f.entry.LateResult()
	}
}

// Close lets nothing pass any more.
func (f *Fence) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// Late returns how many results were refused.
func (f *Fence) Late() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}
