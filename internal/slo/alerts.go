package slo

import (
	"fmt"

	"time"
)

const day = 24 * time.Hour

// Burn is a pair of windows: the allowed share is used up Factor times as fast as in 30 days of just keeping the objective, over
// the long window and still in the short one.
type Burn struct {
	Long, Short time.Duration
	Factor      float64
	Severity    Severity
}

// Burns returns the pairs of windows: 2 % of the month's allowance in an hour, 5 % in six, 10 % in a day, 10 % in three days.
func Burns() []Burn {
	return []Burn{
		{time.Hour, 5 * time.Minute, 14.4, Page},
		{6 * time.Hour, 30 * time.Minute, 6, Page},
		{day, 2 * time.Hour, 3, Ticket},
		{3 * day, 6 * time.Hour, 1, Ticket},
	}
}

// burning returns the sets of conditions of one SLI and severity. No share above nine tenths is asked for, or a loose objective
// could never alert.
func (s Settings) burning(i SLI, severity Severity, least float64) (sets [][]Condition) {
	for _, b := range Burns() {
		if b.Severity != severity {
			continue
		}
		limit := func(objective float64) float64 { return min(b.Factor*(1-objective), 0.9) }
		burnt := Condition{Value: i.Bad, Per: i.Total, Over: b.Long, AtLeast: limit(i.Objective)}
		for _, r := range s.Routes {
			if objective, ok := r.Objectives[i.Name]; ok {
				burnt.Instead = append(burnt.Instead, Limit{r.Service, r.Route, limit(objective)})
			}
		}
		still := burnt
		still.Over = b.Short
		sets = append(sets, []Condition{burnt, still, {Value: i.Total, Over: b.Long, AtLeast: least}})
	}
	return sets
}

// Alerts returns the alerts. The caller owns them.
func Alerts(s Settings) ([]Alert, error) {
	indicators, err := s.Indicators()
	if err != nil {
		return nil, err
	}
	sli := map[string]SLI{}
	for _, i := range indicators {
		sli[i.Name] = i
	}
	return append(s.promises(sli), s.faults()...), nil
}

// promises are the alerts on objectives.
func (s Settings) promises(sli map[string]SLI) []Alert {
	traffic := fmt.Sprintf("Both windows must burn, so what is over does not alert, and the long one must hold %g events, so that a few of a quiet night do not.", s.MinRequests)
	stopped := fmt.Sprintf("Both windows must burn, and the long one must hold %g cancellations of which it is known when the work stopped.", s.MinCancelled)
	return []Alert{
		{
			Name: "BudgetMissedFast", Severity: Page, Within: time.Hour, SLI: InTime, By: []string{"service", "route"}, Blame: true, Unit: "ratio",
			Any:     s.burning(sli[InTime], Page, s.MinRequests),
			Summary: "{service} {route}: {value} of requests late or out of time[, mostly {stage} {peer} by {cause}]",
			Meaning: "Requests are answered after their deadline, or end by it, so often that the month's allowance is gone within days.",
			Do: "Open the route: its worst traces name the stage that spent the budget. If one dependency is slow, its row in the dependency " +
				"report says whether it is slow or was given too little. Shed load or take optional steps out before raising the budget.",
			Guard: traffic,
		},
		{
			Name: "BudgetMissedSlow", Severity: Ticket, Within: day, SLI: InTime, By: []string{"service", "route"}, Blame: true, Unit: "ratio",
			Any:     s.burning(sli[InTime], Ticket, s.MinRequests),
			Summary: "{service} {route}: {value} of requests late or out of time for days[, mostly {stage} {peer} by {cause}]",
			Meaning: "Requests miss their budget steadily, slower than what pages, but the month's allowance will not last.",
			Do:      "Compare this week's stages of the route with last week's; look for a deployment marker where the missed ratio rose.",
			Guard:   traffic,
		},
		{
			Name: "AnswersDegraded", Severity: Ticket, Within: day, SLI: InTimeUndegraded, By: []string{"service", "route"}, Unit: "ratio",
			Any:     s.burning(sli[InTimeUndegraded], Ticket, s.MinRequests),
			Summary: "{service} {route}: {value} of requests missed, or answered without a step",
			Meaning: "Answers come in time only because steps are skipped, replaced or left half done.",
			Do:      "The stages report ranks the degraded steps by decision and cause. Give the step more, make it faster, or drop it by intention.",
			Guard:   traffic,
		},
		{
			Name: "CancelledWorkStopsLate", Severity: Ticket, Within: day, SLI: StoppedInTime, By: []string{"service", "stage", "cause"}, Unit: "ratio",
			Any:     s.burning(sli[StoppedInTime], Ticket, s.MinCancelled),
			Summary: "{service} {stage}: {value} of work cancelled[ by {cause}] went on for more than 100 ms",
			Meaning: "The cancellation signal is sent, but the work does not stop: it holds connections and slots that others wait for.",
			Do:      "Look at traces with ignored_cancel or post_cancel_work in this stage; the driver or library there does not honour its context.",
			Guard:   stopped,
		},
		{
			Name: "WorkAfterCancel", Severity: Ticket, Within: day, SLI: NoWorkAfterCancel, By: []string{"service", "stage", "cause"}, Unit: "ratio",
			Any:     s.burning(sli[NoWorkAfterCancel], Ticket, s.MinCancelled),
			Summary: "{service} {stage}: {value} of work cancelled[ by {cause}] went on after it",
			Meaning: "Cancelled work goes on, if only for a moment, far more often than the objective allows.",
			Do:      "The same as for CancelledWorkStopsLate, with less haste: clean-up that is declared as such is not counted.",
			Guard:   stopped,
		},
	}
}

