package alert

import (
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/slo"
)

var at = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

var shop = Labels{Service: "shop", Route: "/buy"}

func defined(t *testing.T, name string) slo.Alert {
	t.Helper()
	all, err := slo.Alerts(slo.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("there is no alert %s", name)
	return slo.Alert{}
}

// windows gives the requests and misses of the pair of windows of the fast burn.
func windows(requests, long, short float64) Values {
	one := func(v float64) map[Labels]float64 { return map[Labels]float64{shop: v} }
	return Values{Counts: map[Count]map[Labels]float64{
		{slo.Requests, time.Hour, 0}: one(requests), {slo.Requests, 5 * time.Minute, 0}: one(requests / 12),
		{slo.Missed, time.Hour, 0}: one(requests * long), {slo.Missed, 5 * time.Minute, 0}: one(requests / 12 * short),
	}}
}

func TestBurn(t *testing.T) {
	a := defined(t, "BudgetMissedFast")
	if needs := Needs(a); len(needs) != 8 {
		t.Errorf("needs %v", needs)
	}
	for name, c := range map[string]struct {
		values Values
		want   bool
	}{
		"fast":   {windows(1200, 0.2, 0.2), true},
		"slow":   {windows(1200, 0.1, 0.1), false},
		"over":   {windows(1200, 0.2, 0), false},
		"sparse": {windows(96, 0.5, 0.5), false},
		"none":   {Values{}, false},
	} {
		value, held := Evaluate(a, c.values, at)[shop]
		if held != c.want || held && (value < 0.199 || value > 0.201) {
			t.Errorf("%s: %v, %v", name, held, value)
		}
	}
}

func TestGrowthNeedsARecord(t *testing.T) {
	a, service := defined(t, "Overload"), Labels{Service: "shop"}
	one := func(v float64) map[Labels]float64 { return map[Labels]float64{service: v} }
	v := Values{Counts: map[Count]map[Labels]float64{
		{slo.Requests, 5 * time.Minute, 0}: one(1000), {slo.Missed, 5 * time.Minute, 0}: one(100),
		{slo.Requests, time.Hour, 5 * time.Minute}: one(6000), {slo.Missed, time.Hour, 5 * time.Minute}: one(12),
	}, First: map[Labels]time.Time{service: at.Add(-65 * time.Minute)}}
	if _, held := Evaluate(a, v, at)[service]; !held {
		t.Error("twice the load and a hundred times the misses do not hold")
	}
	v.First[service] = at.Add(-64 * time.Minute)
	if _, held := Evaluate(a, v, at)[service]; held {
		t.Error("it holds without an hour on record")
	}
}

func TestForecast(t *testing.T) {
	a := defined(t, "MarginErosion")
	days := func(from, step float64, n int) Values {
		var all []Day
		for i := range n {
			all = append(all, Day{at.Add(time.Duration(i-n) * 24 * time.Hour), from + step*float64(i)})
		}
		return Values{
			Counts: map[Count]map[Labels]float64{{slo.Requests, 24 * time.Hour, 0}: {shop: 5000}},
			Levels: map[slo.Measure]map[Labels]float64{slo.Margin: {shop: all[n-1].Worst}}, Days: map[slo.Measure]map[Labels][]Day{slo.Margin: {shop: all}},
		}
	}
	for name, c := range map[string]struct {
		values Values
		want   bool
	}{
		"falls": {days(1, -0.1, 7), true}, "falls slowly": {days(1, -0.01, 7), false}, "rises": {days(0.1, 0.1, 7), false},
		"is below": {days(0.1, -0.1, 7), false}, "three days": {days(1, -0.1, 3), false}, "four days": {days(1, -0.1, 4), true},
	} {
		if _, held := Evaluate(a, c.values, at)[shop]; held != c.want {
			t.Errorf("%s: %v", name, held)
		}
	}
}

// From pending over firing to resolved, and again.
func TestAdvance(t *testing.T) {
	a := slo.Alert{Name: "A", For: 2 * time.Minute}
	var states []State
	step := 0
	next := func(holds bool, want Status, changes int) {
		t.Helper()
		held := map[Labels]float64{}
		if holds {
			held[shop] = float64(step)
		}
		now := at.Add(time.Duration(step) * time.Minute)
		step++
		after, changed := Advance(a, states, held, now)
		if len(changed) != changes || len(after) > 0 && after[0].Status != want || len(after) == 0 && want != "" {
			t.Errorf("step %d: %+v, %d changes, want %s", step, after, len(changed), want)
		}
		if len(after) > 0 {
			states = after
		}
	}
	next(false, "", 0)
	next(true, Pending, 1)
	next(true, Pending, 0)
	next(false, Inactive, 1)
	next(false, "", 0)
	next(true, Pending, 1)
	next(true, Pending, 0)
	next(true, Firing, 1)
	next(true, Firing, 0)
	next(false, Resolved, 1)
	next(false, "", 0)
	if states[0].Value != 8 {
		t.Errorf("the value of the last time it held is %v", states[0].Value)
	}
	a.For = 0
	next(true, Firing, 1)
}

func TestSilence(t *testing.T) {
	id := State{ID: ID{"OrphanWork", Labels{Service: "shop"}}, Blamed: Labels{Stage: "load"}}
	s := Silence{Matchers: map[string]string{"alertname": "OrphanWork", "service": "shop"}, Since: at, Until: at.Add(time.Hour)}
	for after, want := range map[time.Duration]bool{-1: false, 0: true, time.Hour - 1: true, time.Hour: false} {
		if s.Mutes(id, at.Add(after)) != want {
			t.Errorf("after %s: %v", after, !want)
		}
	}
	s.Matchers["stage"] = "other"
	if s.Mutes(id, at) {
		t.Error("another stage is muted")
	}
	again, err := ParseLabels(id.Labels.String())
	if err != nil || again != id.Labels {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestNewStatement(t *testing.T) {
	for text, want := range map[string]string{
		"edge  /v1/answer\ntrace 1\n\nCancelled, 1.586 s left of a budget of 2 s, out of\ntime. First violation: exhausted.\n\n at": "edge /v1/answer: Cancelled, 1.586 s left of a budget of 2 s, out of time",
		"edge\n\nDone.\n": "edge: Done", "edge\n": "edge", "": "",
	} {
		if got := NewStatement("1", text); got.Title != want || got.Text != text {
			t.Errorf("%q: %q, want %q", text, got.Title, want)
		}
	}
}
