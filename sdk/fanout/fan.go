package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// patience is how long branches that were ended are waited for, so that they can be seen to stop: at most a tenth of what is
// left for the answer. Once the request is over there is nothing else to do.
func patience(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return 100 * time.Millisecond
	}
	const most = 10 * time.Millisecond
	if left, ok := budget.Remaining(ctx); ok {
		return min(most, max(left/10, 0))
	}
	return most
}

// arrival is what became of one branch.
type arrival[T any] struct {
	branch *Branch[T]
	value  T
	err    error
	// panicked is what the branch panicked with; it goes on in the goroutine of the consumer.
	panicked any
}

// fan is one fan-out on its way. It is used by the goroutine of its consumer.
type fan[T any] struct {
	plan     Plan
	began    time.Time
	parent   context.Context
	ctx      context.Context // of all branches; it ends at the close
	cancel   context.CancelCauseFunc
	release  context.CancelFunc
	branches []*Branch[T]
	arrivals chan arrival[T] // has room for all
	fence    *Fence
	working  sync.WaitGroup

	open   []*Branch[T] // not heard of
	valid  int
	failed []*Branch[T]
	errs   []error
	closed bool
}

func newFan[T any](ctx context.Context, plan Plan, branches []Branch[T]) *fan[T] {
	f := &fan[T]{plan: plan, began: time.Now(), parent: ctx, arrivals: make(chan arrival[T], len(branches)), fence: NewFence(ctx, ""), release: func() {}}
	var end time.Time
	if budget.ModeOf(ctx) == budgetattr.ModeEnforce {
		allowed, _ := budget.Fits(ctx, 0, budget.WithReserve(plan.Margin))
		if allowed.Bounded {
			end = f.began.Add(allowed.Amount)
		}
		if plan.Deadline > 0 && (end.IsZero() || plan.Deadline < allowed.Amount) {
			end = f.began.Add(plan.Deadline)
		}
	}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	if !end.IsZero() {
		f.ctx, f.release = context.WithDeadlineCause(f.ctx, end, budget.CauseError(budgetattr.CauseLocalDeadline))
	}
	for i := range branches {
		f.branches = append(f.branches, &branches[i])
	}
	f.open = slices.Clone(f.branches)
	for _, b := range f.branches {
		f.working.Go(func() { f.run(b) })
	}
	return f
}

// run does the work of one branch and delivers, unless the fan-out was closed.
func (f *fan[T]) run(b *Branch[T]) {
	opts := []budget.HopOption{budget.WithMinUseful(b.MinUseful)} // the margin is taken off the common end
	if !b.Mandatory {
		opts = append(opts, budget.WithOptional(), budget.WithRefusal(budgetattr.DecisionSkip))
	}
	if b.Limit > 0 {
		opts = append(opts, budget.WithCap(b.Limit))
	}
	if b.Peer != "" {
		opts = append(opts, budget.WithPeer(b.Peer))
	}
	a := arrival[T]{branch: b}
	ctx, hop, err := budget.StartHop(f.ctx, b.Name, opts...)
	if err != nil {
		a.err = err
		f.deliver(a)
		return
	}
	defer func() { f.done(ctx, hop, a) }()
	a.do(ctx)
}

// done ends the hop of a branch and delivers.
func (f *fan[T]) done(ctx context.Context, hop budget.Hop, a arrival[T]) {
	if a.err != nil {
		a.err = hop.Err(a.err)
	} else if err := ctx.Err(); err != nil && f.ctx.Err() == nil {
		// Its own limit was over before: the result is late though the fan-out is open.
		a.err = hop.Err(err)
		f.late(a)
	}
	hop.End(a.err)
	f.deliver(a)
}

// do does the work. A panic after the close is nobody's.
func (a *arrival[T]) do(ctx context.Context) {
	a.err = fmt.Errorf("%s did not return", a.branch.Name)
	defer func() { a.panicked = recover() }()
	a.value, a.err = a.branch.Do(ctx)
}

func (f *fan[T]) deliver(a arrival[T]) {
	err := f.fence.deliver("", func() { f.arrivals <- a })
	if err != nil && a.err == nil {
		f.late(a)
	}
}

