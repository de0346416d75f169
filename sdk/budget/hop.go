package budget

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Hop is one call of a dependency, or one stage of a chain, from [StartHop] to [Hop.End]. It is a small value to be copied
// freely. The zero Hop is one that has ended. It is safe for concurrent use.
type Hop struct {
	s   *hopState
	set *hopSet
	gen uint64
}

// hopState is what a hop knows. States are reused, which a hop that has ended tells by the generation: one hop must cost
// no more than a deadline made by hand. Hence what every hop has is written once and not cleared, and what only some have is
// cleared only after those.
type hopState struct {
	set *hopSet // the request's, or own
	own *hopSet // of a hop outside a request
	gen uint64  // under the set's lock
	plan
	ctx     context.Context
	cancel  context.CancelFunc // nil if the context is the parent's
	index   int32              // in the set's states
	listed  bool               // among the open hops, under the set's lock; stays if the request ends before the hop
	touched bool               // hopExtra must be cleared
	hopExtra
}

// plan is what is decided before a hop starts. It belongs to the owner of the hop.
type plan struct {
	scope    *scope // where the hop begins
	entry    *Entry // nil if no request waits for the hop
	stage    string
	peer     string
	limit    time.Time     // the governing limit; the start, if there is none
	before   time.Duration // from the start to the limit
	allowed  share
	governed bool // there is a governing limit
	free     bool // the hop's own time does not end it: the refusal it should have had was over the cap
	refused  bool // should have been, or was
}

// hopExtra is what only recorded, streaming, failing or declared hops have. Who sets something sets touched. It belongs to
// the owner until the hop's end; what others may change meanwhile is under the set's lock.
type hopExtra struct {
	give    context.CancelCauseFunc // of a stream, in place of a deadline
	timer   *time.Timer             // of a stream
	span    trace.Span              // nil if the request's own is not recorded
	cfg     *hopConfig              // nil unless the hop has a span
	kept    hopConfig               // what cfg points to
	unsure  bool
	phase   budgetattr.Phase
	decided budgetattr.Decision
	cleanup cleanupTime
	drained drain
	attrs   []attribute.KeyValue
}

// end is when the hop's own time is over, if it is bounded.
func (p *plan) start() time.Time { return p.limit.Add(-p.before) }
func (p *plan) end() time.Time   { return p.limit.Add(p.allowed.amount - p.before) }

// ends reports whether the hop's own time ends it.
func (p *plan) ends() bool { return p.allowed.by != unbound && !p.free }

// Start options per kind, made once.
var spanKinds = [...][]trace.SpanStartOption{
	trace.SpanKindUnspecified: nil,
	trace.SpanKindInternal:    nil,
	trace.SpanKindServer:      {trace.WithSpanKind(trace.SpanKindServer)},
	trace.SpanKindClient:      {trace.WithSpanKind(trace.SpanKindClient)},
	trace.SpanKindProducer:    {trace.WithSpanKind(trace.SpanKindProducer)},
	trace.SpanKindConsumer:    {trace.WithSpanKind(trace.SpanKindConsumer)},
}

// StartHop asks whether a hop may start now and, if it may, returns a context that ends with what it may use. Call it
// immediately before the call: not at the start of a handler and not before a back-off.
//
// The hop is refused with an [*ExhaustedError] if its allowance does not reach its floor, and with the cause if ctx has
// already ended; then nothing must be started, the refusal is already recorded, and End need not be called. In the modes
// off and shadow nothing is refused and the context gets no deadline.
func StartHop(ctx context.Context, stage string, opts ...HopOption) (context.Context, Hop, error) {
	s := scopeFrom(ctx)
	if s == nil {
		s = outside()
	}
	var cfg hopConfig
	cfg.apply(opts)
	// A hop that is not complete before it has a span, or a timer that may be stopped, is on the list of open hops from then.
	recorded := s.entry == nil || s.entry.recorded
	late := recorded || cfg.stream
	h := s.entry.take(stage, cfg.peer, !late)
	h.scope, h.entry = s, s.entry
	err := h.admit(ctx, &cfg)
	if err == nil && ctx.Err() != nil {
		err = h.dead(ctx)
	}
	h.refused = err != nil
	if h.refused && s.mode == budgetattr.ModeEnforce {
		h.refuse(ctx, &cfg, err)
		return ctx, Hop{}, err
	}
	h.ctx, h.cancel = h.derive(ctx, cfg.stream)
	if cfg.kind >= trace.SpanKindClient && s.entry != nil && s.entry.firstCall.Load() == 0 {
		s.entry.called(&h.plan)
	}
	if recorded {
		h.startSpan(&cfg)
	}
	if h.refused {
		// Shadow: what would have happened.
		h.countRefusal(h.ctx)
	}
	ctx = h.ctx
	hop := Hop{s: h, set: h.set, gen: h.gen}
	if h.set == h.own || late && !s.entry.track(h) {
		h.entry = nil // there is none, or it is over
	}
	return ctx, hop, nil
}

