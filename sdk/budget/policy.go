package budget

import (
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Trust says how much the time a caller asks for is worth.
type Trust uint8

const (
	// TrustEdge, the default, is for callers outside: what they ask for is a wish, clamped to [Min, Max].
	TrustEdge Trust = iota
	// TrustInternal is for callers that propagate a remainder: it is clamped to Max, never raised, and refused below Min.
	TrustInternal
	// TrustNone ignores what the caller asks for and grants the default.
	TrustNone
)

// Policy says which budget a channel grants. It is a plain value, copied by who takes it. The zero Policy grants no budget
// to who asks for none and what they want to who asks.
type Policy struct {
	// Default is granted to who asks for nothing. Zero means Max, and no budget if that is zero too.
	Default time.Duration
	// Min is the smallest budget with which the work is worth starting, Max the largest that is granted; zero means no bound.
	Min, Max time.Duration
	// Reserve is kept for the answer: hops must leave it.
	Reserve time.Duration
	// Cleanup is the budget of clean-up after the end. Zero means one second.
	Cleanup time.Duration
	// Channel names the channel, for example chat, webhook or batch.
	Channel string
	// Trust says how far a caller's ask is believed.
	Trust Trust
	// Target is the result that the budget is about. Empty means the complete answer. With first output the deadline is
	// lifted once [Reached] was called for it, so that a stream is not cut. Because a context cannot take back a deadline
	// that it has shown, the request's own context then shows none: [Remaining] knows it, hops have theirs, and its end is a
	// cancellation whose cause is the [*ExhaustedError].
	Target budgetattr.Target
	// Control switches enforcement at run time. Several policies may share one. Nil means enforcing with the default cap.
	Control *Control
	// Limits are bounds per dependency from a policy file; Estimator finds such bounds in this process. Both may be nil;
	// Limits come first.
	Limits    *Limits
	Estimator *Estimator
}

// DefaultCleanup is the clean-up budget of a policy that names none.
const DefaultCleanup = time.Second

// Validate reports the first contradiction in the policy.
func (p Policy) Validate() error {
	switch {
	case p.Default < 0 || p.Min < 0 || p.Max < 0 || p.Reserve < 0 || p.Cleanup < 0:
		return fmt.Errorf("%w: a policy's durations must not be negative", ErrTerms)
	case p.Max > 0 && p.Default > p.Max:
		return fmt.Errorf("%w: the default %v is above the maximum %v", ErrTerms, p.Default, p.Max)
	case p.Max > 0 && p.Min > p.Max:
		return fmt.Errorf("%w: the minimum %v is above the maximum %v", ErrTerms, p.Min, p.Max)
	case p.Default > 0 && p.Default < p.Min:
		return fmt.Errorf("%w: the default %v is below the minimum %v", ErrTerms, p.Default, p.Min)
	case p.Default > 0 && p.Reserve >= p.Default, p.Max > 0 && p.Reserve >= p.Max:
		return fmt.Errorf("%w: a reserve of %v leaves no hop any time of the default %v and the maximum %v", ErrTerms, p.Reserve, p.Default, p.Max)
	case p.Trust > TrustNone:
		return fmt.Errorf("%w: trust %d is not known", ErrTerms, p.Trust)
	}
	switch p.Target {
	case "", budgetattr.TargetFirstOutput, budgetattr.TargetComplete, budgetattr.TargetValidated:
		return nil
	}
	return fmt.Errorf("%w: target %q is not known", ErrTerms, p.Target)
}

// Grant is what an edge granted and why.
type Grant struct {
	// Requested is what the caller asked for.
	Requested Limit
	// Received is the budget; absent if there is none, zero if the work was refused.
	Received Limit
	Source   budgetattr.Source
}

// Grant returns the budget for what a caller asked. An ask of zero or less has expired and is refused.
func (p Policy) Grant(ask Limit) Grant {
	g := Grant{Requested: ask, Received: ask, Source: budgetattr.SourceCaller}
	switch {
	case !ask.set || p.Trust == TrustNone:
		g.Source = budgetattr.SourceDefault
		switch {
		case p.Default > 0:
			g.Received = LimitOf(p.Default)
		case p.Max > 0:
			g.Received = LimitOf(p.Max)
		default:
			g.Received, g.Source = Limit{}, budgetattr.SourceNone
		}
	case ask.amount <= 0 || ask.amount < p.Min && p.Trust != TrustEdge:
		g.Received, g.Source = LimitOf(0), budgetattr.SourceRefused
	case ask.amount < p.Min:
		g.Received, g.Source = LimitOf(p.Min), budgetattr.SourceRaised
	case p.Max > 0 && ask.amount > p.Max:
		g.Received, g.Source = LimitOf(p.Max), budgetattr.SourceClamped
	}
	return g
}

func (p Policy) cleanup() time.Duration {
	if p.Cleanup == 0 {
		return DefaultCleanup
	}
	return p.Cleanup
}

func (p Policy) target() budgetattr.Target {
	if p.Target == "" {
		return budgetattr.TargetComplete
	}
	return p.Target
}
