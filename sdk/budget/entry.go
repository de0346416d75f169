package budget

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Arrival is what is known of a unit of work when it arrives. Middlewares and consumers fill it.
type Arrival struct {
	// Name is the name of the entry span, Kind its kind, Attributes what it starts with.
	Name       string
	Kind       trace.SpanKind
	Attributes []attribute.KeyValue
	// Ask is the remainder that the caller sent.
	Ask Limit
	// Source replaces the source of a budget granted as asked: envelope or regrant. Empty means caller.
	Source budgetattr.Source
	// Expiry is an instant after which the work is worthless, for example that of a permission. Zero means none.
	Expiry time.Time
	// Waited is time that the work waited in this process before it arrived here, EnvelopeWait time in a broker. The budget
	// is already net of both.
	Waited, EnvelopeWait time.Duration
	// Attempt is the number of the attempt over all layers, from 1; zero means 1.
	Attempt int
	// Endless says that the work may turn into one without an end, as a websocket does: its deadline holds until
	// [Entry.Lift].
	Endless bool
	// ParentCause says why the work's context is cancelled, if it is: client_disconnect where a connection carries it.
	// Empty means upstream_cancel.
	ParentCause budgetattr.Cause
}

// Entry is one unit of work in the service: its budget, its entry span, and the hops open under it. It is safe for
// concurrent use.
type Entry struct {
	edge    *Edge
	arrival Arrival
	grant   Grant
	span    trace.Span
	// recorded says whether the span is; if it is not, no hop of the request has a span.
	recorded bool
	start    time.Time
	scope    scope
	ctx      entryContext
	under    entryContext // what ctx is made of begins here, so that hops can derive from the standard library's own
	base     context.Context
	cancel   context.CancelCauseFunc
	release  []func()

	lifted    atomic.Bool
	firstCall atomic.Int64 // nanoseconds from start to the first downstream call

	hopSet      // its lock guards what follows
	signal      signal
	refusal     *ExhaustedError
	governor    budgetattr.Governor
	limit       time.Time
	reachedAt   time.Time // the policy's target
	times       []attribute.KeyValue
	queued      time.Duration
	cleanup     cleanupTime
	outcome     budgetattr.Outcome
	degraded    []string
	lateResults int
	lateCost    float64
	route       string
	exhausted   *ExhaustedError
	answered    bool
	left        []openHop // hops open when the answer went out
}

type signal struct {
	at    time.Time
	cause budgetattr.Cause
}

// entryContext is the context of an entry: it answers for the scope without a further context.
type entryContext struct {
	context.Context
	scope *scope
}

func (c *entryContext) Value(key any) any {
	if key == (scopeKey{}) {
		return c.scope
	}
	return c.Context.Value(key)
}

// Start grants a budget to work that arrived under ctx and starts its entry span. The returned context ends with the
// budget, with ctx, or with [Entry.Cancel]. The entry is never nil and must be ended, also if the error says that the
// work was refused; then it must not run.
func (e *Edge) Start(ctx context.Context, a Arrival) (context.Context, *Entry, error) {
	mode := e.control.Mode()
	en := &Entry{edge: e, arrival: a, start: time.Now(), queued: a.Waited, governor: budgetattr.GovernedByDeadline}
	ctx, en.span = e.tracer.Start(ctx, a.Name, trace.WithSpanKind(a.Kind), trace.WithAttributes(a.Attributes...))
	en.base, en.recorded = ctx, en.span.IsRecording()
	var refusal *ExhaustedError
	if mode != budgetattr.ModeOff {
		mode, refusal = en.admit(mode)
	}
	en.scope = scope{edge: e, entry: en, limit: en.limit, governor: en.governor, mode: mode}
	if !en.limit.IsZero() {
		en.scope.reserve = e.policy.Reserve
	}
	en.derive(mode)
	if refusal != nil && mode == budgetattr.ModeEnforce {
		en.refusal = refusal
		return &en.ctx, en, refusal
	}
	return &en.ctx, en, nil
}

