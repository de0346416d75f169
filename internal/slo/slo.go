// Package slo defines what is promised about budgets, and when a broken promise is worth waking somebody. It is the one place
// of these definitions: Prometheus rules, OpenSLO files, dashboards and the evaluation over ClickHouse are made from it. It
// evaluates nothing itself.
package slo

import "time"

// Measure is a quantity that every evaluation can compute for a window of time and for each value of some labels. Counts are
// of events in the window; levels are the value at its end.
type Measure string

// The measures.
const (
	// Requests counts requests with a budget: entries that received one, or were refused for lack of time though they asked.
	Requests Measure = "requests"
	// Missed counts requests answered late, or exhausted: ended by their own deadline or expiry, or refused for lack of time.
	Missed Measure = "missed"
	// MissedOrDegraded counts requests that were missed, or answered in time but degraded or in part.
	MissedOrDegraded Measure = "missed_or_degraded"
	// Cancelled counts cancelled work, entries and hops alike, of which it is known how long it went on after the signal.
	Cancelled Measure = "cancelled"
	// StoppedLate counts cancelled work that went on for more than StopWithin after the signal.
	StoppedLate Measure = "stopped_late"
	// WorkedOn counts cancelled work that went on for more than Tolerance after the signal.
	WorkedOn Measure = "worked_on"
	// OrphanTime sums seconds of work for callers whose wait had ended, by the service that worked (finding orphan_work).
	OrphanTime Measure = "orphan_time"
	// RenewedClocks counts findings renewed_clock and dropped_header.
	RenewedClocks Measure = "renewed_clocks"
	// SilentStreams counts timeouts in the phases first_token and between_tokens.
	SilentStreams Measure = "silent_streams"
	// Lost counts spans that the collector refused, could not queue or could not deliver.
	Lost Measure = "lost"
	// Margin is the 5th percentile of the margin of answers, in seconds: a level.
	Margin Measure = "margin"
	// WorkerLag is the age of the watermark of verdicts or of rollups, whichever is older, in seconds: a level.
	WorkerLag Measure = "worker_lag"
	// Down is 1 for each part whose metrics cannot be read: a level, of an outside observer only.
	Down Measure = "down"
)

// Limits within the measures.
const (
	// StopWithin is how long cancelled work may take to stop.
	StopWithin = 100 * time.Millisecond
	// Tolerance is what counts as having stopped at once.
	Tolerance = time.Millisecond
	// MarginQuantile is the quantile of Margin.
	MarginQuantile = 0.05
)

// Labels by which alerts and SLIs are told apart, in addition to those of sdk/budgetattr.
const (
	LabelSeverity = "severity"
	LabelSLI      = "sli"
)

// SLI is a share of good events: 1 − Bad/Total, for each value of the labels By.
type SLI struct {
	Name      string // snake case, part of names of recorded series
	Title     string
	Bad       Measure
	Total     Measure
	By        []string
	Objective float64 // least share of good events in 30 days
}

// Allowed returns the share of bad events that the objective allows.
func (s SLI) Allowed() float64 { return 1 - s.Objective }

// Names of the SLIs.
const (
	InTime            = "in_time"
	InTimeUndegraded  = "in_time_undegraded"
	StoppedInTime     = "stopped_in_time"
	NoWorkAfterCancel = "no_work_after_cancel"
)

// SLIs returns the indicators. The caller owns the slice.
func SLIs() []SLI {
	byRoute := []string{"service", "route"}
	byCause := []string{"service", "stage", "cause"}
	return []SLI{
		{InTime, "answered in time", Missed, Requests, byRoute, 0.99},
		{InTimeUndegraded, "answered in time and undegraded", MissedOrDegraded, Requests, byRoute, 0.95},
		{StoppedInTime, "stopped within 100 ms of the cancellation", StoppedLate, Cancelled, byCause, 0.99},
		{NoWorkAfterCancel, "no work after the cancellation", WorkedOn, Cancelled, byCause, 0.9},
	}
}

// Severity says who is woken.
type Severity string

// The severities.
const (
	Page   Severity = "page"   // a person, now
	Ticket Severity = "ticket" // somebody, in working hours
)

// Condition holds where a value reaches a limit. Value is a measure over the window Over, divided by Per if that is named. A
// value that cannot be computed, for want of series or of events to divide by, reaches nothing.
type Condition struct {
	Value Measure
	Per   Measure
	Over  time.Duration // 0 for levels
	// AtLeast is the limit, Instead that of single routes.
	AtLeast float64
	Instead []Limit
	// Growth, if not 0, compares instead: events per second in Over must be at least Growth times those in the time Before that.
	// Without a record of all that time it does not hold.
	Growth float64
	Before time.Duration
	// Forecast, if not 0, asks instead whether a straight line through the level's daily worst values in Over reaches zero within
	// Forecast from now, being above zero now. It takes a record of at least half of Over.
	Forecast time.Duration
}

// Limit is the limit of a condition for one route.
type Limit struct {
	Service, Route string
	AtLeast        float64
}

// Limit returns the limit for a route.
func (c Condition) Limit(service, route string) float64 {
	for _, l := range c.Instead {
		if l.Service == service && l.Route == route {
			return l.AtLeast
		}
	}
	return c.AtLeast
}

// Alert is one reason to tell somebody.
type Alert struct {
	Name     string
	Severity Severity
	SLI      string // of whose objective it speaks, or ""
	// By are the labels whose values have their own state.
	By []string
	// Blame adds stage, peer and cause of what was cancelled or refused most in the service.
	Blame bool
	// Any holds when all conditions of one of its sets hold. The value of the first condition is that of the alert.
	Any [][]Condition
	// For is how long it must hold before somebody is told.
	For time.Duration
	// Within is how soon somebody is told of trouble as bad as the limit, at the latest. An evaluation in between is not counted.
	Within time.Duration
	// Unit of the value: "ratio", "s" or "" for a count.
	Unit string
	// Summary is one line with {label} and {value} to be filled in; see Fill.
	Summary string
	// Meaning, Do and Guard are the runbook: what it says, what to do, what keeps it from speaking without need.
	Meaning, Do, Guard string
}

// Scaled returns the alerts with all windows and waits divided, so that a test or a demonstration sees in minutes what takes
// days. Limits stay.
func Scaled(alerts []Alert, by float64) []Alert {
	scaled := make([]Alert, len(alerts))
	for i, a := range alerts {
		a.For, a.Within = Shorter(a.For, by), Shorter(a.Within, by)
		sets := make([][]Condition, len(a.Any))
		for s, set := range a.Any {
			for _, c := range set {
				c.Over, c.Before, c.Forecast = Shorter(c.Over, by), Shorter(c.Before, by), Shorter(c.Forecast, by)
				sets[s] = append(sets[s], c)
			}
		}
		a.Any = sets
		scaled[i] = a
	}
	return scaled
}

// Shorter divides a duration, to whole milliseconds and never to nothing.
func Shorter(d time.Duration, by float64) time.Duration {
	if d == 0 || by == 1 {
		return d
	}
	return max(time.Duration(float64(d)/by).Truncate(time.Millisecond), time.Millisecond)
}
