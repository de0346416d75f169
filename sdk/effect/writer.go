package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Writer makes the writes of one operation. It is safe for concurrent use.
type Writer struct {
	store Store
	op    Operation
}

// NewWriter returns a writer for a declared operation.
func NewWriter(store Store, op Operation) (*Writer, error) {
	if err := op.Validate(); err != nil {
		return nil, err
	}
	return &Writer{store: store, op: op}, nil
}

// Operation returns the declaration.
func (w *Writer) Operation() Operation { return w.op }

// Do makes a write happen once. unit names the unit of work, key the write, and the same key must always come with the same
// payload. If the write happened before, its result is returned and nothing is sent. It starts only if there is time to send
// and to ask, and never under a context that has ended.
//
// The error is [ErrUncertain] if the write may have happened, and the request's outcome becomes uncertain unless it declares
// another; [ErrAbandoned] if it did not happen; that of a refused hop if it was not tried, and then it is abandoned too.
func (w *Writer) Do(ctx context.Context, unit, key string, payload []byte) (Effect, error) {
	if key == "" || len(key) > maxKey {
		return Effect{}, fmt.Errorf("effect: a key has 1 to %d bytes, not %d", maxKey, len(key))
	}
	if ctx.Err() != nil {
		cause, _ := budget.CauseOf(ctx)
		return Effect{}, budget.CauseError(cause)
	}
	now := stamp()
	e := Effect{Key: key, Operation: w.op.Name, Unit: unit, Payload: payload, Fingerprint: fingerprint(payload), State: budgetattr.EffectPlanned, PlannedAt: now, ChangedAt: now}
	if left, ok := budget.Remaining(ctx); ok {
		e.NotAfter = now.Add(left).Truncate(time.Microsecond)
	}
	e, err := w.store.Plan(ctx, e)
	if err != nil {
		return e, fmt.Errorf("plan effect %s: %w", key, err)
	}
	for {
		switch e.State {
		case budgetattr.EffectConfirmed, budgetattr.EffectReconciled:
			return e, nil
		case budgetattr.EffectAbandoned:
			return e, fmt.Errorf("effect %s: %w: %s", key, ErrAbandoned, e.Reason)
		case budgetattr.EffectPlanned:
			var refused bool
			if e, refused, err = w.send(ctx, e); refused {
				e = w.withdraw(ctx, e, err)
			}
		default:
			e, err = w.settle(ctx, e)
		}
		if errors.Is(err, ErrMoved) {
			if e, err = w.store.Get(ctx, key); err == nil {
				continue
			}
		}
		if err != nil || e.State != budgetattr.EffectPlanned {
			return w.tell(ctx, e, err)
		}
	}
}

// tell makes the request's outcome say what is uncertain.
func (w *Writer) tell(ctx context.Context, e Effect, err error) (Effect, error) {
	if errors.Is(err, ErrUncertain) {
		if entry := budget.FromContext(ctx); entry != nil {
			entry.SetOutcome(budgetattr.OutcomeUncertain)
		}
	}
	return e, err
}

// send marks the effect as sent, and sends it.
func (w *Writer) send(ctx context.Context, e Effect) (now Effect, refused bool, err error) {
	opts := []budget.HopOption{budget.WithCap(w.op.limit()), budget.WithExpected(w.op.Expected, w.op.Variability), budget.WithReserve(w.op.Confirm)}
	if w.op.Peer != "" {
		opts = append(opts, budget.WithPeer(w.op.Peer))
	}
	sendCtx, hop, err := budget.StartHop(ctx, w.op.Name, opts...)
	if err != nil {
		return e, true, err
	}
	took := w.op.limit()
	if allowed, bounded := hop.Allowance(); bounded {
		took = allowed
	}
	marked := time.Now()
	e.State, e.SentAt, e.Reason = budgetattr.EffectSent, stamp(), ""
	e.SettledBy, e.ChangedAt = e.SentAt.Add(took+w.op.settle()).Truncate(time.Microsecond), e.SentAt
	e.Sends++
	// The mark has to be durable before anything leaves, and to be known to be.
	if e, err = w.store.Move(sendCtx, e); err != nil {
		err = hop.Err(err)
		hop.End(err)
		return e, false, err
	}
	// The bound holds in every mode, and from the mark on: who finds the mark later reckons with it.
	callCtx := sendCtx
	if w.op.Complete {
		callCtx = context.WithoutCancel(sendCtx)
	}
	callCtx, cancel := context.WithDeadline(callCtx, marked.Add(took))
	result, err := w.op.Send(callCtx, Request{Key: e.Key, Payload: e.Payload, Fence: e.Version})
	cancel()
	err = hop.Err(err)
	e, err = w.record(ctx, hop, e, result, err)
	if e.State == budgetattr.EffectUncertain && w.op.Ask != nil {
		// This hop has done what it could. The one that asks tells the state.
		hop.Effect(e.Key, budgetattr.EffectSent)
		hop.End(err)
		e, err = w.settle(ctx, e)
		return e, false, err
	}
	hop.Effect(e.Key, e.State)
	hop.End(err)
	return e, false, err
}

