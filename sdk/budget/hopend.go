package budget

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Allowance returns what the hop was allowed when it started, and false if nothing bounds it.
func (h Hop) Allowance() (time.Duration, bool) {
	s := h.lock()
	if s == nil {
		return 0, false
	}
	defer h.set.mu.Unlock()
	return s.allowed.amount, s.allowed.by != unbound
}

// IsRecording reports whether the hop has a span that is recorded: what costs time to find out need not be found out
// otherwise.
func (h Hop) IsRecording() bool {
	s := h.lock()
	if s == nil {
		return false
	}
	span := s.span
	h.set.mu.Unlock()
	return span != nil && span.IsRecording()
}

// SetAttributes adds attributes to the hop's span. The slice is not kept.
func (h Hop) SetAttributes(kv ...attribute.KeyValue) {
	if s := h.lock(); s != nil {
		if s.span != nil {
			s.attrs = append(s.attrs, kv...)
		}
		h.set.mu.Unlock()
	}
}

// TimeoutPhase names the phase that a timeout of the hop falls in; the last one named before End counts.
func (h Hop) TimeoutPhase(p budgetattr.Phase) {
	if s := h.lock(); s != nil {
		s.touched, s.phase = true, p
		h.set.mu.Unlock()
	}
}

// Decide records what was decided for the stage in place of run: the hop is a fallback, or its failure is made good by one,
// or by going without it.
func (h Hop) Decide(d budgetattr.Decision) {
	if s := h.lock(); s != nil {
		s.touched, s.decided = true, d
		h.set.mu.Unlock()
	}
}

// Reached records on the hop when its result was there, counted from the start of the hop: its first output, the whole of
// it, or the whole of it found valid.
func (h Hop) Reached(target budgetattr.Target) {
	key := timeOf(target)
	if s := h.lock(); s != nil {
		if s.span != nil && key != "" {
			s.attrs = append(s.attrs, attribute.Float64(key, time.Since(s.start()).Seconds()))
		}
		h.set.mu.Unlock()
	}
}

// timeOf returns the key of the time at which a target was reached.
func timeOf(t budgetattr.Target) string {
	switch t {
	case budgetattr.TargetFirstOutput:
		return budgetattr.FirstOutputTimeKey
	case budgetattr.TargetComplete:
		return budgetattr.CompleteTimeKey
	case budgetattr.TargetValidated:
		return budgetattr.ValidatedTimeKey
	}
	return ""
}

// CostAfterCancel records cost produced after the hop's cancellation signal, in a unit of which there are few: token, cent.
func (h Hop) CostAfterCancel(unit string, amount float64) {
	s := h.lock()
	if s == nil {
		return
	}
	if s.span != nil {
		s.attrs = append(s.attrs, attribute.Float64(budgetattr.PostCancelCostKey, amount), attribute.String(budgetattr.CostUnitKey, unit))
	}
	ctx, m, l := s.ctx, s.scope.edge.metrics, labels{stage: s.stage, peer: s.peer, unit: unit}
	h.set.mu.Unlock()
	if amount > 0 {
		m.postCancelCost.Add(ctx, amount, m.with(l))
	}
}

// drain is what was still taken in after the end, and how much of that time was declared.
type drain struct{ spent, allowed time.Duration }

// Draining says that from here on the hop only takes in what was already paid for, as was declared: the request ends
// without it, and it is not one of those that are still at work then.
func (h Hop) Draining() {
	s := h.lock()
	if s == nil {
		return
	}
	defer h.set.mu.Unlock()
	if !h.set.ended {
		s.listed = false
	}
}

// Drained records that the hop went on after its cancellation to take in what was already paid for, as declared: of the
// time spent, what is allowed is no post-cancel work.
func (h Hop) Drained(spent, allowed time.Duration) {
	if s := h.lock(); s != nil {
		s.touched = true
		s.drained.spent += spent
		s.drained.allowed += min(spent, allowed)
		h.set.mu.Unlock()
	}
}

// Unconfirmed records that the hop returns without knowing whether the work it started has stopped.
func (h Hop) Unconfirmed() {
	if s := h.lock(); s != nil {
		s.touched, s.unsure = true, true
		h.set.mu.Unlock()
	}
}

// Cleanup is [Cleanup] for one hop: the time is recorded on the hop's span and is no post-cancel work. Call done before
// End.
func (h Hop) Cleanup(ctx context.Context) (cleanup context.Context, done func()) {
	budget := DefaultCleanup
	if s := h.lock(); s != nil {
		budget = s.scope.edge.policy.cleanup()
		h.set.mu.Unlock()
	}
	return startCleanup(ctx, budget, func(spent, budget time.Duration) {
		if s := h.lock(); s != nil {
			s.touched = true
			s.cleanup.spent += spent
			s.cleanup.budget += budget
			h.set.mu.Unlock()
		}
	})
}

// wireSlack is how much earlier than a hop its callee may be over: the wire carries whole milliseconds, rounded down, and
// clocks are read a moment apart.
const wireSlack = 5 * time.Millisecond

