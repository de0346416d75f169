package budgetattr

// Names of the metrics that the sdk keeps with the OpenTelemetry metric API. Durations are in seconds.
const (
	// MetricMargin is a histogram of max(margin, 0), MetricOverrun one of max(−margin, 0): both are observed for every
	// answer with a budget.
	MetricMargin  = "deadline.margin"
	MetricOverrun = "deadline.overrun"
	// MetricRequests counts requests by outcome.
	MetricRequests = "deadline.requests"
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
	// MetricAttempts counts attempts by layer.
	MetricAttempts = "deadline.attempts"
	// MetricStageDecisions counts what was decided for the steps of chains, by stage and decision.
	MetricStageDecisions = "deadline.stage.decisions"
	// MetricRetriesSkipped counts retries and hedges that were not sent, by stage and reason.
	MetricRetriesSkipped = "deadline.retries.skipped"
	// MetricHedges counts second attempts sent beside a slow first one, by stage.
	MetricHedges = "deadline.hedges"
	// MetricStreamIdle is a histogram of how long a stream that was ended for it had been silent or without progress, by
	// stage and phase.
	MetricStreamIdle = "deadline.stream.idle"
	// MetricLateResults counts results refused because their unit of work was closed.
	MetricLateResults = "deadline.late_results"
	// MetricExpiredInQueue counts units of work that expired while they waited and did not run.
	MetricExpiredInQueue = "deadline.expired_in_queue"
	// MetricRegrants counts units of work whose deadline a person granted anew.
	MetricRegrants = "deadline.regrants"
	// MetricEffectsUncertain counts how often a write to another system became uncertain.
	MetricEffectsUncertain = "deadline.effects.uncertain"
	// MetricPostCancelCost sums the cost produced after the cancellation signal, by unit of cost.
	MetricPostCancelCost = "deadline.post_cancel.cost"
)

// Labels of the metrics. None is unbounded.
const (
	LabelRoute   = "http.route"
	LabelStage   = "deadline.stage"
	LabelPeer    = "peer.service"
	LabelOutcome = "deadline.outcome"
	LabelCause   = "deadline.cancel.cause"
	LabelPhase   = "deadline.timeout.phase"
	LabelLayer   = "deadline.attempt.layer"
	LabelMode    = "deadline.mode"

	LabelDecision = "deadline.decision"
	LabelReason   = "deadline.retries.skipped.reason"
	LabelCostUnit = "deadline.cost.unit"
)