// late counts a result that goes nowhere.
func (f *fan[T]) late(a arrival[T]) {
	f.fence.count()
	if f.plan.Late != nil {
		f.plan.Late(a.branch.Name, a.value)
	}
}

// next returns what the next branch gave. At the close it is the end of the branches not heard of, one by one.
func (f *fan[T]) next() arrival[T] {
	var a arrival[T]
	select {
	case a = <-f.arrivals:
	default:
		select {
		case a = <-f.arrivals:
		case <-f.ctx.Done():
			a = f.overdue()
		}
	}
	if a.panicked != nil {
		panic(a.panicked)
	}
	f.open = slices.DeleteFunc(f.open, func(b *Branch[T]) bool { return b == a.branch })
	if a.err == nil {
		f.valid++
		return a
	}
	f.failed = append(f.failed, a.branch)
	f.errs = append(f.errs, fmt.Errorf("%s: %w", a.branch.Name, a.err))
	return a
}

// overdue closes the fan-out and returns the first branch that was not heard of; what came in time counts still.
func (f *fan[T]) overdue() arrival[T] {
	f.fence.Close()
	select {
	case a := <-f.arrivals:
		return a
	default:
	}
	a := arrival[T]{branch: f.open[0], err: context.Cause(f.ctx)}
	if cause, ok := budget.CauseOf(f.ctx); ok {
		a.err = budget.CauseError(cause)
		if e, ok := errors.AsType[*budget.ExhaustedError](a.err); ok {
			named := *e
			named.Stage = a.branch.Name
			named.Remaining, named.HasRemaining = budget.Remaining(f.ctx)
			a.err = &named
		}
	}
	return a
}

// enough reports whether no more results are wanted.
func (f *fan[T]) enough() bool {
	if f.plan.Enough <= 0 || f.valid < max(f.plan.Enough, f.plan.Quorum) {
		return false
	}
	return !slices.ContainsFunc(f.open, func(b *Branch[T]) bool { return b.Mandatory })
}

// lost reports whether what is still open cannot make the fan-out complete.
func (f *fan[T]) lost() bool {
	return f.valid+len(f.open) < f.plan.Quorum || slices.ContainsFunc(f.failed, func(b *Branch[T]) bool { return b.Mandatory })
}

// close ends the branches that still run, waits a moment for them to stop, and counts what came and was not taken.
func (f *fan[T]) close(cause budgetattr.Cause) {
	if f.closed {
		return
	}
	f.closed = true
	f.fence.Close()
	f.cancel(budget.CauseError(cause))
	f.release()
	for unread := true; unread; {
		select {
		case a := <-f.arrivals:
			if a.err == nil {
				f.late(a)
			}
		default:
			unread = false
		}
	}
	stopped := make(chan struct{})
	go func() { f.working.Wait(); close(stopped) }()
	timer := time.NewTimer(patience(f.parent))
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
	}
}

// verdict returns what the fan-out lacks, and tells the request of the branches that its answer goes without.
func (f *fan[T]) verdict() error {
	var missing, without []string
	for _, b := range append(f.failed, f.open...) {
		if b.Mandatory {
			missing = append(missing, b.Name)
		}
	}
	for _, b := range f.failed {
		if !b.Mandatory {
			without = append(without, b.Name)
		}
	}
	over := f.parent.Err() != nil && len(f.failed) > 0
	for _, b := range f.branches {
		budget.CountDecision(f.parent, b.Name, b.Peer, f.decision(b, over))
	}
	if over || len(missing) > 0 || f.valid < f.plan.Quorum {
		return &IncompleteError{Missing: missing, Valid: f.valid, Quorum: f.plan.Quorum, Err: errors.Join(f.errs...)}
	}
	if en := budget.FromContext(f.parent); en != nil {
		for _, name := range without {
			en.Degrade(name)
		}
	}
	return nil
}

// decision is what became of a branch, for the metric: also that of a fan-out that lacks something.
func (f *fan[T]) decision(b *Branch[T], over bool) budgetattr.Decision {
	switch {
	case !slices.Contains(f.failed, b):
		return budgetattr.DecisionRun
	case over:
		return budgetattr.DecisionCancel
	case b.Mandatory:
		return budgetattr.DecisionReject
	}
	return budgetattr.DecisionSkip
}
