package budgetattr

import "strings"

// Names of the metrics. The sdk keeps some of them with the OpenTelemetry metric API, the collector's deadlineconnector
// measures from spans, the worker from storage; Metrics says which does what. Durations are in seconds.
const (
	// MetricMargin is a histogram of max(margin, 0), MetricOverrun one of max(−margin, 0): both are observed for every
	// answer with a budget, because the sum of a histogram must not fall.
	MetricMargin  = "deadline.margin"
	MetricOverrun = "deadline.overrun"
	// MetricUsedRatio is a histogram of the share of the budget that was spent when the target was reached.
	MetricUsedRatio = "deadline.used.ratio"
	// MetricRequests counts requests with a budget by outcome; MetricLate and MetricExhausted those that missed it.
	MetricRequests  = "deadline.requests"
	MetricLate      = "deadline.late"
	MetricExhausted = "deadline.exhausted"
	// MetricDegraded counts requests answered in time, but degraded or in part: none of them is late as well.
	MetricDegraded = "deadline.degraded"
	// MetricFindings counts what was found in traces by rule.
	MetricFindings = "deadline.findings"
	// MetricRemainingAdmission is a histogram of what was left just before a hop.
	MetricRemainingAdmission = "deadline.remaining.admission"
	// MetricOrphanEarly sums orphan time as far as the connector sees it, a lower bound; MetricOrphanTime sums it as judged
	// from storage, MetricOrphanSpans counts its spans, and MetricOrphanTakenBack sums what later spans disproved.
	MetricOrphanEarly     = "deadline.orphan.early"
	MetricOrphanTime      = "deadline.orphan.time"
	MetricOrphanSpans     = "deadline.orphan.spans"
	MetricOrphanTakenBack = "deadline.orphan.time.taken_back"
	// MetricRefused counts work that was not started, by stage; the stage is empty for the request itself.
	MetricRefused = "deadline.refused"
	// MetricCancellations counts cancellations by cause, MetricCancellationsConfirmed those whose work was seen to stop.
	MetricCancellations          = "deadline.cancellations"
	MetricCancellationsConfirmed = "deadline.cancellations.confirmed"
	// MetricTimeouts counts timeouts by phase.
	MetricTimeouts = "deadline.timeouts"
	// MetricStillRunning is the number of hops that run though their request is over.
	MetricStillRunning = "deadline.still_running"
	// MetricPostCancelTime is a histogram of the time worked after the signal.
	MetricPostCancelTime = "deadline.post_cancel.time"
	// MetricStageDecisions counts hops by what was decided for them.
	MetricStageDecisions = "deadline.stage.decisions"
	// MetricAttempts counts attempts by layer, MetricRetriesSkipped retries that were not started by reason.
	MetricAttempts       = "deadline.attempts"
	MetricRetriesSkipped = "deadline.retries.skipped"
	// MetricHedges counts second attempts sent beside a slow first one, by stage.
	MetricHedges = "deadline.hedges"
	// MetricStreamIdle is a histogram of how long a stream that was ended for it had been silent or without progress, by
	// stage and phase.
	MetricStreamIdle = "deadline.stream.idle"
	// MetricLocalBeforeFirstCall is a histogram of the own work before the first downstream call.
	MetricLocalBeforeFirstCall = "deadline.local.before_first_call"
	// MetricLateResults counts results refused because their unit of work was closed.
	MetricLateResults = "deadline.late_results"
	// MetricExpiredInQueue counts units of work that expired while they waited and did not run.
	MetricExpiredInQueue = "deadline.expired_in_queue"
	// MetricRegrants counts units of work whose deadline a person granted anew.
	MetricRegrants = "deadline.regrants"
	// MetricEffectsUncertain counts how often a write to another system became uncertain.
	MetricEffectsUncertain = "deadline.effects.uncertain"
	// MetricPostCancelCost sums the cost produced after the cancellation signal, by unit of cost; MetricCostAfterDeadline
	// the part of it after the end of the time, whoever set it.
	MetricPostCancelCost    = "deadline.post_cancel.cost"
	MetricCostAfterDeadline = "deadline.cost_after_deadline"
)