// Fits reports whether a hop with these options could start after a wait, and what it would be allowed then. Nothing is
// started and nothing recorded: ask it before a back-off, so that nobody waits for what cannot start. In the modes off and
// shadow everything fits.
func Fits(ctx context.Context, wait time.Duration, opts ...HopOption) (Allowance, bool) {
	s := scopeFrom(ctx)
	if s == nil {
		s = outside()
	}
	var cfg hopConfig
	cfg.apply(opts)
	p := plan{scope: s, entry: s.entry, peer: cfg.peer}
	err := p.allow(ctx, &cfg, wait)
	return p.allowed.public(), s.mode != budgetattr.ModeEnforce || err == nil && ctx.Err() == nil && p.allowed.starts()
}

// allow computes the allowance of a hop that starts after a wait. In mode off there is none.
func (p *plan) allow(ctx context.Context, cfg *hopConfig, wait time.Duration) (err error) {
	s, t := p.scope, &cfg.terms
	p.free = false
	if s.mode == budgetattr.ModeOff {
		p.allowed, p.governed, p.before, p.limit = share{}, false, 0, time.Now().Add(wait)
		return nil
	}
	if policy := &s.edge.policy; policy.Limits != nil || policy.Estimator != nil {
		p.observe(cfg)
	}
	limit, reserve := s.bounds(ctx)
	if limit.IsZero() {
		p.governed, p.before, p.limit = false, 0, time.Now().Add(wait)
		p.allowed, err = t.share()
		return err
	}
	before := time.Until(limit) - wait
	p.governed, p.before, p.limit = true, before, limit
	t.Remaining, t.Tell = LimitOf(before), reserve
	if s.governor == budgetattr.GovernedByExpiry && !limit.Before(s.limit) {
		t.Governor = budgetattr.GovernedByExpiry
	}
	p.allowed, err = t.share()
	return err
}

// admit returns why the hop must not start.
func (p *plan) admit(ctx context.Context, cfg *hopConfig) error {
	if err := p.allow(ctx, cfg, 0); err != nil {
		return err
	}
	if p.allowed.starts() {
		return nil
	}
	if p.external() && !p.scope.edge.control.decide(p.start(), true) {
		p.free = true
		return nil
	}
	return p.exhaustion(p.ownCause())
}

// exhaustion is the error of a refusal.
func (p *plan) exhaustion(cause budgetattr.Cause) *ExhaustedError {
	return &ExhaustedError{
		Stage: p.stage, Cause: cause, Binding: p.allowed.by.binding(), Refused: true,
		Allowance: p.allowed.amount, Floor: p.allowed.floor, Remaining: p.before, HasRemaining: p.governed,
	}
}

// observe fills in the bounds that the policy knows of the dependency.
func (p *plan) observe(cfg *hopConfig) {
	policy := &p.scope.edge.policy
	t := &cfg.terms
	if policy.Limits != nil {
		if d, ok := policy.Limits.Lookup(p.stage, p.peer); ok {
			if !cfg.capSet {
				t.Cap = d.Cap
			}
			if !cfg.observedByOption {
				t.Observed = d.Observed
			}
			if !cfg.minimumSet {
				t.MinUseful = max(t.MinUseful, d.MinUseful)
			}
			t.Confirm = max(t.Confirm, d.Reserve)
		}
	}
	if policy.Estimator != nil && !t.Observed.set {
		t.Observed = policy.Estimator.Limit(p.stage, p.peer)
	}
}

// external reports whether the refusal rests on a value received from outside: even the whole budget as it was received
// would not have reached the floor. What this process spent of it, on its own clock, is nobody else's fault.
func (p *plan) external() bool {
	if p.entry == nil || !p.entry.arrival.Ask.set || p.allowed.by != byBudget {
		return false
	}
	received, ok := p.entry.grant.Received.Get()
	return ok && received-p.allowed.reserve < max(p.allowed.floor, 1)
}

// ownEnd is the error of an end by the hop's own time.
func (p *plan) ownEnd() error {
	switch p.allowed.by {
	case byCap, byObserved:
		return localDeadline
	}
	return CauseError(p.ownCause())
}