// admit grants the budget and returns the mode of this request and why it should be refused, if it should. A rejection
// that rests on the caller's value and is over the cap makes the request one that is only watched.
func (en *Entry) admit(mode budgetattr.Mode) (budgetattr.Mode, *ExhaustedError) {
	policy := &en.edge.policy
	g := policy.Grant(en.arrival.Ask)
	if g.Source == budgetattr.SourceCaller && en.arrival.Source != "" {
		g.Source = en.arrival.Source
	}
	limit, bounded := g.Received.Get()
	if bounded {
		en.limit = en.start.Add(limit)
	}
	if d, ok := en.base.Deadline(); ok && (en.limit.IsZero() || d.Before(en.limit)) {
		if !bounded {
			g.Source = budgetattr.SourceCaller
		}
		// Measured once, like an expiry: a deadline made elsewhere may know the wall clock only.
		left := d.Sub(en.start)
		g.Received, en.limit = LimitOf(max(left, 0)), en.start.Add(left)
	}
	expiredAlready := false
	if x := en.arrival.Expiry; !x.IsZero() {
		x = en.start.Add(x.Sub(en.start))
		if en.limit.IsZero() || x.Before(en.limit) {
			en.limit, en.governor = x, budgetattr.GovernedByExpiry
			expiredAlready = !x.After(en.start)
		}
	}
	en.grant = g
	refused := g.Source == budgetattr.SourceRefused
	// What an envelope says was checked against clocks by who took it from its queue: expired work never runs.
	stored := en.arrival.Source != ""
	if en.arrival.Ask.set && !stored && mode == budgetattr.ModeEnforce && !en.edge.control.decide(en.start, refused) && refused {
		mode = budgetattr.ModeShadow
	}
	var refusal *ExhaustedError
	if refused || expiredAlready {
		refusal = &ExhaustedError{
			Cause: en.limitCause(en.governor), Refused: true, Allowance: max(en.arrival.Ask.amount, 0), Floor: policy.Min, HasRemaining: true,
		}
	}
	if refused && mode == budgetattr.ModeShadow {
		en.limit = en.start.Add(max(en.arrival.Ask.amount, 0))
	}
	return mode, refusal
}

// derive makes the context of the entry.
func (en *Entry) derive(mode budgetattr.Mode) {
	var inner context.Context
	byLimit := CauseError(en.limitCause(en.governor))
	en.under = entryContext{Context: en.base, scope: &en.scope}
	if mode != budgetattr.ModeEnforce {
		inner, en.cancel = context.WithCancelCause(&en.under)
	} else {
		// Cut off from the base, whose end arrives through baseDone with its cause.
		inner, en.cancel = context.WithCancelCause(context.WithoutCancel(&en.under))
		switch {
		case en.limit.IsZero():
		case en.liftable():
			// No deadline that children would inherit: it may be lifted.
			t := time.AfterFunc(time.Until(en.limit), func() { en.cancel(byLimit) })
			en.release = append(en.release, func() { t.Stop() })
		default:
			var stop context.CancelFunc
			inner, stop = context.WithDeadlineCause(inner, en.limit, byLimit)
			en.release = append(en.release, stop)
		}
	}
	stop := context.AfterFunc(en.base, en.baseDone)
	en.release = append(en.release, func() { stop() })
	en.ctx = entryContext{Context: inner, scope: &en.scope}
}

// liftable reports whether the deadline may be lifted before the end.
func (en *Entry) liftable() bool {
	return en.edge.policy.Target == budgetattr.TargetFirstOutput || en.arrival.Endless
}

// limitCause is the cause of an end by the governing limit.
func (en *Entry) limitCause(governor budgetattr.Governor) budgetattr.Cause {
	if governor == budgetattr.GovernedByExpiry {
		return budgetattr.CauseExpiry
	}
	switch en.grant.Source {
	case budgetattr.SourceDefault, budgetattr.SourceClamped, budgetattr.SourceNone, budgetattr.SourceRaised:
		return budgetattr.CauseLocalDeadline
	}
	return budgetattr.CauseUpstreamDeadline
}

func (en *Entry) baseDone() {
	cause, known := causeOfError(context.Cause(en.base))
	switch {
	case known:
	case en.arrival.ParentCause == budgetattr.CauseUpstreamCancel && en.nearLimit():
		// A caller whose deadline ran out cancels the call; its notice and our own clock arrive together.
		cause = budgetattr.CauseUpstreamDeadline
	case errors.Is(en.base.Err(), context.DeadlineExceeded):
		cause = budgetattr.CauseUpstreamDeadline
	case en.arrival.ParentCause != "":
		cause = en.arrival.ParentCause
	default:
		cause = budgetattr.CauseUpstreamCancel
	}
	en.Cancel(cause)
}

// nearLimit reports whether the caller's own deadline is as good as over. The caller counted from when it sent the call, we
// count from its arrival: what the call was on its way, which nobody can measure, the caller's notice comes early. A tenth
// of the budget is allowed for that, at least two milliseconds and at most fifty.
func (en *Entry) nearLimit() bool {
	asked, ok := en.arrival.Ask.Get()
	if !ok {
		return false
	}
	left := asked - time.Since(en.start)
	return left <= min(max(asked/10, 2*time.Millisecond), 50*time.Millisecond)
}

// Cancel ends the work of the entry for the given reason: shutdown, superseded, a client that left. The first signal wins,
// except that a caller's wins over a timeout at the same time.
func (en *Entry) Cancel(cause budgetattr.Cause) {
	en.mu.Lock()
	if en.signal.at.IsZero() && !en.answered {
		en.signal = signal{at: time.Now(), cause: cause}
	}
	en.mu.Unlock()
	en.cancel(CauseError(cause))
}

// signalled returns the first signal that came from outside the budget, also if its notice is still on the way.
func (en *Entry) signalled() (signal, bool) {
	en.mu.Lock()
	s := en.signal
	ended := en.ended || en.answered
	en.mu.Unlock()
	if s.at.IsZero() && !ended && en.base.Err() != nil {
		en.baseDone()
		en.mu.Lock()
		s = en.signal
		en.mu.Unlock()
	}
	return s, !s.at.IsZero()
}