// Labels of the metrics. None is unbounded.
const (
	LabelService  = "service"
	LabelRoute    = "route"
	LabelStage    = "stage"
	LabelPeer     = "peer"
	LabelOutcome  = "outcome"
	LabelCause    = "cause"
	LabelPhase    = "phase"
	LabelDecision = "decision"
	LabelLayer    = "layer"
	LabelReason   = "reason"
	LabelMode     = "mode"
	LabelRule     = "rule"
	LabelCostUnit = "unit"
)

// Instrument is the kind of a metric.
type Instrument uint8

// The kinds of metrics.
const (
	Counter Instrument = iota
	Histogram
	Gauge
)

// String returns the kind as documentation prints it.
func (i Instrument) String() string { return [...]string{"counter", "histogram", "gauge"}[i] }

// MeasuredOn says which spans a metric is about, and so which labels it has beside that of its enum: service and route, or
// service, stage and peer.
type MeasuredOn uint8

// What metrics are about. Either stands for facts that entries and hops both have: the labels are those of the span.
const (
	OnEntry MeasuredOn = iota
	OnHop
	OnEither
)

// Metric describes one metric. Label is the one of its enum, "" if it has none; Unit is a UCUM code.
type Metric struct {
	Name       string
	Instrument Instrument
	Unit       string
	On         MeasuredOn
	Label      string
	// SDK, Connector and Worker say who measures it.
	SDK, Connector, Worker bool
	Meaning                string
}

// Labels lists the labels that the connector gives the metric.
func (m Metric) Labels() []string {
	var labels []string
	switch m.On {
	case OnEntry:
		labels = []string{LabelService, LabelRoute}
	case OnHop:
		labels = []string{LabelService, LabelStage, LabelPeer}
	case OnEither:
		labels = []string{LabelService, LabelRoute, LabelStage, LabelPeer}
	}
	if m.Label != "" {
		labels = append(labels, m.Label)
	}
	return labels
}

// PrometheusName returns the name that the metric has on a Prometheus page: of a histogram without _bucket, _sum and _count.
func (m Metric) PrometheusName() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" {
		name += "_seconds"
	}
	if m.Instrument == Counter {
		name += "_total"
	}
	return name
}

