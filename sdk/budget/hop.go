package budget

import (
	"context"
	"errors"
	"sync"
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
	gen uint64
}

// hopState is what a hop knows. States are reused, which a hop that has ended tells by the generation: one hop must cost
// no more than a deadline and a span made by hand.
type hopState struct {
	mu  sync.Mutex
	gen uint64 // changed by the owner alone, under mu
	hopFacts
	kept hopConfig // what cfg points to
}

// hopFacts belong to the owner of the hop until its end; what others may change meanwhile is under the state's lock. They
// are cleared for each hop, so they are few.
type hopFacts struct {
	ctx      context.Context
	cancel   context.CancelFunc
	give     context.CancelCauseFunc // of a stream, in place of a deadline
	timer    *time.Timer             // of a stream
	span     trace.Span              // nil if the request's own is not recorded
	scope    *scope                  // where the hop began
	entry    *Entry                  // nil if no request waits for the hop
	stage    string
	peer     string
	allowed  Allowance
	start    time.Time
	before   time.Duration // to the governing limit at the start
	governed bool          // there is one
	free     bool          // its own time does not end it: the refusal it should have had was over the cap
	refused  bool          // should have been, or was
	unsure   bool
	phase    budgetattr.Phase
	decided  budgetattr.Decision
	cleanup  cleanupTime
	drained  drain
	cfg      *hopConfig // nil unless the hop has a span
	attrs    []attribute.KeyValue

	prev, next *hopState // of the entry's list, under the entry's lock
}

// limit is the governing limit at the start, if the hop is governed; end is when its own time is over, if it is bounded.
func (h *hopFacts) limit() time.Time { return h.start.Add(h.before) }
func (h *hopFacts) end() time.Time   { return h.start.Add(h.allowed.Amount) }

// ends reports whether the hop's own time ends it.
func (h *hopFacts) ends() bool { return h.allowed.Bounded && !h.free }

var hopStates = sync.Pool{New: func() any { return &hopState{hopFacts: hopFacts{attrs: make([]attribute.KeyValue, 0, 32)}} }}

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
	h := hopStates.Get().(*hopState)
	h.scope, h.entry, h.stage, h.peer = s, s.entry, stage, cfg.peer
	h.start = time.Now()
	err := h.admit(ctx, &cfg)
	if err == nil && ctx.Err() != nil {
		err = h.dead(ctx)
	}
	h.refused = err != nil
	if h.refused && s.mode == budgetattr.ModeEnforce {
		h.refuse(ctx, &cfg, err)
		return ctx, Hop{}, err
	}
	ctx = h.derive(ctx, cfg.stream)
	if cfg.kind >= trace.SpanKindClient && h.entry != nil {
		h.entry.called(h.start)
	}
	ctx = h.startSpan(ctx, &cfg)
	h.ctx = ctx
	if h.refused {
		// Shadow: what would have happened.
		h.countRefusal(ctx)
	}
	hop := Hop{s: h, gen: h.gen}
	if h.entry != nil && !h.entry.track(h) {
		h.entry = nil
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
	h := &hopState{}
	h.scope, h.peer, h.start = s, cfg.peer, time.Now().Add(wait)
	err := h.allow(ctx, &cfg)
	return h.allowed, s.mode != budgetattr.ModeEnforce || err == nil && ctx.Err() == nil && h.allowed.Starts()
}

// allow computes the allowance. In mode off there is none.
func (h *hopState) allow(ctx context.Context, cfg *hopConfig) error {
	s, t := h.scope, &cfg.terms
	if s.mode == budgetattr.ModeOff {
		return nil
	}
	h.observe(cfg)
	if limit, held := s.bounds(ctx); !limit.IsZero() {
		h.governed, h.before = true, limit.Sub(h.start)
		t.Remaining, t.Tell = LimitOf(h.before), limit.Sub(held)
		if s.governor == budgetattr.GovernedByExpiry && !limit.Before(s.limit) {
			t.Governor = budgetattr.GovernedByExpiry
		}
	}
	return t.allow(&h.allowed)
}

// admit returns why the hop must not start.
func (h *hopState) admit(ctx context.Context, cfg *hopConfig) error {
	if err := h.allow(ctx, cfg); err != nil {
		return err
	}
	if a := &h.allowed; !a.Bounded || a.Amount > 0 && a.Amount >= a.Floor { // a.Starts(), without a copy
		return nil
	}
	if h.external() && !h.scope.edge.control.decide(h.start, true) {
		h.free = true
		return nil
	}
	return h.exhaustion(h.ownCause())
}

// exhaustion is the error of a refusal.
func (h *hopState) exhaustion(cause budgetattr.Cause) *ExhaustedError {
	return &ExhaustedError{
		Stage: h.stage, Cause: cause, Binding: h.allowed.Binding, Refused: true,
		Allowance: h.allowed.Amount, Floor: h.allowed.Floor, Remaining: h.before, HasRemaining: h.governed,
	}
}