// FromContext returns the entry that ctx belongs to, or nil outside a request.
func FromContext(ctx context.Context) *Entry {
	if s := scopeFrom(ctx); s != nil {
		return s.entry
	}
	return nil
}

// Span returns the entry span.
func (en *Entry) Span() trace.Span { return en.span }

// Grant returns what was granted.
func (en *Entry) Grant() Grant { return en.grant }

// Mode returns the mode of this request.
func (en *Entry) Mode() budgetattr.Mode { return en.scope.mode }

// SetRoute names the route, for metrics; it must be of bounded cardinality.
func (en *Entry) SetRoute(route string) { en.update(func() { en.route = route }) }

// Route returns the route that was named.
func (en *Entry) Route() string {
	en.mu.Lock()
	defer en.mu.Unlock()
	return en.route
}

// Exhausted returns the last refusal or timeout of one of the request's hops, or nil.
func (en *Entry) Exhausted() *ExhaustedError {
	en.mu.Lock()
	defer en.mu.Unlock()
	return en.exhausted
}

// Answered says that the answer goes out now though the work has not returned: the hops open now are those that nobody
// waits for, and a caller that leaves from now on has got its answer.
func (en *Entry) Answered() {
	en.update(func() {
		if !en.answered {
			en.answered, en.left = true, en.openHops()
		}
	})
}

// update changes the entry unless it has ended; from then on its facts are read without the lock.
func (en *Entry) update(change func()) {
	en.mu.Lock()
	defer en.mu.Unlock()
	if !en.ended {
		change()
	}
}

// SetOutcome declares the final state. Without it, the error given to End and the cause of the context decide.
func (en *Entry) SetOutcome(o budgetattr.Outcome) { en.update(func() { en.outcome = o }) }

// AddQueueTime records time that the work waited locally for its turn.
func (en *Entry) AddQueueTime(d time.Duration) {
	en.update(func() { en.queued += max(d, 0) })
}

// Degrade records that the answer goes out without a stage, or with less than it should give.
func (en *Entry) Degrade(stage string) {
	en.update(func() {
		if !slices.Contains(en.degraded, stage) {
			en.degraded = append(en.degraded, stage)
		}
	})
}

// Degraded returns the degraded stages so far, in order.
func (en *Entry) Degraded() []string {
	en.mu.Lock()
	defer en.mu.Unlock()
	return slices.Clone(en.degraded)
}

// LateResult counts a result that was refused because its unit of work was closed.
func (en *Entry) LateResult() {
	en.update(func() { en.lateResults++ })
	m := en.edge.metrics
	m.lateResults.Add(en.base, 1, m.with(labels{}))
}

// Reached marks the moment at which the request reached a target; the first time counts, and is recorded. The margin is taken
// at the target of the policy. If that is the first output, the deadline is lifted for what follows. Who has found the
// answer valid reports [budgetattr.TargetValidated].
func (en *Entry) Reached(target budgetattr.Target) {
	key, first := timeOf(target), target == budgetattr.TargetFirstOutput
	if key == "" || first && en.edge.policy.target() != target {
		return // every answer has a first output
	}
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.ended || slices.ContainsFunc(en.times, func(kv attribute.KeyValue) bool { return string(kv.Key) == key }) {
		return
	}
	now := time.Now()
	if en.recorded {
		en.times = append(en.times, attribute.Float64(key, now.Sub(en.start).Seconds()))
	}
	if target == en.edge.policy.target() && en.reachedAt.IsZero() {
		en.reachedAt = now
		if first {
			en.lift()
		}
	}
}

// Lift takes the deadline off work that has turned into one without an end; see [Arrival]. The margin is taken now. Of other
// work it changes nothing.
func (en *Entry) Lift() {
	en.update(func() {
		if en.arrival.Endless && en.reachedAt.IsZero() {
			en.reachedAt = time.Now()
			en.lift()
		}
	})
}

// lift takes the deadline off, unless it is over. The caller holds the lock.
func (en *Entry) lift() {
	if en.ctx.Err() != nil || !en.lifted.CompareAndSwap(false, true) {
		return
	}
	for _, h := range en.states {
		if h.listed {
			h.lift()
		}
	}
	if en.scope.mode == budgetattr.ModeEnforce && !en.limit.IsZero() {
		en.release[0]()
	}
}

// Reached marks the moment at which the request of ctx reached a target; see [Entry.Reached].
func Reached(ctx context.Context, target budgetattr.Target) {
	if en := FromContext(ctx); en != nil {
		en.Reached(target)
	}
}

func (en *Entry) governedByExpiry(at time.Time) {
	en.update(func() {
		if en.limit.IsZero() || at.Before(en.limit) {
			en.limit, en.governor = at, budgetattr.GovernedByExpiry
		}
	})
}

// called notes the first downstream call.
func (en *Entry) called(p *plan) {
	en.firstCall.CompareAndSwap(0, max(int64(p.start().Sub(en.start)), 1))
}