// Metrics lists every metric in the order of the documentation. The caller owns the slice.
func Metrics() []Metric {
	return []Metric{
		{Name: MetricRequests, Unit: "{request}", On: OnEntry, Label: LabelOutcome, SDK: true, Connector: true, Meaning: "requests with a budget, by outcome"},
		{Name: MetricLate, Unit: "{request}", On: OnEntry, Connector: true, Meaning: "requests answered after their governing limit"},
		{Name: MetricExhausted, Unit: "{request}", On: OnEntry, Connector: true, Meaning: "requests that ended by their own deadline or expiry, or were refused for lack of time, before an answer"},
		{Name: MetricDegraded, Unit: "{request}", On: OnEntry, Connector: true, Meaning: "requests answered in time, but degraded or in part"},
		{Name: MetricMargin, Instrument: Histogram, Unit: "s", On: OnEntry, SDK: true, Connector: true, Meaning: "budget left when the answer reached its target, zero if late"},
		{Name: MetricOverrun, Instrument: Histogram, Unit: "s", On: OnEntry, SDK: true, Connector: true, Meaning: "time by which the answer was late, zero if in time"},
		{Name: MetricUsedRatio, Instrument: Histogram, Unit: "1", On: OnEntry, Connector: true, Meaning: "spent time over received budget, of answers"},
		{Name: MetricLocalBeforeFirstCall, Instrument: Histogram, Unit: "s", On: OnEntry, Connector: true, Meaning: "own work before the first downstream call"},
		{Name: MetricRemainingAdmission, Instrument: Histogram, Unit: "s", On: OnHop, Connector: true, Meaning: "remaining budget just before a hop"},
		{Name: MetricStageDecisions, Unit: "{hop}", On: OnHop, Label: LabelDecision, SDK: true, Connector: true, Meaning: "hops by what was decided for them"},
		{Name: MetricRefused, Unit: "{hop}", On: OnEither, SDK: true, Connector: true, Meaning: "work not started for lack of time"},
		{Name: MetricCancellations, Unit: "{cancellation}", On: OnEither, Label: LabelCause, SDK: true, Connector: true, Meaning: "cancellations by cause"},
		{Name: MetricCancellationsConfirmed, Unit: "{cancellation}", On: OnEither, Label: LabelCause, SDK: true, Connector: true, Meaning: "cancellations whose work was seen to stop"},
		{Name: MetricTimeouts, Unit: "{timeout}", On: OnEither, Label: LabelPhase, SDK: true, Connector: true, Meaning: "timeouts by phase"},
		{Name: MetricPostCancelTime, Instrument: Histogram, Unit: "s", On: OnEither, Label: LabelCause, SDK: true, Connector: true, Meaning: "time worked after the cancellation signal"},
		{Name: MetricPostCancelCost, Unit: "{cost}", On: OnEither, Label: LabelCostUnit, SDK: true, Connector: true, Meaning: "cost produced after the cancellation signal, by unit of cost"},
		{Name: MetricCostAfterDeadline, Unit: "{cost}", On: OnEither, Label: LabelCostUnit, Connector: true, Meaning: "the part of that cost whose cancellation was the end of the time"},
		{Name: MetricAttempts, Unit: "{attempt}", On: OnHop, Label: LabelLayer, SDK: true, Connector: true, Meaning: "attempts by layer"},
		{Name: MetricRetriesSkipped, Unit: "{retry}", On: OnHop, Label: LabelReason, SDK: true, Connector: true, Meaning: "retries that were not started, by reason"},
		{Name: MetricHedges, Unit: "{attempt}", On: OnHop, SDK: true, Meaning: "second attempts sent beside a slow first one"},
		{Name: MetricStreamIdle, Instrument: Histogram, Unit: "s", On: OnHop, Label: LabelPhase, SDK: true, Meaning: "how long streams that were ended for it had been silent or without progress"},
		{Name: MetricEffectsUncertain, Unit: "{effect}", On: OnHop, SDK: true, Connector: true, Meaning: "writes to other systems that became uncertain"},
		{Name: MetricLateResults, Unit: "{result}", On: OnEntry, SDK: true, Connector: true, Meaning: "results refused because their unit of work was closed"},
		{Name: MetricExpiredInQueue, Unit: "{unit}", On: OnEntry, SDK: true, Connector: true, Meaning: "units of work that expired in a queue and did not run"},
		{Name: MetricRegrants, Unit: "{unit}", On: OnEntry, SDK: true, Connector: true, Meaning: "units of work with a deadline that a person granted anew"},
		{Name: MetricStillRunning, Instrument: Gauge, Unit: "{hop}", On: OnHop, SDK: true, Connector: true, Meaning: "hops that run though their request is over"},
		{Name: MetricOrphanEarly, Unit: "s", On: OnEither, Label: LabelCause, Connector: true, Meaning: "orphan time as far as seen so far: a lower bound, early"},
		{Name: MetricOrphanTime, Unit: "s", On: OnEither, Label: LabelCause, Worker: true, Meaning: "orphan time as judged from storage"},
		{Name: MetricOrphanTakenBack, Unit: "s", On: OnEither, Label: LabelCause, Worker: true, Meaning: "orphan time counted before, that later spans of its trace disproved"},
		{Name: MetricOrphanSpans, Unit: "{span}", On: OnEither, Label: LabelCause, Worker: true, Meaning: "spans with orphan time, as judged from storage"},
		{Name: MetricFindings, Unit: "{finding}", On: OnEither, Label: LabelRule, Worker: true, Meaning: "findings in traces by rule, as judged from storage"},
	}
}
