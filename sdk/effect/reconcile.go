package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// ask asks the destination once and moves the effect by the answer. wait is after how long to ask again if it is still open,
// zero if that is of no use.
func (w *Writer) ask(ctx context.Context, e Effect) (next Effect, wait time.Duration, err error) {
	presence, result, err := w.op.Ask(ctx, e.Key)
	if err != nil {
		return e, 0, err
	}
	next = e
	now := stamp()
	settled := now.After(e.SettledBy)
	late := !e.NotAfter.IsZero() && now.After(e.NotAfter)
	switch {
	case presence == Present:
		next.State, next.Result, next.Reason = budgetattr.EffectReconciled, result, "found at the destination"
	case presence == Absent && settled && w.op.Repeat && !late:
		next.State, next.Reason = budgetattr.EffectPlanned, "not at the destination; to be sent again"
	case presence == Absent && settled:
		next.State, next.Reason = budgetattr.EffectAbandoned, "not at the destination"
	case e.State == budgetattr.EffectSent && settled:
		next.State, next.Reason = budgetattr.EffectUncertain, "no answer was kept"
	case presence == Absent:
		// Also of a call that another worker is still making.
		return e, e.SettledBy.Sub(now) + time.Millisecond, nil
	default:
		return e, 0, nil
	}
	next.ChangedAt = now
	if next, err = w.store.Move(ctx, next); err != nil {
		return e, 0, err
	}
	if next.State == budgetattr.EffectAbandoned {
		err = fmt.Errorf("effect %s: %w: %s", e.Key, ErrAbandoned, next.Reason)
	}
	return next, 0, err
}

// Report says what a pass of a [Reconciler] did.
type Report struct {
	Confirmed, Reconciled, Abandoned, Sent int
	// Uncertain lists what nobody knows yet, Open what is planned or on its way.
	Uncertain, Open []Effect
}

// Reconciler settles effects whose workers are gone. Any number may run at once.
type Reconciler struct {
	store   Store
	edge    *budget.Edge
	writers map[string]*Writer
}

// NewReconciler returns a reconciler for the declared operations. Each effect gets the budget that the policy grants.
func NewReconciler(store Store, policy budget.Policy, operations []Operation, opts ...budget.Option) (*Reconciler, error) {
	if policy.Default == 0 {
		policy.Default = 30 * time.Second
	}
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	r := &Reconciler{store: store, edge: budget.NewEdge(policy, opts...), writers: map[string]*Writer{}}
	for _, op := range operations {
		w, err := NewWriter(store, op)
		if err != nil {
			return nil, err
		}
		r.writers[op.Name] = w
	}
	return r, nil
}

// batch is how many effects a pass reads at a time.
const batch = 500

// Pass looks once at what is unsettled and has rested for a while: planned effects that nobody sends any more are sent,
// or abandoned after their time; others are asked for.
func (r *Reconciler) Pass(ctx context.Context, rested time.Duration) (Report, error) {
	var report Report
	before, seen := stamp().Add(-rested), map[string]bool{}
	// What nobody can settle stays the oldest for ever, and must not hide what is behind it.
	for limit := batch; ; limit += batch {
		open, err := r.store.Unsettled(ctx, before, limit)
		if err != nil {
			return report, fmt.Errorf("unsettled effects: %w", err)
		}
		took := len(seen)
		for _, e := range open {
			if seen[e.Key] {
				continue
			}
			seen[e.Key] = true
			if ctx.Err() != nil {
				return report, context.Cause(ctx)
			}
			now, err := e, error(nil)
			if w := r.writers[e.Operation]; w != nil {
				now, err = r.one(ctx, w, e)
			}
			if fatal(err) {
				return report, err
			}
			report.add(e, now)
		}
		if len(open) < limit || len(seen) == took {
			return report, nil
		}
	}
}

// fatal reports whether an error says nothing of the effect it came with: the store is away.
func fatal(err error) bool {
	if _, refused := errors.AsType[*notDone](err); refused || err == nil {
		return false
	}
	return !errors.Is(err, ErrUncertain) && !errors.Is(err, ErrAbandoned) && !errors.Is(err, ErrMoved) && !errors.Is(err, budget.ErrExhausted)
}

func (r *Report) add(before, now Effect) {
	switch now.State {
	case budgetattr.EffectConfirmed:
		r.Confirmed++
	case budgetattr.EffectReconciled:
		r.Reconciled++
	case budgetattr.EffectAbandoned:
		r.Abandoned++
	case budgetattr.EffectUncertain:
		r.Uncertain = append(r.Uncertain, now)
	default:
		r.Open = append(r.Open, now)
	}
	if now.Sends > before.Sends {
		r.Sent++
	}
}

// one takes an effect as far as it goes now.
func (r *Reconciler) one(ctx context.Context, w *Writer, e Effect) (Effect, error) {
	ctx, entry, err := r.edge.Start(ctx, budget.Arrival{Name: "reconcile " + e.Operation, Kind: trace.SpanKindInternal})
	if err != nil {
		entry.End(err)
		return e, err
	}
	entry.SetRoute("reconcile " + e.Operation)
	if e.State == budgetattr.EffectPlanned && !e.NotAfter.IsZero() && stamp().After(e.NotAfter) {
		e.State, e.Reason, e.ChangedAt = budgetattr.EffectAbandoned, "not sent in time", stamp()
		e, err = r.store.Move(ctx, e)
	} else {
		e, err = w.resume(ctx, e)
	}
	entry.End(err)
	return e, err
}

// resume goes on with an effect that another left.
func (w *Writer) resume(ctx context.Context, e Effect) (Effect, error) {
	var err error
	if e.State != budgetattr.EffectPlanned {
		if e, err = w.settle(ctx, e); err != nil || e.State != budgetattr.EffectPlanned {
			return w.tell(ctx, e, err)
		}
	}
	e, _, err = w.send(ctx, e)
	return w.tell(ctx, e, err)
}

// Run makes a pass every so often until ctx ends. each is told what a pass did; it may be nil.
func (r *Reconciler) Run(ctx context.Context, every, rested time.Duration, each func(Report, error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		report, err := r.Pass(ctx, rested)
		if each != nil && ctx.Err() == nil {
			each(report, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
