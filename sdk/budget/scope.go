package budget

import (
	"context"
	"sync"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

type scopeKey struct{}

// scope is what a context knows of the budget beyond its own deadline. It is immutable.
type scope struct {
	edge  *Edge
	entry *Entry // nil outside a request and in detached work
	// limit is the governing limit, on the monotonic clock; zero if there is none. reserve is how much earlier hops must end.
	limit    time.Time
	reserve  time.Duration
	governor budgetattr.Governor
	mode     budgetattr.Mode
	attempt  *attempt
	detached string
}

// scopeFrom returns the scope of ctx, or nil.
func scopeFrom(ctx context.Context) *scope {
	if e, ok := ctx.(*entryContext); ok {
		return e.scope
	}
	return scopeBelow(ctx)
}

func scopeBelow(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// within returns ctx with the limit of a hop that gives it no deadline.
func (s *scope) within(ctx context.Context, end time.Time) context.Context {
	child := *s
	child.limit, child.reserve = end, 0
	return context.WithValue(ctx, scopeKey{}, &child)
}

// outside is the scope of contexts that no edge has touched. It uses the global telemetry providers, which delegate to
// whatever is installed later.
var outside = sync.OnceValue(func() *scope {
	return &scope{edge: NewEdge(Policy{}), mode: budgetattr.ModeEnforce}
})

// bounds returns the governing limit of ctx, on the monotonic clock, and how much earlier hops under it must end; zero if
// there is none. A limit that a target has lifted counts no more.
func (s *scope) bounds(ctx context.Context) (limit time.Time, reserve time.Duration) {
	if s.entry == nil || !s.entry.lifted.Load() {
		limit, reserve = s.limit, s.reserve
		if _, own := ctx.(*entryContext); own {
			return limit, reserve // whatever deadline the request came with is in it
		}
	}
	d, ok := ctx.Deadline()
	if !ok || d == limit {
		return limit, reserve
	}
	if d = monotonic(d); limit.IsZero() {
		return d, 0
	}
	if d.Before(limit) {
		// The reserve is counted from our limit: a nearer deadline of others has left some of it already.
		limit, reserve = d, max(reserve-limit.Sub(d), 0)
	}
	return limit, reserve
}

// monotonic returns an instant that may know the wall clock only, as it is now on the monotonic clock: from here on a jump
// of the wall clock changes nothing.
func monotonic(at time.Time) time.Time {
	if at != at.Round(0) {
		return at
	}
	now := time.Now()
	return now.Add(at.Sub(now))
}

// Remaining returns the time to the governing limit of ctx, negative once it has passed, and false if there is none.
func Remaining(ctx context.Context) (time.Duration, bool) {
	s := scopeFrom(ctx)
	if s == nil {
		s = outside()
	}
	limit, _ := s.bounds(ctx)
	if limit.IsZero() {
		return 0, false
	}
	return time.Until(limit), true
}

// Expire returns a context that ends at the given instant at the latest: the data, quote, session or permission that the
// work rests on holds no longer. An instant after the present limit changes nothing. The entry span records that the expiry
// governed. The caller calls cancel when the work is over.
func Expire(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	s := scopeFrom(ctx)
	if s == nil {
		s = outside()
	}
	at = monotonic(at)
	limit, reserve := s.bounds(ctx)
	if !limit.IsZero() && !at.Before(limit) || s.mode == budgetattr.ModeOff {
		return context.WithCancel(ctx)
	}
	child := *s
	child.limit, child.reserve, child.governor = at, reserve, budgetattr.GovernedByExpiry
	if s.entry != nil {
		s.entry.governedByExpiry(at)
	}
	ctx = context.WithValue(ctx, scopeKey{}, &child)
	if s.mode == budgetattr.ModeShadow {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, at, expired)
}

// Detach returns a context for work that is declared to outlive its caller under a durable id. It keeps the values of ctx
// and neither its deadline nor its cancellation; give it a deadline of its own. Its hops carry the id and never count as
// left over by the request.
func Detach(ctx context.Context, id string) context.Context {
	s := scopeFrom(ctx)
	if s == nil {
		s = outside()
	}
	child := &scope{edge: s.edge, mode: s.mode, detached: id}
	return context.WithValue(context.WithoutCancel(ctx), scopeKey{}, child)
}

// Soft returns a context that ends lead before the governing limit of ctx, so that work can wrap up before the hard stop
// comes. Without a limit it ends with ctx. Watch its Done channel; run the work itself under ctx. The caller calls cancel.
func Soft(ctx context.Context, lead time.Duration) (context.Context, context.CancelFunc) {
	if left, ok := Remaining(ctx); ok {
		return context.WithDeadlineCause(ctx, time.Now().Add(left-max(lead, 0)), errSoft)
	}
	return context.WithCancel(ctx)
}

type softError struct{}

func (softError) Error() string   { return "soft signal: the budget ends soon" }
func (softError) Timeout() bool   { return true }
func (softError) Temporary() bool { return false }

var errSoft error = softError{}

// ModeOf returns the mode in which work under ctx runs. Transports leave what they send unchanged unless it is enforce.
func ModeOf(ctx context.Context) budgetattr.Mode {
	if s := scopeFrom(ctx); s != nil {
		return s.mode
	}
	return budgetattr.ModeEnforce
}
