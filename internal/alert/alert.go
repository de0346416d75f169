// Package alert evaluates the alerts of package slo over values that somebody counted, and carries their states from one
// evaluation to the next. It is pure.
package alert

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/slo"
)

// Labels tell apart what an alert speaks of. Empty ones are not there.
type Labels struct {
	Service string `json:"service,omitempty"`
	Route   string `json:"route,omitempty"`
	Stage   string `json:"stage,omitempty"`
	Peer    string `json:"peer,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Phase   string `json:"phase,omitempty"`
	Rule    string `json:"rule,omitempty"`
}

// String returns the labels as a JSON object with a fixed order of keys.
func (l Labels) String() string {
	text, _ := json.Marshal(l) // strings only: cannot fail
	return string(text)
}

// ParseLabels reads what String wrote.
func ParseLabels(text string) (Labels, error) {
	var l Labels
	err := json.Unmarshal([]byte(text), &l)
	return l, err
}

// Map returns the labels that are there.
func (l Labels) Map() map[string]string {
	all := map[string]string{}
	_ = json.Unmarshal([]byte(l.String()), &all)
	return all
}

// Count names a measure over a window that ends Back before the instant of the evaluation.
type Count struct {
	Measure    slo.Measure
	Over, Back time.Duration
}

// Day is the worst value of a level in one day.
type Day struct {
	At    time.Time
	Worst float64
}

// Values are what an alert is evaluated from, for each value of the alert's own labels.
type Values struct {
	Counts map[Count]map[Labels]float64
	// Levels are present values.
	Levels map[slo.Measure]map[Labels]float64
	// Days are the worst values of a level's days, oldest first.
	Days map[slo.Measure]map[Labels][]Day
	// First is when the first request on record came.
	First map[Labels]time.Time
}

// Needs returns the counts that an alert is evaluated from, each once.
func Needs(a slo.Alert) []Count {
	seen := map[Count]bool{}
	for _, set := range a.Any {
		for _, c := range set {
			if c.Over == 0 || c.Forecast > 0 {
				continue
			}
			seen[Count{c.Value, c.Over, 0}] = true
			if c.Per != "" {
				seen[Count{c.Per, c.Over, 0}] = true
			}
			if c.Growth > 0 {
				seen[Count{c.Value, c.Before, c.Over}] = true
			}
		}
	}
	needs := make([]Count, 0, len(seen))
	for c := range seen {
		needs = append(needs, c)
	}
	slices.SortFunc(needs, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Measure, b.Measure), cmp.Compare(a.Over, b.Over), cmp.Compare(a.Back, b.Back))
	})
	return needs
}

// Outside reports whether an alert rests on what only an outside observer sees, so that it cannot be evaluated from what is
// stored.
func Outside(a slo.Alert) bool {
	for _, set := range a.Any {
		for _, c := range set {
			if c.Value == slo.Lost || c.Value == slo.Down {
				return true
			}
		}
	}
	return false
}

// Evaluate returns for which labels the alert's conditions hold, with the value of the first condition.
func Evaluate(a slo.Alert, v Values, at time.Time) map[Labels]float64 {
	held := map[Labels]float64{}
	for _, set := range a.Any {
		for labels, value := range v.reach(set[0], at) {
			if _, already := held[labels]; already {
				continue
			}
			all := true
			for _, c := range set[1:] {
				if _, ok := v.reach(c, at)[labels]; !ok {
					all = false
					break
				}
			}
			if all {
				held[labels] = value
			}
		}
	}
	return held
}

// reach returns the labels whose value reaches the condition's limit, with that value.
func (v Values) reach(c slo.Condition, at time.Time) map[Labels]float64 {
	found := map[Labels]float64{}
	switch {
	case c.Forecast > 0:
		for labels, days := range v.Days[c.Value] {
			now, ok := v.Levels[c.Value][labels]
			if ok && now > 0 && reachesZero(days, at, c) {
				found[labels] = now
			}
		}
	case c.Over == 0:
		for labels, value := range v.Levels[c.Value] {
			if value >= c.AtLeast {
				found[labels] = value
			}
		}
	case c.Growth > 0:
		before := v.Counts[Count{c.Value, c.Before, c.Over}]
		for labels, value := range v.Counts[Count{c.Value, c.Over, 0}] {
			first, known := v.First[labels]
			if !known || first.After(at.Add(-c.Over-c.Before)) || value == 0 {
				continue
			}
			growth := (value / c.Over.Seconds()) / (before[labels] / c.Before.Seconds()) // +Inf after nothing
			if growth >= c.Growth {
				found[labels] = growth
			}
		}
	default:
		per := v.Counts[Count{c.Per, c.Over, 0}]
		for labels, value := range v.Counts[Count{c.Value, c.Over, 0}] {
			if c.Per != "" {
				if per[labels] == 0 {
					continue
				}
				value /= per[labels]
			}
			if value >= c.Limit(labels.Service, labels.Route) {
				found[labels] = value
			}
		}
	}
	return found
}

// reachesZero puts a straight line through the days.
func reachesZero(days []Day, at time.Time, c slo.Condition) bool {
	if days = slices.DeleteFunc(slices.Clone(days), func(d Day) bool { return d.At.Before(at.Add(-c.Over)) }); len(days) < 2 {
		return false
	}
	if float64(len(days)) < c.Over.Hours()/24/2 {
		return false
	}
	var n, sx, sy, sxx, sxy float64
	for _, d := range days {
		x := d.At.Sub(at).Seconds()
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+d.Worst, sxx+x*x, sxy+x*d.Worst
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return (sy-slope*sx)/n+slope*c.Forecast.Seconds() <= 0
}

// Status is where an alert stands.
type Status string

// The statuses. Inactive ends what was pending, resolved what fired.
const (
	Inactive Status = "inactive"
	Pending  Status = "pending"
	Firing   Status = "firing"
	Resolved Status = "resolved"
)

// ID tells instances of alerts apart.
type ID struct {
	Name   string
	Labels Labels
}

// State is where one instance stands.
type State struct {
	ID
	Status Status
	Since  time.Time // when the status began
	At     time.Time // when it was evaluated last
	Value  float64
	// Summary is the line for people at the last evaluation in which the condition held.
	Summary string
	// Statements are of traces that showed it best when it began to fire, worst first.
	Statements []Statement
	// Blamed is stage, peer and cause of what was blamed when it began to fire.
	Blamed Labels
	// Told are the keys of the webhooks that were told that it fires, and not yet that it ended.
	Told []string
}

// All returns the labels, and those of what was blamed.
func (s State) All() map[string]string {
	all := s.Blamed.Map()
	maps.Copy(all, s.Labels.Map())
	return all
}

// Statement is the account of one trace, as text for people.
type Statement struct {
	TraceID string `json:"trace_id"`
	Title   string `json:"title"` // where it was and how it ended, in a line
	Text    string `json:"text"`
}

// NewStatement returns the statement of a trace from its text, of which the first line says where it was and the second paragraph begins
// with how it ended.
func NewStatement(trace, text string) Statement {
	first, _, _ := strings.Cut(text, "\n")
	title := strings.Join(strings.Fields(first), " ")
	if _, second, ok := strings.Cut(text, "\n\n"); ok {
		second, _, _ = strings.Cut(second, "\n\n")
		how, _, _ := strings.Cut(strings.Join(strings.Fields(second), " "), ". ")
		title += ": " + strings.TrimSuffix(how, ".")
	}
	return Statement{TraceID: trace, Title: title, Text: text}
}

// Active reports whether the condition held at the last evaluation.
func (s State) Active() bool { return s.Status == Pending || s.Status == Firing }

// Advance returns the states after an evaluation of one alert, and which of them changed. before holds the states of this alert only.
// Instances that were over before are left out.
func Advance(a slo.Alert, before []State, held map[Labels]float64, at time.Time) (after, changed []State) {
	known := map[Labels]bool{}
	for _, s := range before {
		known[s.Labels] = true
		value, holds := held[s.Labels]
		was := s.Status
		switch {
		case holds && !s.Active():
			s.Status, s.Since = Pending, at
		case !holds && s.Status == Pending:
			s.Status, s.Since = Inactive, at
		case !holds && s.Status == Firing:
			s.Status, s.Since = Resolved, at
		case !holds:
			continue
		}
		if s.Status == Pending && at.Sub(s.Since) >= a.For {
			s.Status, s.Since = Firing, at
		}
		if s.At = at; holds {
			s.Value = value
		}
		after = append(after, s)
		if s.Status != was {
			changed = append(changed, s)
		}
	}
	for labels, value := range held {
		if known[labels] {
			continue
		}
		s := State{ID: ID{a.Name, labels}, Status: Pending, Since: at, At: at, Value: value}
		if a.For == 0 {
			s.Status = Firing
		}
		after, changed = append(after, s), append(changed, s)
	}
	byLabels := func(x, y State) int { return cmp.Compare(x.Labels.String(), y.Labels.String()) }
	slices.SortFunc(after, byLabels)
	slices.SortFunc(changed, byLabels)
	return after, changed
}

// Silence keeps people from being told. Matchers are labels, "alertname" among them, with their exact values.
type Silence struct {
	ID           string
	Matchers     map[string]string
	Since, Until time.Time
	Comment      string
}

// Has returns the labels that instances of an alert can have; silences and notifications name them.
func Has(a slo.Alert) []string {
	if a.Blame {
		return append(slices.Clone(a.By), "stage", "peer", "cause")
	}
	return a.By
}

// Mutes reports whether the silence is about an instance at an instant.
func (s Silence) Mutes(state State, at time.Time) bool {
	if at.Before(s.Since) || !at.Before(s.Until) {
		return false
	}
	labels := state.All()
	labels["alertname"] = state.Name
	for name, value := range s.Matchers {
		if labels[name] != value {
			return false
		}
	}
	return true
}