// Err tells the error of the hop's own end from that of the work: if the hop's context has ended it returns an
// [*ExhaustedError] or [*CancelledError] that names stage, phase and what was left, otherwise err.
func (h Hop) Err(err error) error {
	s := h.lock()
	if s == nil {
		return err
	}
	ctx, limit, governed, over := s.ctx, s.limit, s.governed, s.ends() && time.Until(s.end()) < wireSlack
	own := s.ownCause()
	e := &ExhaustedError{Stage: s.stage, Phase: s.phase, Binding: s.allowed.by.binding(), Allowance: s.allowed.amount, Floor: s.allowed.floor}
	h.set.mu.Unlock()
	cause, ended := CauseOf(ctx)
	switch {
	case err == nil:
		return nil
	case !ended && over && errors.Is(err, context.DeadlineExceeded):
		cause = own
	case !ended:
		return err
	case !isTime(cause):
		return CauseError(cause)
	}
	e.Cause = cause
	if governed {
		e.Remaining, e.HasRemaining = time.Until(limit), true
	}
	return e
}

// End closes the hop: it records what was left and, if the context had ended, why, since when, and how long the work went
// on. It releases the context. Only the first call counts; recording works on a context that is long dead. The hop's work
// must have stopped, or [Hop.Unconfirmed] be called before.
func (h Hop) End(err error) {
	s := h.lock()
	if s == nil {
		return
	}
	s.gen++ // from here on the hop has ended for everyone else
	if err == nil && s.quiet() {
		cancel := s.cancel
		h.set.free(s)
		h.set.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		return
	}
	h.set.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	if err != nil {
		s.exhausted(err)
	}
	var cause budgetattr.Cause
	ended := s.ctx.Err() != nil
	if ended {
		cause, _ = CauseOf(s.ctx)
	} else if err != nil {
		cause, ended = s.cutInside(err)
	}
	if ended || s.span != nil || s.scope.edge.policy.Estimator != nil {
		s.measure(time.Now(), err, cause, ended)
	}
	if s.cancel != nil {
		s.cancel()
	}
	if s.give != nil {
		s.give(context.Canceled)
	}
	s.release()
}

// cutInside reports whether the hop was cut by a limit of its own inside, for example that of a phase.
func (h *hopState) cutInside(err error) (budgetattr.Cause, bool) {
	e, ok := errors.AsType[*ExhaustedError](err)
	if !ok || e.Stage != h.stage || e.Refused {
		return "", false
	}
	if h.phase == "" {
		h.touched, h.phase = true, e.Phase
	}
	return e.Cause, true
}

// quiet reports whether nothing is to be told of the end: the hop has no span, came to its end in time, and declared
// nothing. The caller holds the lock.
func (h *hopState) quiet() bool {
	if !h.listed || h.set.ended || h.touched || h.scope.edge.policy.Estimator != nil {
		return false
	}
	if h.cancel == nil {
		// The parent's context; one made by others is not asked under the lock.
		if _, ok := h.ctx.(*entryContext); !ok {
			return false
		}
	}
	return h.ctx.Err() == nil
}

// measure records the end on span, metrics and estimator.
func (h *hopState) measure(now time.Time, err error, cause budgetattr.Cause, ended bool) {
	after, post := h.afterSignal(now, cause, ended)
	timedOut := ended && isTime(cause)
	if e := h.scope.edge.policy.Estimator; e != nil && (err == nil || timedOut) {
		e.Observe(h.stage, h.peer, now.Sub(h.start()), timedOut)
	}
	m := h.scope.edge.metrics
	if ended {
		m.cancelled(h.ctx, labels{stage: h.stage, peer: h.peer, cause: cause}, post, !h.unsure)
		if timedOut {
			m.timeouts.Add(h.ctx, 1, m.with(labels{stage: h.stage, peer: h.peer, phase: h.timeoutPhase()}))
		}
	}
	if h.span == nil {
		return
	}
	if h.span.IsRecording() {
		left := h.before
		if h.governed {
			left -= now.Sub(h.start())
		}
		h.attributes(left)
		var within time.Duration
		if ended {
			within = h.scope.edge.policy.cleanup()
			h.attrs = append(h.attrs,
				attribute.String(budgetattr.CancelCauseKey, string(cause)),
				attribute.Float64(budgetattr.CancelAfterKey, after.Seconds()),
				attribute.Bool(budgetattr.CancelConfirmedKey, !h.unsure),
				attribute.Float64(budgetattr.PostCancelTimeKey, post.Seconds()))
		}
		if timedOut || h.phase != "" && isTimeout(err) {
			h.attrs = append(h.attrs, attribute.String(budgetattr.TimeoutPhaseKey, string(h.timeoutPhase())))
		}
		h.attrs = h.cleanup.attributes(h.attrs, within)
		if err != nil {
			h.attrs = append(h.attrs, attribute.String("error.type", errorType(err)))
			if !ended || timedOut { // that the caller left is not the dependency's failure
				h.span.SetStatus(codes.Error, err.Error())
			}
		}
		h.span.SetAttributes(h.attrs...)
	}
	h.span.End()
}

func (h *hopState) timeoutPhase() budgetattr.Phase {
	if h.phase == "" {
		return budgetattr.PhaseTotal
	}
	return h.phase
}

