package budget

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// cleanupTime sums the clean-up done for one entry or hop.
type cleanupTime struct{ spent, budget time.Duration }

// allowed is the part of the clean-up that is no post-cancel work.
func (c cleanupTime) allowed() time.Duration { return min(c.spent, c.budget) }

// attributes adds the clean-up that was done. Work that was cancelled and did none says within which time it should have
// stopped; for other work within is zero.
func (c cleanupTime) attributes(kv []attribute.KeyValue, within time.Duration) []attribute.KeyValue {
	switch {
	case c.budget == 0 && within == 0:
		return kv
	case c.budget == 0:
		return append(kv, attribute.Float64(budgetattr.CleanupBudgetKey, within.Seconds()))
	}
	return append(kv, attribute.Float64(budgetattr.CleanupTimeKey, c.spent.Seconds()),
		attribute.Float64(budgetattr.CleanupBudgetKey, c.budget.Seconds()))
}

// Cleanup returns a context for what must still be done after the end: rollback, release of a lease, confirmation. It
// keeps the values of ctx and has a fresh budget of its own, the policy's Cleanup, whatever is left of the request. done
// must be called when the clean-up is over; it records the time spent on the entry span. Use [Hop.Cleanup] for one hop.
func Cleanup(ctx context.Context) (cleanup context.Context, done func()) {
	s := scopeFrom(ctx)
	if s == nil {
		s = outside()
	}
	return startCleanup(ctx, s.edge.policy.cleanup(), func(spent, budget time.Duration) {
		if en := s.entry; en != nil {
			en.update(func() {
				en.cleanup.spent += spent
				en.cleanup.budget += budget
			})
		}
	})
}

func startCleanup(ctx context.Context, budget time.Duration, record func(spent, budget time.Duration)) (context.Context, func()) {
	start := time.Now()
	s := scopeFrom(ctx)
	if s == nil {
		s = outside()
	}
	// The clean-up has nothing to do with the limits and the end of the work it cleans up after.
	child := &scope{edge: s.edge, mode: s.mode, detached: s.detached}
	fresh := context.WithValue(context.WithoutCancel(ctx), scopeKey{}, child)
	fresh, cancel := context.WithDeadlineCause(fresh, start.Add(budget), localDeadline)
	done := false
	return fresh, func() {
		if !done {
			done = true
			cancel()
			record(time.Since(start), budget)
		}
	}
}