// observe fills in the bounds that the policy knows of the dependency.
func (h *hopState) observe(cfg *hopConfig) {
	p := &h.scope.edge.policy
	t := &cfg.terms
	if p.Limits != nil {
		if d, ok := p.Limits.Lookup(h.stage, h.peer); ok {
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
	if p.Estimator != nil && !t.Observed.set {
		t.Observed = p.Estimator.Limit(h.stage, h.peer)
	}
}

// external reports whether the refusal rests on a value received from outside: even the whole budget as it was received
// would not have reached the floor. What this process spent of it, on its own clock, is nobody else's fault.
func (h *hopState) external() bool {
	if h.entry == nil || !h.entry.arrival.Ask.set || h.allowed.Binding != budgetattr.BindingBudget {
		return false
	}
	received, ok := h.entry.grant.Received.Get()
	return ok && received-h.allowed.Reserve < max(h.allowed.Floor, 1)
}

// ownEnd is the error of an end by the hop's own time.
func (h *hopState) ownEnd() error {
	switch h.allowed.Binding {
	case budgetattr.BindingCap, budgetattr.BindingObserved:
		return localDeadline
	}
	return CauseError(h.ownCause())
}

// ownCause is the cause of an end by the hop's own time.
func (h *hopState) ownCause() budgetattr.Cause {
	switch h.allowed.Binding {
	case budgetattr.BindingExpiry:
		return budgetattr.CauseExpiry
	case budgetattr.BindingBudget:
		if h.entry != nil {
			return h.entry.limitCause(budgetattr.GovernedByDeadline)
		}
	}
	return budgetattr.CauseLocalDeadline
}

// dead returns why a context that has ended derives no new work.
func (h *hopState) dead(ctx context.Context) error {
	cause, _ := CauseOf(ctx)
	if isTime(cause) {
		return h.exhaustion(cause)
	}
	return CauseError(cause)
}

// derive returns the context of the hop: the parent's, if that ends no later.
func (h *hopState) derive(ctx context.Context, stream bool) context.Context {
	s := h.scope
	switch {
	case !h.ends() || s.mode == budgetattr.ModeOff:
		return ctx
	case s.mode == budgetattr.ModeShadow:
		return s.within(ctx, h.end())
	case stream && h.entry != nil && h.entry.liftable() && !h.entry.lifted.Load():
		inner, cancel := context.WithCancelCause(ctx)
		cause := h.ownEnd()
		h.give = cancel
		h.timer = time.AfterFunc(h.allowed.Amount, func() { cancel(cause) })
		// There is no deadline to inherit, but whoever is called below gets no more than the hop has.
		return s.within(inner, h.end())
	case h.governed && h.allowed.Reserve == 0 && h.allowed.Amount == h.before:
		if d, ok := ctx.Deadline(); ok && !h.end().Before(d) {
			return ctx
		}
	}
	inner, cancel := context.WithDeadlineCause(ctx, h.end(), h.ownEnd())
	h.cancel = cancel
	return inner
}

// lift takes the hop's own time off a stream whose first output is out. The caller holds the entry's lock, under which the
// hop cannot end.
func (h *hopState) lift() {
	if h.timer != nil {
		h.timer.Stop()
	}
}

// startSpan starts the span, unless the request's own span is not recorded: then no part of it is.
func (h *hopState) startSpan(ctx context.Context, cfg *hopConfig) context.Context {
	if h.entry != nil && !h.entry.recorded {
		return ctx
	}
	name := cfg.name
	if name == "" {
		name = h.stage
	}
	opts := spanKinds[cfg.kind]
	if len(cfg.attrs) > 0 {
		opts = append(opts[:len(opts):len(opts)], trace.WithAttributes(cfg.attrs...))
	}
	ctx, h.span = h.scope.edge.tracer.Start(ctx, name, opts...)
	h.kept = *cfg
	h.kept.attrs = nil
	h.cfg = &h.kept
	return ctx
}

func (h *hopState) countRefusal(ctx context.Context) {
	m := h.scope.edge.metrics
	m.refused.Add(ctx, 1, m.with(labels{stage: h.stage, peer: h.peer, mode: h.scope.mode}))
}

// refuse records a hop that was not started and gives the state back.
func (h *hopState) refuse(ctx context.Context, cfg *hopConfig, err error) {
	h.exhausted(err)
	h.countRefusal(ctx)
	h.startSpan(ctx, cfg)
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
	h.recycle()
}

// exhausted tells the request that one of its hops had no time.
func (h *hopState) exhausted(err error) {
	if e, ok := errors.AsType[*ExhaustedError](err); ok && h.entry != nil {
		h.entry.update(func() { h.entry.exhausted = e })
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

// recycle gives the state back. The caller holds no reference to it but its own.
func (h *hopState) recycle() {
	attrs := h.attrs
	clear(attrs)
	h.hopFacts = hopFacts{}
	h.attrs = attrs[:0]
	hopStates.Put(h)
}
