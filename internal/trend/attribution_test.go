package trend

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A slower stage, a smaller budget and another mix of traffic are told apart, and the parts sum to the change.
func TestAttributeTellsCausesApart(t *testing.T) {
	window := func(chat, batch, budget, generate float64) map[string]Makeup {
		of := func(requests, extra float64) Makeup {
			return Makeup{
				Requests: requests, Budget: requests * budget, Margin: requests * (budget - generate - extra),
				Spent: map[string]float64{"generate": requests * generate, "own": requests * extra},
			}
		}
		return map[string]Makeup{"chat": of(chat, 0.1), "batch": of(batch, 0.5)}
	}
	for name, c := range map[string]struct {
		before, after map[string]Makeup
		want          map[string]float64
	}{
		"slower stage":   {window(90, 10, 2, 1), window(180, 20, 2, 1.3), map[string]float64{"generate": -0.3}},
		"smaller budget": {window(90, 10, 2, 1), window(90, 10, 1.5, 1), map[string]float64{PartBudget: -0.5}},
		"other mix":      {window(90, 10, 2, 1), window(50, 50, 2, 1), map[string]float64{PartMix: -0.16}},
		"both":           {window(90, 10, 2, 1), window(50, 50, 2, 1.3), map[string]float64{PartMix: -0.16, "generate": -0.3}},
		"a new kind":     {window(100, 0, 2, 1), window(50, 50, 2, 1), map[string]float64{PartMix: -0.2}},
	} {
		parts, change := Attribute(c.before, c.after)
		sum := 0.0
		for _, p := range parts {
			sum += p.Change
			if math.Abs(p.Change-c.want[p.Name]) > 1e-9 {
				t.Errorf("%s: %s took %g, want %g", name, p.Name, p.Change, c.want[p.Name])
			}
		}
		if math.Abs(sum-change) > 1e-9 {
			t.Errorf("%s: parts sum to %g of %g", name, sum, change)
		}
	}
	if parts, _ := Attribute(window(1, 1, 2, 1), nil); parts != nil {
		t.Errorf("without a later window: %v", parts)
	}
}

func TestPartsSumToTheChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := func(name string) map[string]Makeup {
			all := map[string]Makeup{}
			for _, kind := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID[string]).Draw(t, name) {
				m := Makeup{Requests: rapid.Float64Range(0, 1000).Draw(t, "requests"), Spent: map[string]float64{}}
				m.Budget = m.Requests * rapid.Float64Range(0, 10).Draw(t, "budget")
				m.Margin = m.Budget
				for _, place := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"x", "y"}), rapid.ID[string]).Draw(t, "places") {
					m.Spent[place] = m.Requests * rapid.Float64Range(-1, 10).Draw(t, "spent")
					m.Margin -= m.Spent[place]
				}
				all[kind] = m
			}
			return all
		}
		parts, change := Attribute(window("before"), window("after"))
		sum := 0.0
		for _, p := range parts {
			if p.Name == PartRest {
				t.Fatalf("the rest is %g of %g", p.Change, change)
			}
			sum += p.Change
		}
		if math.Abs(sum-change) > 1e-6 {
			t.Fatalf("parts sum to %g of %g", sum, change)
		}
	})
}