// afterSignal returns when the cancellation signal fired, from the start of the hop, and how long the work went on after
// it, without allowed clean-up.
func (h *hopState) afterSignal(now time.Time, cause budgetattr.Cause, ended bool) (after, post time.Duration) {
	if !ended {
		return 0, 0
	}
	at := now
	if isTime(cause) && h.ctx.Err() != nil {
		// The hop's own end, or that of a context above or below with a nearer deadline.
		if h.ends() {
			at = h.end()
		}
		d, ok := h.ctx.Deadline()
		if h.governed {
			d, ok = h.limit, true // on the monotonic clock, which that of others need not be
		}
		if ok && d.Before(at) {
			at = d
		}
	} else if h.entry != nil {
		if s, ok := h.entry.signalled(); ok {
			at = s.at
		}
	}
	if at.After(now) {
		at = now
	}
	start := h.start()
	if at.Before(start) {
		at = start
	}
	return at.Sub(start), max(now.Sub(at)-h.cleanup.allowed()-h.drained.allowed, 0)
}

// attributes appends the terms of the hop.
func (h *hopState) attributes(left time.Duration) {
	t := &h.cfg.terms
	kv := append(h.attrs, attribute.String(budgetattr.StageKey, h.stage),
		attribute.String(budgetattr.DecisionKey, string(h.decision())))
	if h.governed {
		kv = append(kv, attribute.Float64(budgetattr.RemainingBeforeKey, h.before.Seconds()),
			attribute.Float64(budgetattr.RemainingAfterKey, left.Seconds()))
	}
	if h.allowed.by != unbound {
		kv = append(kv, attribute.Float64(budgetattr.AllowanceKey, h.allowed.amount.Seconds()),
			attribute.String(budgetattr.BindingKey, string(h.allowed.by.binding())))
	}
	if h.allowed.reserve > 0 {
		kv = append(kv, attribute.Float64(budgetattr.ReserveKey, h.allowed.reserve.Seconds()))
	}
	if d, ok := t.Cap.Get(); ok {
		kv = append(kv, attribute.Float64(budgetattr.CapKey, d.Seconds()))
	}
	if d, ok := t.Observed.Get(); ok {
		kv = append(kv, attribute.Float64(budgetattr.ObservedLimitKey, d.Seconds()))
	}
	if h.allowed.floor > 0 {
		kv = append(kv, attribute.Float64(budgetattr.MinUsefulKey, h.allowed.floor.Seconds()))
	}
	if h.peer != "" {
		kv = append(kv, attribute.String(budgetattr.PeerKey, h.peer))
	}
	if h.cfg.optional {
		kv = append(kv, attribute.Bool(budgetattr.StageOptionalKey, true))
	}
	if h.cfg.attempt > 0 {
		kv = append(kv, attribute.Int(budgetattr.AttemptKey, h.cfg.attempt), attribute.String(budgetattr.AttemptLayerKey, h.cfg.layer))
	}
	if h.cfg.backoff > 0 {
		kv = append(kv, attribute.Float64(budgetattr.BackoffKey, h.cfg.backoff.Seconds()))
	}
	if h.drained.spent > 0 {
		kv = append(kv, attribute.Float64(budgetattr.DrainTimeKey, h.drained.spent.Seconds()))
	}
	if h.scope.detached != "" {
		kv = append(kv, attribute.String(budgetattr.DetachedIDKey, h.scope.detached))
	}
	if h.scope.mode != budgetattr.ModeEnforce {
		kv = append(kv, attribute.String(budgetattr.ModeKey, string(h.scope.mode)))
	}
	h.attrs = kv
}

// openHop names a hop that ran on when its request was over.
type openHop struct {
	id          trace.SpanID
	stage, peer string
}

// left describes the hop. The caller holds the entry's lock, under which the hop cannot leave the list.
func (h *hopState) left() openHop {
	o := openHop{stage: h.stage, peer: h.peer}
	if h.span != nil {
		o.id = h.span.SpanContext().SpanID()
	}
	return o
}

func (o openHop) attributes(cause budgetattr.Cause) []attribute.KeyValue {
	kv := []attribute.KeyValue{attribute.String(budgetattr.OpenChildStageKey, o.stage)}
	if o.id.IsValid() {
		kv = append(kv, attribute.String(budgetattr.OpenChildSpanIDKey, o.id.String()))
	}
	if o.peer != "" {
		kv = append(kv, attribute.String(budgetattr.OpenChildPeerKey, o.peer))
	}
	if cause != "" {
		kv = append(kv, attribute.String(budgetattr.OpenChildCauseKey, string(cause)))
	}
	return kv
}

// errorType is the low-cardinality name of an error, as error.type wants it.
func errorType(err error) string {
	var typed interface{ ErrorType() string }
	if errors.As(err, &typed) {
		return typed.ErrorType()
	}
	if isTimeout(err) {
		return "timeout"
	}
	if errors.Is(err, context.Canceled) {
		return "context.Canceled" // as who reads error.type knows it
	}
	return fmt.Sprintf("%T", err)
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}
