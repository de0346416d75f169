// Package load fills a database with weeks of traces into which changes are planted, and asks the reports whether they find them: the
// planted ones with the planted values, and nothing else.
package load

import (
	"fmt"
	"time"
)

const (
	day = 24 * time.Hour
	// Days is how much is filled, ChangeDay the day on which budgets, mix and the step change: a week before the end.
	Days      = 30
	ChangeDay = Days - 7
	// hopsPerTrace: the request, its two calls, the span of the backend.
	hopsPerTrace = 4
	// perRoute is how many requests of a route a day needs for a trend, beside those without an answer.
	perRoute  = 230
	storied   = 8
	maxRoutes = 160
	// MinHops is the least fill: one route for each story.
	MinHops = Days * storied * perRoute * hopsPerTrace
)

// Kind of a story.
type Kind string

// The stories.
const (
	Shrinks  Kind = "shrinks"  // retrieving takes more each day
	Steps    Kind = "steps"    // retrieving takes more from one day on
	Mixes    Kind = "mixes"    // more requests are large from one day on
	Recut    Kind = "recut"    // the budget is smaller from one day on
	Noisy    Kind = "noisy"    // days differ, without a direction
	Seasonal Kind = "seasonal" // Mondays and Tuesdays are slower
)

// Story is what happens to one route.
type Story struct {
	Kind           Kind
	Service, Route string
	// Amount is what changes: by day where it shrinks, else once; half the width where it is noisy.
	Amount time.Duration
}

// Plan says what a fill holds. It follows from the number of hops and the last day.
type Plan struct {
	// From is the begin of the first day, To the end of the last.
	From, To time.Time
	// PerDay traces on each day, on so many routes of so many front services, which call backends.
	PerDay, Routes, Fronts, Backs int
	Stories                       []Story
}

// What the stories are about. A large request takes a tenth of the budget more, and its share is the first, then the second.
const (
	step, cut, noise, season = 300 * time.Millisecond, 400 * time.Millisecond, 100 * time.Millisecond, 120 * time.Millisecond
	share, shareThen         = 0.2, 0.5
	storyBudget              = 2 * time.Second
)

var shrink = [...]time.Duration{6 * time.Millisecond, 12 * time.Millisecond, 24 * time.Millisecond}

// NewPlan spreads hops over the 30 days before to, which is cut to a whole day: 50 services with 200 routes from 4.5 million hops on,
// fewer below, so that every route has requests enough for a trend.
func NewPlan(hops int, to time.Time) (Plan, error) {
	if hops < MinHops {
		return Plan{}, fmt.Errorf("%d hops are too few for stories in %d days: give at least %d", hops, Days, MinHops)
	}
	p := Plan{To: to.UTC().Truncate(day)}
	p.From = p.To.Add(-Days * day)
	p.Routes = min(hops/(Days*perRoute*hopsPerTrace)/4*4, maxRoutes)
	p.Fronts = p.Routes / 4
	p.Backs = max(p.Fronts/4, 1)
	p.PerDay = hops / hopsPerTrace / Days / p.Routes * p.Routes
	for i, amount := range shrink {
		p.tell(i, Shrinks, amount)
	}
	p.tell(3, Steps, step)
	p.tell(4, Mixes, time.Duration((shareThen-share)*float64(storyBudget)/10))
	p.tell(5, Recut, cut)
	p.tell(6, Noisy, noise)
	p.tell(7, Seasonal, season)
	return p, nil
}

func (p *Plan) tell(route int, kind Kind, amount time.Duration) {
	p.Stories = append(p.Stories, Story{
		Kind: kind, Service: fmt.Sprintf("front-%02d", route%p.Fronts), Route: fmt.Sprintf("/route-%03d", route), Amount: amount,
	})
}

// Hops is how many the plan makes.
func (p *Plan) Hops() int { return p.PerDay * p.days() * hopsPerTrace }

func (p *Plan) days() int { return int(p.To.Sub(p.From) / day) }

// parameters of the statements about some days, first inclusive, end exclusive.
func (p *Plan) parameters(first, end int) map[string]any {
	return map[string]any{
		"from": p.From.UnixNano(), "first": first * p.PerDay, "traces": (end - first) * p.PerDay, "per_day": p.PerDay,
		"routes": p.Routes, "fronts": p.Fronts, "backs": p.Backs, "change": ChangeDay,
		"shrink": []int64{int64(shrink[0]), int64(shrink[1]), int64(shrink[2])}, "step": int64(step), "share": share, "share_2": shareThen,
		"cut": int64(cut), "noise": int64(noise), "season": int64(season),
	}
}
