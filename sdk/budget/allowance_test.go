package budget_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

func TestT39_AllowanceTable(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	lim := budget.LimitOf
	for _, c := range []struct {
		name    string
		terms   budget.Terms
		amount  time.Duration
		binding budgetattr.Binding
		starts  bool
	}{
		{"nothing bounds", budget.Terms{}, 0, "", true},
		{"budget", budget.Terms{Remaining: lim(2 * s), Tell: 100 * ms}, 1900 * ms, budgetattr.BindingBudget, true},
		{"both parts of the reserve", budget.Terms{Remaining: lim(2 * s), Tell: 100 * ms, Confirm: 200 * ms}, 1700 * ms, budgetattr.BindingBudget, true},
		{"expiry", budget.Terms{Remaining: lim(2 * s), Governor: budgetattr.GovernedByExpiry}, 2 * s, budgetattr.BindingExpiry, true},
		{"cap", budget.Terms{Remaining: lim(2 * s), Cap: lim(s)}, s, budgetattr.BindingCap, true},
		{"observed", budget.Terms{Remaining: lim(2 * s), Cap: lim(s), Observed: lim(400 * ms)}, 400 * ms, budgetattr.BindingObserved, true},
		{"of equals the budget", budget.Terms{Remaining: lim(s), Cap: lim(s), Observed: lim(s)}, s, budgetattr.BindingBudget, true},
		{"exact zero", budget.Terms{Remaining: lim(100 * ms), Tell: 100 * ms}, 0, budgetattr.BindingBudget, false},
		{"zero remaining", budget.Terms{Remaining: lim(0)}, 0, budgetattr.BindingBudget, false},
		{"negative remaining", budget.Terms{Remaining: lim(-s), Tell: 100 * ms}, 0, budgetattr.BindingBudget, false},
		{"least remaining", budget.Terms{Remaining: lim(math.MinInt64), Tell: math.MaxInt64}, 0, budgetattr.BindingBudget, false},
		{"reserve above remaining", budget.Terms{Remaining: lim(s), Tell: 2 * s}, 0, budgetattr.BindingBudget, false},
		{"zero cap is present", budget.Terms{Remaining: lim(s), Cap: lim(0)}, 0, budgetattr.BindingCap, false},
		{"negative cap", budget.Terms{Cap: lim(-1)}, 0, budgetattr.BindingCap, false},
		{"floor reached exactly", budget.Terms{Remaining: lim(150 * ms), MinUseful: 150 * ms}, 150 * ms, budgetattr.BindingBudget, true},
		{"floor missed by one", budget.Terms{Remaining: lim(150*ms - 1), MinUseful: 150 * ms}, 150*ms - 1, budgetattr.BindingBudget, false},
		{"expected and variability", budget.Terms{Remaining: lim(s), Expected: 600 * ms, Variability: 401 * ms}, s, budgetattr.BindingBudget, false},
		{"one nanosecond", budget.Terms{Remaining: lim(1)}, 1, budgetattr.BindingBudget, true},
		{"largest", budget.Terms{Remaining: lim(math.MaxInt64)}, math.MaxInt64, budgetattr.BindingBudget, true},
	} {
		a, err := c.terms.Allowance()
		if err != nil || a.Amount != c.amount || a.Binding != c.binding || a.Starts() != c.starts {
			t.Errorf("%s: %+v %v starts %v", c.name, a, err, a.Starts())
		}
	}
	for _, c := range []budget.Terms{
		{Tell: -1}, {Confirm: -1}, {MinUseful: -1}, {Expected: -1}, {Variability: -1},
		{Tell: math.MaxInt64, Confirm: 1}, {Expected: math.MaxInt64, Variability: math.MaxInt64},
	} {
		if _, err := c.Allowance(); !errors.Is(err, budget.ErrTerms) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 9223372036.854775807} {
		if _, err := budget.Seconds(f); !errors.Is(err, budget.ErrTerms) {
			t.Errorf("%v: %v", f, err)
		}
	}
	if d, err := budget.Seconds(-0.3); err != nil || d != -300*ms {
		t.Errorf("%v %v", d, err)
	}
}

// The allowance never exceeds any of its terms and never is negative, whatever the terms.
func TestAllowanceIsTheSmallestTerm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64().Draw(t, "ns")) })
		limit := rapid.Custom(func(t *rapid.T) budget.Limit {
			if rapid.Bool().Draw(t, "set") {
				return budget.LimitOf(duration.Draw(t, "d"))
			}
			return budget.Limit{}
		})
		terms := budget.Terms{
			Remaining: limit.Draw(t, "remaining"), Cap: limit.Draw(t, "cap"), Observed: limit.Draw(t, "observed"),
			Confirm: duration.Draw(t, "confirm"), Tell: duration.Draw(t, "tell"),
			MinUseful: duration.Draw(t, "min"), Expected: duration.Draw(t, "expected"), Variability: duration.Draw(t, "variability"),
		}
		a, err := terms.Allowance()
		if err != nil {
			return
		}
		if a.Amount < 0 {
			t.Fatalf("negative allowance %v", a.Amount)
		}
		for _, l := range []budget.Limit{terms.Remaining, terms.Cap, terms.Observed} {
			if d, ok := l.Get(); ok && a.Amount > max(d, 0) {
				t.Fatalf("allowance %v above %v", a.Amount, d)
			}
		}
		if a.Bounded && a.Starts() && (a.Amount == 0 || a.Amount < terms.MinUseful) {
			t.Fatalf("started with %v of %v", a.Amount, terms.MinUseful)
		}
	})
}

func TestGrant(t *testing.T) {
	const s = time.Second
	p := budget.Policy{Default: 2 * s, Min: s, Max: 8 * s}
	internal, none := p, p
	internal.Trust, none.Trust = budget.TrustInternal, budget.TrustNone
	lim := budget.LimitOf
	for _, c := range []struct {
		name     string
		policy   budget.Policy
		ask      budget.Limit
		received budget.Limit
		source   budgetattr.Source
	}{
		{"none asked", p, budget.Limit{}, lim(2 * s), budgetattr.SourceDefault},
		{"as asked", p, lim(3 * s), lim(3 * s), budgetattr.SourceCaller},
		{"at the bounds", p, lim(8 * s), lim(8 * s), budgetattr.SourceCaller},
		{"clamped", p, lim(9 * s), lim(8 * s), budgetattr.SourceClamped},
		{"raised at the edge", p, lim(s / 2), lim(s), budgetattr.SourceRaised},
		{"a remainder is never raised", internal, lim(s / 2), lim(0), budgetattr.SourceRefused},
		{"zero has expired", p, lim(0), lim(0), budgetattr.SourceRefused},
		{"negative has expired", p, lim(-1), lim(0), budgetattr.SourceRefused},
		{"ignored", none, lim(s / 2), lim(2 * s), budgetattr.SourceDefault},
		{"only a maximum", budget.Policy{Max: s}, budget.Limit{}, lim(s), budgetattr.SourceDefault},
		{"no policy, no ask", budget.Policy{}, budget.Limit{}, budget.Limit{}, budgetattr.SourceNone},
		{"no policy", budget.Policy{}, lim(s), lim(s), budgetattr.SourceCaller},
	} {
		if g := c.policy.Grant(c.ask); g.Received != c.received || g.Source != c.source || g.Requested != c.ask {
			t.Errorf("%s: %+v", c.name, g)
		}
	}
	for _, bad := range []budget.Policy{{Default: -1}, {Default: 2, Max: 1}, {Min: 2, Max: 1}, {Default: 1, Min: 2}, {Trust: 9}, {Target: "soon"}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}
