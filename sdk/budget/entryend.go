package budget

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// End closes the request: it records margin, outcome, cause and the hops still open, ends the span and releases the
// context. Only the first call counts. A nil error means that the answer went out.
func (en *Entry) End(err error) {
	now := time.Now()
	s, _ := en.signalled()
	cause, cancelled := CauseOf(&en.ctx)
	en.mu.Lock()
	if en.ended {
		en.mu.Unlock()
		return
	}
	running := en.openHops()
	if !en.answered {
		en.left = running
	}
	free := en.close()
	en.mu.Unlock()
	recycle(free)
	for _, stop := range en.release {
		stop()
	}
	c := &closing{err: err, cancelled: cancelled, running: running}
	en.judge(c, now, cause, s)
	if en.span.IsRecording() {
		en.recordSpan(c)
	}
	en.recordMetrics(en.base, c)
	en.span.End()
	// Hops left behind are told now that nobody waits for them.
	en.mu.Lock()
	if en.signal.at.IsZero() {
		en.signal = signal{at: now, cause: budgetattr.CauseSuperseded}
	}
	en.mu.Unlock()
	en.cancel(CauseError(budgetattr.CauseSuperseded))
}

// closing is what is known of a request at its end. The entry is not changed any more.
type closing struct {
	err       error
	outcome   budgetattr.Outcome
	cause     budgetattr.Cause
	cancelled bool // the context had ended
	// after is when the cancellation signal fired, from the start; post how long the work went on, without allowed clean-up.
	after, post time.Duration
	budgeted    bool
	margin      time.Duration
	running     []openHop
}

// judge derives outcome, margin and the times around a cancellation.
func (en *Entry) judge(c *closing, now time.Time, cause budgetattr.Cause, s signal) {
	c.outcome, c.cause = en.finalState(c.err, cause, c.cancelled)
	reached := en.reachedAt
	if reached.IsZero() {
		reached = now
	}
	c.budgeted, c.margin = !en.limit.IsZero(), en.limit.Sub(reached)
	if !c.cancelled {
		return
	}
	at := s.at
	if isTime(c.cause) && c.budgeted {
		at = en.limit
	}
	if at.IsZero() || at.After(now) {
		at = now
	}
	c.after, c.post = at.Sub(en.start), max(now.Sub(at)-en.cleanup.allowed(), 0)
}

// finalState derives the outcome. The caller holds the lock, or the entry is not changed any more.
func (en *Entry) finalState(err error, cause budgetattr.Cause, cancelled bool) (budgetattr.Outcome, budgetattr.Cause) {
	if told, ok := causeOfError(err); ok && !cancelled {
		cause = told
	}
	switch {
	case en.refusal != nil && (en.outcome == budgetattr.OutcomeExpiredInQueue || en.outcome == budgetattr.OutcomeCancelled):
		return en.outcome, en.refusal.Cause
	case en.refusal != nil:
		return budgetattr.OutcomeRejected, en.refusal.Cause
	case en.outcome != "":
		return en.outcome, cause
	case err == nil && len(en.degraded) > 0:
		return budgetattr.OutcomeDegraded, cause
	case err == nil:
		return budgetattr.OutcomeDone, cause
	case cause != "":
		return budgetattr.OutcomeCancelled, cause
	}
	return budgetattr.OutcomeFailed, ""
}

func (en *Entry) recordSpan(c *closing) {
	en.span.SetAttributes(en.attributes(c)...)
	for _, o := range en.left {
		en.span.AddEvent(budgetattr.EventOpenChild, trace.WithAttributes(o.attributes(c.cause)...))
	}
	switch {
	case c.outcome == budgetattr.OutcomeCancelled && !isTime(c.cause):
		// The caller's doing is not the service's failure.
	case c.err != nil:
		en.span.SetStatus(codes.Error, c.err.Error())
	case !c.outcome.Answered():
		en.span.SetStatus(codes.Error, string(c.outcome))
	}
}

func (en *Entry) recordMetrics(ctx context.Context, c *closing) {
	m := en.edge.metrics
	m.stored(ctx, c.outcome, en.grant.Source, en.route)
	byRoute := m.with(labels{route: en.route, outcome: c.outcome, mode: en.scope.mode})
	m.requests.Add(ctx, 1, byRoute)
	if c.budgeted && c.outcome.Answered() {
		m.margin.Record(ctx, max(c.margin, 0).Seconds(), byRoute)
		m.overrun.Record(ctx, max(-c.margin, 0).Seconds(), byRoute)
	}
	if en.refusal != nil {
		m.refused.Add(ctx, 1, m.with(labels{route: en.route, mode: en.scope.mode}))
	}
	if c.cancelled {
		m.cancelled(ctx, labels{route: en.route, cause: c.cause}, c.post, len(c.running) == 0)
	}
	for _, o := range c.running {
		m.stillRunning.Add(ctx, 1, m.with(labels{stage: o.stage, peer: o.peer}))
	}
}

func (en *Entry) attributes(c *closing) []attribute.KeyValue {
	kv := make([]attribute.KeyValue, 0, 24)
	seconds := func(key string, d time.Duration) { kv = append(kv, attribute.Float64(key, d.Seconds())) }
	text := func(key, v string) {
		if v != "" {
			kv = append(kv, attribute.String(key, v))
		}
	}
	text(budgetattr.RouteKey, en.route)
	text(budgetattr.ModeKey, string(en.scope.mode))
	text(budgetattr.ChannelKey, en.edge.policy.Channel)
	text(budgetattr.BudgetSourceKey, string(en.grant.Source))
	text(budgetattr.OutcomeKey, string(c.outcome))
	if d, ok := en.grant.Requested.Get(); ok {
		seconds(budgetattr.BudgetRequestedKey, d)
	}
	if d, ok := en.grant.Received.Get(); ok {
		seconds(budgetattr.BudgetReceivedKey, d)
	}
	if c.budgeted {
		text(budgetattr.GovernedByKey, string(en.governor))
		seconds(budgetattr.MarginKey, c.margin)
		kv = append(kv, attribute.Bool(budgetattr.LateKey, c.margin < 0 && c.outcome.Answered()))
		if c.outcome.Answered() {
			text(budgetattr.MarginAtKey, string(en.edge.policy.target()))
		}
	}
	if en.queued > 0 {
		seconds(budgetattr.QueueTimeKey, en.queued)
	}
	if en.arrival.EnvelopeWait > 0 {
		seconds(budgetattr.EnvelopeWaitKey, en.arrival.EnvelopeWait)
	}
	if ns := en.firstCall.Load(); ns > 0 {
		seconds(budgetattr.LocalBeforeFirstCallKey, time.Duration(ns))
	}
	text(budgetattr.CancelCauseKey, string(c.cause))
	var within time.Duration
	if c.cancelled {
		within = en.edge.policy.cleanup()
		seconds(budgetattr.CancelAfterKey, c.after)
		kv = append(kv, attribute.Bool(budgetattr.CancelConfirmedKey, len(c.running) == 0))
		seconds(budgetattr.PostCancelTimeKey, c.post)
	}
	kv = append(append(kv, en.times...), attribute.Int(budgetattr.OpenChildrenKey, len(en.left)))
	if en.lateResults > 0 {
		kv = append(kv, attribute.Int(budgetattr.LateResultsKey, en.lateResults))
	}
	return en.cleanup.attributes(kv, within)
}
