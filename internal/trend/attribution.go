package trend

import (
	"cmp"
	"math"
	"slices"
)

// Makeup is what the margins of some requests were made of: sums over them, in any one unit of time. Margin is Budget less
// everything spent.
type Makeup struct {
	Requests, Margin, Budget float64
	Spent                    map[string]float64 // by place
}

// Parts of a change that are no place.
const (
	PartMix    = "mix"
	PartBudget = "budget"
	// PartRest is what the figures leave open; there is none where they add up.
	PartRest = "rest"
)

// Part is what one thing did to the mean margin between two windows; Before and After are its means per request. The mix of
// traffic has none.
type Part struct {
	Name                  string
	Before, After, Change float64
}

// Attribute splits the change of a mean margin between two windows, each given by kind of traffic, into parts that sum to it:
// what other shares of the kinds did, what other budgets did, and what each place did. Within a kind, means are compared; its weight is
// the mean of its two shares, and the mix is weighed by the mean of its two margins, so neither window is the reference. A kind that
// only one window has counts as mix. Without requests in one of the windows there are no parts.
func Attribute(before, after map[string]Makeup) (parts []Part, change float64) {
	all := [2]Makeup{total(before), total(after)}
	if all[0].Requests <= 0 || all[1].Requests <= 0 {
		return nil, 0
	}
	mean := func(window int, of func(Makeup) float64) float64 { return of(all[window]) / all[window].Requests }
	change = mean(1, marginOf) - mean(0, marginOf)

	kinds := map[string]bool{}
	for _, window := range [...]map[string]Makeup{before, after} {
		for kind := range window {
			kinds[kind] = true
		}
	}
	mix, effects := 0.0, map[string]float64{}
	for _, kind := range sorted(kinds) {
		old, young := before[kind], after[kind]
		shares := [2]float64{old.Requests / all[0].Requests, young.Requests / all[1].Requests}
		switch {
		case old.Requests <= 0 && young.Requests <= 0:
			continue
		case old.Requests <= 0:
			old = young
		case young.Requests <= 0:
			young = old
		}
		difference := func(of func(Makeup) float64) float64 { return of(young)/young.Requests - of(old)/old.Requests }
		mix += (shares[1] - shares[0]) * (marginOf(old)/old.Requests + marginOf(young)/young.Requests) / 2
		weight := (shares[0] + shares[1]) / 2
		effects[PartBudget] += weight * difference(func(m Makeup) float64 { return m.Budget })
		for _, place := range places(old, young) {
			effects[place] -= weight * difference(func(m Makeup) float64 { return m.Spent[place] })
		}
	}

	rest := change - mix
	for _, name := range sorted(effects) {
		rest -= effects[name]
		of := func(m Makeup) float64 { return m.Spent[name] }
		if name == PartBudget {
			of = func(m Makeup) float64 { return m.Budget }
		}
		parts = append(parts, Part{Name: name, Before: mean(0, of), After: mean(1, of), Change: effects[name]})
	}
	parts = append(parts, Part{Name: PartMix, Change: mix})
	if math.Abs(rest) > 1e-9*(math.Abs(mean(0, marginOf))+math.Abs(mean(1, marginOf))+1) {
		parts = append(parts, Part{Name: PartRest, Change: rest})
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(math.Abs(b.Change), math.Abs(a.Change)) })
	return parts, change
}

func marginOf(m Makeup) float64 { return m.Margin }

func total(kinds map[string]Makeup) Makeup {
	all := Makeup{Spent: map[string]float64{}}
	for _, kind := range sorted(kinds) {
		m := kinds[kind]
		all.Requests, all.Margin, all.Budget = all.Requests+m.Requests, all.Margin+m.Margin, all.Budget+m.Budget
		for place, amount := range m.Spent {
			all.Spent[place] += amount
		}
	}
	return all
}

func places(a, b Makeup) []string {
	set := map[string]bool{}
	for place := range a.Spent {
		set[place] = true
	}
	for place := range b.Spent {
		set[place] = true
	}
	return sorted(set)
}

// sorted lists the keys of a map in order, so that sums of numbers come out the same each time.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
