package budget

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// ErrTerms is found in the error of every calculation whose inputs make no sense: a negative reserve, an overflow, a
// number that is not finite.
var ErrTerms = errors.New("budget terms")

// Limit is an optional amount of time. The zero Limit means that there is none. A Limit of zero or less is present and
// leaves no time: missing is not zero.
type Limit struct {
	amount time.Duration
	set    bool
}

// LimitOf returns a Limit that is present.
func LimitOf(d time.Duration) Limit { return Limit{amount: d, set: true} }

// Get returns the amount and whether there is one.
func (l Limit) Get() (time.Duration, bool) { return l.amount, l.set }

// Seconds converts a finite number of seconds to a duration. NaN, infinities and what a duration cannot hold are errors.
func Seconds(s float64) (time.Duration, error) {
	ns := math.Round(s * 1e9)
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return 0, fmt.Errorf("%w: %v seconds is not a finite number", ErrTerms, s)
	case ns >= math.MaxInt64 || ns <= math.MinInt64:
		return 0, fmt.Errorf("%w: %v seconds overflows a duration", ErrTerms, s)
	}
	return time.Duration(ns), nil
}

// Terms are what an allowance is made of. The zero Terms bound nothing.
type Terms struct {
	// Remaining is the time to the governing limit, the nearer of deadline and expiry; it may be negative. Absent means
	// that the work has no budget.
	Remaining Limit
	// Governor says which of the two governs. Empty means the deadline.
	Governor budgetattr.Governor
	// Confirm and Tell are the two parts of the reserve: time to confirm an effect and time to tell the final state.
	Confirm, Tell time.Duration
	// Cap is the dependency's own upper bound, Observed the bound derived from its measured latency.
	Cap, Observed Limit
	// MinUseful is the smallest allowance with which a best-effort hop is worth starting.
	MinUseful time.Duration
	// Expected and Variability together are what an effect, a retry or a hedge needs.
	Expected, Variability time.Duration
}

// Allowance is what one hop may use.
type Allowance struct {
	// Amount is never negative. It means nothing unless Bounded.
	Amount time.Duration
	// Bounded is false if no term bounds the hop.
	Bounded bool
	// Binding is the term that made the amount; empty if not Bounded. Of equal terms the budget comes first.
	Binding budgetattr.Binding
	// Reserve is what the hop must leave, Floor what the allowance must reach for the hop to start.
	Reserve, Floor time.Duration
}

// Starts reports whether the hop is worth starting. Equality starts, but nothing starts with no time at all.
func (a Allowance) Starts() bool { return !a.Bounded || a.Amount > 0 && a.Amount >= a.Floor }

// Allowance returns min(remaining − reserve, cap, observed), or an error that wraps [ErrTerms].
func (t Terms) Allowance() (Allowance, error) {
	s, err := t.share()
	return s.public(), err
}

// share is an [Allowance] as hops keep it, without a pointer in it.
type share struct {
	amount, reserve, floor time.Duration
	by                     term
}

// term is what binds a share.
type term uint8

const (
	unbound term = iota
	byBudget
	byExpiry
	byCap
	byObserved
)

func (t term) binding() budgetattr.Binding {
	switch t {
	case byBudget:
		return budgetattr.BindingBudget
	case byExpiry:
		return budgetattr.BindingExpiry
	case byCap:
		return budgetattr.BindingCap
	case byObserved:
		return budgetattr.BindingObserved
	}
	return ""
}

func (s share) starts() bool { return s.by == unbound || s.amount > 0 && s.amount >= s.floor }

func (s share) public() Allowance {
	return Allowance{Amount: s.amount, Bounded: s.by != unbound, Binding: s.by.binding(), Reserve: s.reserve, Floor: s.floor}
}

func (t *Terms) share() (share, error) {
	s := share{reserve: t.Confirm + t.Tell, floor: t.Expected + t.Variability}
	if t.Confirm|t.Tell|t.MinUseful|t.Expected|t.Variability|s.reserve|s.floor < 0 {
		return share{}, t.invalid()
	}
	s.floor = max(s.floor, t.MinUseful)
	if t.Remaining.set {
		s.amount, s.by = max(max(t.Remaining.amount, 0)-s.reserve, 0), byBudget
		if t.Governor == budgetattr.GovernedByExpiry {
			s.by = byExpiry
		}
	}
	if t.Cap.set {
		s.bound(t.Cap.amount, byCap)
	}
	if t.Observed.set {
		s.bound(t.Observed.amount, byObserved)
	}
	return s, nil
}

// invalid says what is wrong with terms of which something is.
func (t *Terms) invalid() error {
	switch {
	case t.Confirm < 0 || t.Tell < 0:
		return fmt.Errorf("%w: a reserve of %v is negative", ErrTerms, min(t.Confirm, t.Tell))
	case t.MinUseful < 0 || t.Expected < 0 || t.Variability < 0:
		return fmt.Errorf("%w: a floor of %v is negative", ErrTerms, min(t.MinUseful, t.Expected, t.Variability))
	case t.Confirm+t.Tell < 0:
		return fmt.Errorf("%w: a reserve of %v and %v overflows", ErrTerms, t.Confirm, t.Tell)
	}
	return fmt.Errorf("%w: an expectation of %v and %v overflows", ErrTerms, t.Expected, t.Variability)
}

func (s *share) bound(d time.Duration, by term) {
	if d = max(d, 0); s.by == unbound || d < s.amount {
		s.amount, s.by = d, by
	}
}