// withdraw abandons an effect whose hop was refused: the caller is told that it was not tried, and goes another way, so that
// no reconciler may make it later. Of a worker that shuts down the effect stays planned, for the next that has the unit.
func (w *Writer) withdraw(ctx context.Context, e Effect, why error) Effect {
	if cause, ended := budget.CauseOf(ctx); ended && cause == budgetattr.CauseShutdown {
		return e
	}
	ctx, done := budget.Cleanup(ctx)
	defer done()
	e.State, e.Reason, e.ChangedAt = budgetattr.EffectAbandoned, "not sent: "+why.Error(), stamp()
	if gone, err := w.store.Move(ctx, e); err == nil {
		return gone
	}
	// It stays planned until its time is over.
	e.State = budgetattr.EffectPlanned
	return e
}

// record stores how a send ended.
func (w *Writer) record(ctx context.Context, hop budget.Hop, e Effect, result []byte, err error) (Effect, error) {
	store, done := ctx, func() {}
	if ctx.Err() != nil || err != nil {
		store, done = hop.Cleanup(ctx)
	}
	defer done()
	next := e
	next.ChangedAt, next.Result = stamp(), result
	why, certain := errors.AsType[*notDone](err)
	switch {
	case err == nil:
		next.State = budgetattr.EffectConfirmed
	case certain && why.again:
		next.State, next.Reason = budgetattr.EffectPlanned, err.Error()
	case certain:
		next.State, next.Reason = budgetattr.EffectAbandoned, err.Error()
		err = fmt.Errorf("effect %s: %w: %w", e.Key, ErrAbandoned, err)
	default:
		next.State, next.Reason = budgetattr.EffectUncertain, err.Error()
		err = fmt.Errorf("effect %s: %w: %w", e.Key, ErrUncertain, err)
	}
	moved, storeErr := w.store.Move(store, next)
	switch {
	case storeErr == nil:
		return moved, err
	case errors.Is(storeErr, ErrMoved):
		// Another has settled it meanwhile. What this call brought is evidence.
		if entry := budget.FromContext(ctx); entry != nil {
			entry.LateResult()
		}
		_ = w.store.AddEvidence(store, e.Key, Evidence{At: next.ChangedAt, Result: result, Text: string(next.State) + " " + next.Reason})
		return e, storeErr
	}
	// It stays marked as sent, which reads as uncertain.
	next.State, next.Version = budgetattr.EffectUncertain, e.Version
	return next, fmt.Errorf("effect %s: %w: %w", e.Key, ErrUncertain, storeErr)
}

// settle asks the destination, in what is left of the request or, if that is over, in a clean-up of its own, until it is
// clear or the time for confirmation is over.
func (w *Writer) settle(ctx context.Context, e Effect) (Effect, error) {
	uncertain := fmt.Errorf("effect %s: %w: %s", e.Key, ErrUncertain, e.Reason)
	if w.op.Ask == nil {
		return e, uncertain
	}
	done := func() {}
	if ctx.Err() != nil {
		ctx, done = budget.Cleanup(ctx)
	}
	defer done()
	limit := w.op.Confirm
	if limit == 0 {
		limit = w.op.limit()
	}
	opts := []budget.HopOption{budget.WithCap(limit), budget.WithAttributes(
		attribute.String(budgetattr.EffectKeyKey, e.Key), attribute.String(budgetattr.EffectStateKey, string(budgetattr.EffectUncertain)))}
	if w.op.Peer != "" {
		opts = append(opts, budget.WithPeer(w.op.Peer))
	}
	ctx, hop, err := budget.StartHop(ctx, w.op.Name+".reconcile", opts...)
	if err != nil {
		return e, fmt.Errorf("%w; not asked: %w", uncertain, err)
	}
	for pause := firstPause; ; pause *= 2 {
		next, wait, err := w.ask(ctx, e)
		if wait = min(wait, pause); err == nil && open(next) && wait > 0 && fits(ctx, wait) {
			select {
			case <-ctx.Done():
			case <-time.After(wait):
				continue
			}
		}
		hop.Effect(e.Key, next.State)
		switch {
		case err == nil && open(next):
			err = uncertain
		case err != nil && !errors.Is(err, ErrMoved) && !errors.Is(err, ErrAbandoned):
			err = fmt.Errorf("%w; asked: %w", uncertain, hop.Err(err))
		}
		hop.End(err)
		return next, err
	}
}

// firstPause is how long to wait before asking a second time; each further pause is twice as long.
const firstPause = 50 * time.Millisecond

// open reports whether nobody knows yet whether the write happened.
func open(e Effect) bool {
	return e.State == budgetattr.EffectUncertain || e.State == budgetattr.EffectSent
}

// fits reports whether the hop lives long enough to wait and ask once more.
func fits(ctx context.Context, wait time.Duration) bool {
	end, ok := ctx.Deadline()
	return !ok || wait < time.Until(end)
}