// faults are the alerts on single facts.
func (s Settings) faults() []Alert {
	return []Alert{
		{
			Name: "OrphanWork", Severity: Page, Within: time.Hour, By: []string{"service", "stage", "cause"}, Unit: "s",
			Any: [][]Condition{{
				{Value: OrphanTime, Over: time.Hour, AtLeast: s.OrphanTime.Seconds()},
				{Value: OrphanTime, Over: 5 * time.Minute, AtLeast: s.OrphanTime.Seconds() / 60},
			}},
			Summary: "{service} {stage}: {value} of work in an hour for callers that were gone[ by {cause}]",
			Meaning: "A service works on after its caller's wait has ended. Nobody uses the result; under load this is what keeps it overloaded.",
			Do:      "Open the orphan report for the service: the example traces show where the signal got lost. Pass the request's context on.",
			Guard:   fmt.Sprintf("It takes %s in an hour, and that it still goes on. Work declared as detached does not count.", length(s.OrphanTime)),
		},
		{
			Name: "RenewedClock", Severity: Ticket, Within: 15 * time.Minute, By: []string{"service", "stage", "rule"},
			Any:     [][]Condition{{{Value: RenewedClocks, Over: 15 * time.Minute, AtLeast: 3}}},
			Summary: "{service} {stage}: received more time than its caller had left, {value} times[: {rule}]",
			Meaning: "A service works with a later deadline than its caller: the remainder was not sent, was dropped on the way, or was replaced.",
			Do:      "The propagation report names the edge. Forward the header there; a person's new grant must be a new unit of work.",
			Guard:   "Three in 15 minutes. What lies within the clocks' offset is no finding, and a grant by a person is exempt.",
		},
		{
			Name: "MarginErosion", Severity: Ticket, Within: 4 * day, By: []string{"service", "route"}, Unit: "s",
			Any: [][]Condition{{
				{Value: Margin, Over: 7 * day, Forecast: 14 * day},
				{Value: Requests, Over: day, AtLeast: 10 * s.MinRequests},
			}},
			Summary: "{service} {route}: the margin of its slowest answers reaches zero within two weeks",
			Meaning: "The 5th percentile of the margin shrinks day by day. Nothing is late yet.",
			Do:      "The route's trend names the stages that grew. Act on those, or plan a larger budget with the callers.",
			Guard:   "The line goes through the worst value of each of seven days, so that the hours of a day are no trend; half of them must be on record.",
		},
		{
			Name: "Overload", Severity: Page, Within: 10 * time.Minute, By: []string{"service"}, Blame: true, Unit: "ratio",
			Any: [][]Condition{{
				{Value: Missed, Per: Requests, Over: 5 * time.Minute, AtLeast: 0.05},
				{Value: Missed, Over: 5 * time.Minute, Growth: 2, Before: time.Hour},
				{Value: Requests, Over: 5 * time.Minute, Growth: 1.5, Before: time.Hour},
				{Value: Requests, Over: 5 * time.Minute, AtLeast: s.MinRequests},
			}},
			Summary: "{service}: load rises and with it work for nobody, {value} of requests[, mostly {stage} {peer} by {cause}]",
			Meaning: "Load and obsolete work grow together: the service spends its time on requests whose budget is gone.",
			Do:      "Let admission refuse what cannot finish (mode enforce), and look for retries that multiply the load: the retries report.",
			Guard:   "Load must be half as much again as in the hour before, misses twice as many and one in twenty; a service without an hour on record is left alone. It speaks of a rise: an hour of the same load is what the load is.",
		},
		{
			Name: "SilentStreams", Severity: Ticket, Within: 15 * time.Minute, By: []string{"service", "stage", "peer", "phase"},
			Any: [][]Condition{{
				{Value: SilentStreams, Over: 15 * time.Minute, AtLeast: 5},
				{Value: SilentStreams, Over: 5 * time.Minute, AtLeast: 1},
			}},
			Summary: "{service} {stage}: {value} streams[ of {peer}] fell silent[ in phase {phase}]",
			Meaning: "A producer accepts requests and then sends nothing, or stops in the middle; the watchdog ends these streams.",
			Do:      "first_token points at the producer's queue, between_tokens at a frozen one. Move to the declared fallback, or tell the provider.",
			Guard:   "Five in 15 minutes, one of them in the last five. A reader that does not read is not the producer's silence.",
		},
		{
			Name: "WorkerLag", Severity: Ticket, Within: s.WorkerLag + 2*time.Minute, Unit: "s", For: 2 * time.Minute,
			Any:     [][]Condition{{{Value: WorkerLag, AtLeast: s.WorkerLag.Seconds()}}},
			Summary: "verdicts or rollups are {value} behind",
			Meaning: "Spans are stored, but orphan work, findings and trends are not up to date; alerts on them come late.",
			Do:      "laxity doctor says what the worker waits for. Give it more processors, or share the traces with --shard.",
			Guard:   "Two minutes of it, so that a restart passes.",
		},
		{
			Name: "IngestionLoss", Severity: Page, Within: 5 * time.Minute, By: []string{"reason"},
			Any:     [][]Condition{{{Value: Lost, Over: 5 * time.Minute, AtLeast: 1}}},
			Summary: "{value} spans refused or lost: {reason}",
			Meaning: "Spans did not reach storage. Senders try again for some time what was refused; then it is lost, and reports and alerts see less than what happened.",
			Do: "memory_limit: it is too low for the load. queue_full: ClickHouse is away or too slow for as long as the queue on disk holds; see laxity doctor. " +
				"not_delivered: ClickHouse refuses them for good; the collector's log says why. failed: the collector could not take them for a reason of its own; its log says why. A request that cannot be read is answered 400 and counted nowhere: nobody knows how many spans it held.",
			Guard: "None: the queue lies on disk and takes a long outage of storage, so every such span is one too many. One that is sent again counts again.",
		},
		{
			Name: "MetricsMissing", Severity: Page, Within: 5 * time.Minute, By: []string{"job"}, For: 5 * time.Minute,
			Any:     [][]Condition{{{Value: Down, AtLeast: 1}}},
			Summary: "metrics of {job} cannot be read",
			Meaning: "The collector or the worker is down, or not scraped: none of the other alerts can speak.",
			Do:      "Start it, or mend the scrape configuration.",
			Guard:   "Five minutes of it, so that a restart passes.",
		},
	}
}
