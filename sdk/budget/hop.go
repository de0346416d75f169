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
}

// hopFacts belong to the owner of the hop until its end; what others may change meanwhile is under the state's lock.
type hopFacts struct {
	ctx     context.Context
	cancel  context.CancelFunc
	give    context.CancelCauseFunc // of a stream, in place of a deadline
	timer   *time.Timer
	span    trace.Span
	edge    *Edge
	entry   *Entry // nil if no request waits for the hop
	stage   string
	cfg     hopConfig
	allowed Allowance
	mode    budgetattr.Mode
	start   time.Time
	limit   time.Time // governing limit at the start; zero if none
	end     time.Time // when the hop's own time is over; zero if unbounded
	before  time.Duration
	detach  string
	phase   budgetattr.Phase
	cleanup cleanupTime
	unsure  bool
	refused bool // should have been, or was
	decided budgetattr.Decision
	attrs   []attribute.KeyValue

	prev, next *hopState // of the entry's list, under the entry's lock
}

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
	h := hopStates.Get().(*hopState)
	h.cfg.apply(opts)
	h.stage, h.edge, h.entry, h.mode, h.detach = stage, s.edge, s.entry, s.mode, s.detached
	h.start = time.Now()
	err := h.admit(ctx, s)
	if err == nil && ctx.Err() != nil {
		err = h.dead(ctx)
	}
	h.refused = err != nil
	if h.refused && s.mode == budgetattr.ModeEnforce {
		h.refuse(ctx, err)
		return ctx, Hop{}, err
	}
	hop := Hop{s: h, gen: h.gen}
	h.ctx = h.derive(ctx, s)
	if h.cfg.kind >= trace.SpanKindClient && h.entry != nil {
		h.entry.called(h.start)
	}
	ctx = h.startSpan(h.ctx)
	h.ctx = ctx
	if h.refused {
		// Shadow: what would have happened.
		h.edge.metrics.refused.Add(ctx, 1, h.edge.metrics.with(labels{stage: stage, peer: h.cfg.peer, mode: h.mode}))
	}
	h.cfg.attrs = nil
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
	h := &hopState{}
	h.cfg.apply(opts)
	h.start = time.Now().Add(wait)
	err := h.allow(ctx, s)
	return h.allowed, s.mode != budgetattr.ModeEnforce || err == nil && ctx.Err() == nil && h.allowed.Starts()
}

// admit computes the allowance and returns why the hop must not start.
func (h *hopState) admit(ctx context.Context, s *scope) error {
	if err := h.allow(ctx, s); err != nil || s.mode == budgetattr.ModeOff {
		return err
	}
	h.end = time.Time{}
	if h.allowed.Bounded {
		h.end = h.start.Add(h.allowed.Amount)
	}
	if h.allowed.Starts() {
		return nil
	}
	if h.external() && !s.edge.control.decide(h.start, true) {
		h.end = time.Time{}
		return nil
	}
	return &ExhaustedError{
		Stage: h.stage, Cause: h.ownCause(), Binding: h.allowed.Binding, Refused: true,
		Allowance: h.allowed.Amount, Floor: h.allowed.Floor, Remaining: h.before, HasRemaining: !h.limit.IsZero(),
	}
}

// allow computes the allowance.
func (h *hopState) allow(ctx context.Context, s *scope) error {
	limit, held := s.bounds(ctx)
	h.limit = limit
	t := &h.cfg.terms
	h.observe(s)
	if s.mode == budgetattr.ModeOff {
		h.allowed, h.limit = Allowance{}, time.Time{}
		return nil
	}
	if !limit.IsZero() {
		h.before = limit.Sub(h.start)
		t.Remaining, t.Tell = LimitOf(h.before), limit.Sub(held)
		if s.governor == budgetattr.GovernedByExpiry && !limit.Before(s.limit) {
			t.Governor = budgetattr.GovernedByExpiry
		}
	}
	var err error
	h.allowed, err = t.allowance()
	return err
}

// observe fills in the bounds that the policy knows of the dependency.
func (h *hopState) observe(s *scope) {
	p := &s.edge.policy
	t := &h.cfg.terms
	if p.Limits != nil {
		if d, ok := p.Limits.Lookup(h.stage, h.cfg.peer); ok {
			if !h.cfg.capSet {
				t.Cap = d.Cap
			}
			if !h.cfg.observedByOption {
				t.Observed = d.Observed
			}
			if !h.cfg.minimumSet {
				t.MinUseful = max(t.MinUseful, d.MinUseful)
			}
			t.Confirm = max(t.Confirm, d.Reserve)
		}
	}
	if p.Estimator != nil && !t.Observed.set {
		t.Observed = p.Estimator.Limit(h.stage, h.cfg.peer)
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
		return &ExhaustedError{
			Stage: h.stage, Cause: cause, Binding: h.allowed.Binding, Refused: true, Floor: h.allowed.Floor,
			Remaining: h.before, HasRemaining: !h.limit.IsZero(),
		}
	}
	return CauseError(cause)
}

// derive returns the context of the hop: the parent's, if that ends no later.
func (h *hopState) derive(ctx context.Context, s *scope) context.Context {
	if h.mode == budgetattr.ModeShadow && !h.end.IsZero() {
		child := *s
		child.limit, child.held = h.end, h.end
		return context.WithValue(ctx, scopeKey{}, &child)
	}
	if h.mode != budgetattr.ModeEnforce || h.end.IsZero() {
		return ctx
	}
	if h.cfg.stream && h.entry != nil && h.entry.edge.policy.Target == budgetattr.TargetFirstOutput && !h.entry.lifted.Load() {
		inner, cancel := context.WithCancelCause(ctx)
		cause := h.ownEnd()
		h.give = cancel
		h.timer = time.AfterFunc(h.allowed.Amount, func() { cancel(cause) })
		return inner
	}
	if h.allowed.Reserve == 0 && h.allowed.Amount == h.before && !h.limit.IsZero() {
		if d, ok := ctx.Deadline(); ok && !h.end.Before(d) {
			return ctx
		}
	}
	inner, cancel := context.WithDeadlineCause(ctx, h.end, h.ownEnd())
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
func (h *hopState) startSpan(ctx context.Context) context.Context {
	h.span = nil
	if h.entry != nil && !h.entry.recorded {
		return ctx
	}
	name := h.cfg.name
	if name == "" {
		name = h.stage
	}
	opts := spanKinds[h.cfg.kind]
	if len(h.cfg.attrs) > 0 {
		opts = append(opts[:len(opts):len(opts)], trace.WithAttributes(h.cfg.attrs...))
	}
	ctx, h.span = h.edge.tracer.Start(ctx, name, opts...)
	return ctx
}

// refuse records a hop that was not started and gives the state back.
func (h *hopState) refuse(ctx context.Context, err error) {
	h.exhausted(err)
	m := h.edge.metrics
	m.refused.Add(ctx, 1, m.with(labels{stage: h.stage, peer: h.cfg.peer, mode: h.mode}))
	h.startSpan(ctx)
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
	case h.cfg.refusal != "":
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