// ownCause is the cause of an end by the hop's own time.
func (p *plan) ownCause() budgetattr.Cause {
	switch p.allowed.by {
	case byExpiry:
		return budgetattr.CauseExpiry
	case byBudget:
		if p.entry != nil {
			return p.entry.limitCause(budgetattr.GovernedByDeadline)
		}
	}
	return budgetattr.CauseLocalDeadline
}

// dead returns why a context that has ended derives no new work.
func (p *plan) dead(ctx context.Context) error {
	cause, _ := CauseOf(ctx)
	if isTime(cause) {
		return p.exhaustion(cause)
	}
	return CauseError(cause)
}

// derive returns the context of the hop, which is the parent's if that ends no later, and what ends it.
func (h *hopState) derive(ctx context.Context, stream bool) (context.Context, context.CancelFunc) {
	s := h.scope
	if !h.ends() || s.mode == budgetattr.ModeOff {
		return ctx, nil
	}
	end := h.end()
	switch {
	case s.mode == budgetattr.ModeShadow:
		return s.within(ctx, end), nil
	case stream && h.entry != nil && h.entry.liftable() && !h.entry.lifted.Load():
		inner, cancel := context.WithCancelCause(ctx)
		cause := h.ownEnd()
		h.touched, h.give = true, cancel
		h.timer = time.AfterFunc(h.allowed.amount, func() { cancel(cause) })
		// There is no deadline to inherit, but whoever is called below gets no more than the hop has.
		return s.within(inner, end), nil
	case h.governed && h.allowed.reserve == 0 && h.allowed.amount == h.before:
		if d, ok := ctx.Deadline(); ok && !end.Before(d) {
			return ctx, nil
		}
	}
	if e, ok := ctx.(*entryContext); ok {
		ctx = e.Context // the same, without a detour through ours at each step
	}
	return context.WithDeadlineCause(ctx, end, h.ownEnd())
}

// lift takes the hop's own time off a stream whose first output is out. The caller holds the entry's lock, under which the
// hop cannot end.
func (h *hopState) lift() {
	if h.timer != nil {
		h.timer.Stop()
	}
}

// startSpan starts the span. Where the request's own span is not recorded, no part of it is.
func (h *hopState) startSpan(cfg *hopConfig) {
	name := cfg.name
	if name == "" {
		name = h.stage
	}
	opts := spanKinds[cfg.kind]
	if len(cfg.attrs) > 0 {
		opts = append(opts[:len(opts):len(opts)], trace.WithAttributes(cfg.attrs...))
	}
	h.ctx, h.span = h.scope.edge.tracer.Start(h.ctx, name, opts...)
	h.kept = *cfg
	h.kept.attrs = nil
	h.touched, h.cfg = true, &h.kept
}

func (p *plan) countRefusal(ctx context.Context) {
	m := p.scope.edge.metrics
	m.refused.Add(ctx, 1, m.with(labels{stage: p.stage, peer: p.peer, mode: p.scope.mode}))
}

// refuse records a hop that was not started and gives the state back.
func (h *hopState) refuse(ctx context.Context, cfg *hopConfig, err error) {
	h.exhausted(err)
	h.countRefusal(ctx)
	h.ctx, h.cancel = ctx, nil
	if h.entry == nil || h.entry.recorded {
		h.startSpan(cfg)
	}
	if h.span != nil && h.span.IsRecording() {
		h.attributes(h.before)
		cause, known := causeOfError(err)
		if known {
			h.attrs = append(h.attrs, attribute.String(budgetattr.CancelCauseKey, string(cause)))
		}
		h.span.SetAttributes(h.attrs...)
		if h.decision() == budgetattr.DecisionReject && (!known || isTime(cause)) {
			h.span.SetStatus(codes.Error, err.Error())
		}
	}
	if h.span != nil {
		h.span.End()
	}
	h.release()
}

// exhausted tells the request that one of its hops had no time.
func (p *plan) exhausted(err error) {
	if e, ok := errors.AsType[*ExhaustedError](err); ok && p.entry != nil {
		p.entry.update(func() { p.entry.exhausted = e })
	}
}

func (h *hopState) decision() budgetattr.Decision {
	switch {
	case h.decided != "":
		return h.decided
	case !h.refused:
		return budgetattr.DecisionRun
	case h.cfg != nil && h.cfg.refusal != "":
		return h.cfg.refusal
	}
	return budgetattr.DecisionReject
}
