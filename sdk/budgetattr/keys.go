package budgetattr

// Attribute keys. All carries the type, unit and meaning of each.
const (
	BudgetRequestedKey      = "deadline.budget.requested"
	BudgetReceivedKey       = "deadline.budget.received"
	BudgetSourceKey         = "deadline.budget.source"
	GovernedByKey           = "deadline.governed_by"
	MarginKey               = "deadline.margin"
	MarginAtKey             = "deadline.margin.at"
	LateKey                 = "deadline.late"
	UsedRatioKey            = "deadline.used.ratio"
	ModeKey                 = "deadline.mode"
	ChannelKey              = "deadline.channel"
	QueueTimeKey            = "deadline.queue.time"
	LocalBeforeFirstCallKey = "deadline.local.before_first_call"
	EnvelopeWaitKey         = "deadline.envelope.wait"
	PayloadClassKey         = "deadline.payload.class"
	RegionKey               = "deadline.region"
	OutcomeKey              = "deadline.outcome"
	OpenChildrenKey         = "deadline.open_children"
	LateResultsKey          = "deadline.late_results"
	DisconnectObservableKey = "deadline.disconnect.observable"
	StageKey                = "deadline.stage"
	StageOptionalKey        = "deadline.stage.optional"
	RemainingBeforeKey      = "deadline.remaining.before"
	RemainingAfterKey       = "deadline.remaining.after"
	AllowanceKey            = "deadline.allowance"
	ReserveKey              = "deadline.reserve"
	CapKey                  = "deadline.cap"
	ObservedLimitKey        = "deadline.observed_limit"
	MinUsefulKey            = "deadline.min_useful"
	BindingKey              = "deadline.binding"
	DecisionKey             = "deadline.decision"
	AttemptKey              = "deadline.attempt"
	AttemptLayerKey         = "deadline.attempt.layer"
	AttemptsTotalKey        = "deadline.attempts.total"
	BackoffKey              = "deadline.backoff"
	RetriesSkippedKey       = "deadline.retries.skipped"
	RetriesSkippedReasonKey = "deadline.retries.skipped.reason"
	CleanupTimeKey          = "deadline.cleanup.time"
	CleanupBudgetKey        = "deadline.cleanup.budget"
	DrainTimeKey            = "deadline.drain.time"
	TimeoutPhaseKey         = "deadline.timeout.phase"
	ConnectionReusedKey     = "deadline.connection.reused"
	CancelCauseKey          = "deadline.cancel.cause"
	CancelAfterKey          = "deadline.cancel.after"
	CancelConfirmedKey      = "deadline.cancel.confirmed"
	PostCancelTimeKey       = "deadline.post_cancel.time"
	PostCancelCostKey       = "deadline.post_cancel.cost"
	CostUnitKey             = "deadline.cost.unit"
	DetachedIDKey           = "deadline.detached.id"
	EffectStateKey          = "deadline.effect.state"
	EffectKeyKey            = "deadline.effect.key"
	FirstOutputTimeKey      = "deadline.first_output.time"
	CompleteTimeKey         = "deadline.complete.time"
	ValidatedTimeKey        = "deadline.validated.time"
	OrphanTimeKey           = "deadline.orphan.time"
	InferredKey             = "deadline.inferred"
	InferredRuleKey         = "deadline.inferred.rule"

	// RouteKey and PeerKey are OpenTelemetry's own names for the route of an entry and the service that a hop calls.
	RouteKey = "http.route"
	PeerKey  = "peer.service"

	// EventOpenChild is the name of the span event that names one hop still open when the response went out.
	EventOpenChild = "deadline.open_child"
)

// Attributes of the open-child event.
const (
	OpenChildSpanIDKey = "deadline.open_child.span_id"
	OpenChildStageKey  = "deadline.open_child.stage"
	OpenChildPeerKey   = "deadline.open_child.peer"
	OpenChildCauseKey  = "deadline.open_child.cause"
)

// Attributes of stored work, on its entry span beside those of the deadline.
const (
	// WorkIDKey is the cancellation id of the unit, WorkParentKey that of the execution that created it.
	WorkIDKey     = "work.id"
	WorkParentKey = "work.parent_id"
	// WorkRunKey is the number of this execution of the unit, from 1.
	WorkRunKey = "work.run"
	// WorkRefusalKey says why the unit did not run.
	WorkRefusalKey = "work.refusal"
	// WorkRegrantOfKey is the unit that a person gave a new deadline by this one, WorkGrantedByKey that person and
	// WorkReasonKey the reason.
	WorkRegrantOfKey = "work.regrant_of"
	WorkGrantedByKey = "work.granted_by"
	WorkReasonKey    = "work.reason"
)

// PhaseTime returns the key of the measured duration, in seconds, of one phase of a call.
func PhaseTime(p Phase) string { return "deadline.phase." + string(p) + ".time" }

// All lists every attribute in the order of the documentation. The caller owns the slice.
func All() []Attribute {
	return []Attribute{
		{Key: BudgetRequestedKey, Type: Float, Unit: "s", On: "entry", SetBy: "sdk", Meaning: "the budget the caller asked for"},
		{Key: BudgetReceivedKey, Type: Float, Unit: "s", On: "entry", SetBy: "sdk", Meaning: "the budget that was granted"},
		{Key: BudgetSourceKey, Type: String, Enum: "Source", On: "entry", SetBy: "sdk", Meaning: "where the granted budget came from"},
		{Key: GovernedByKey, Type: String, Enum: "Governor", On: "entry", SetBy: "sdk", Meaning: "whether the deadline or a nearer expiry governed"},
		{Key: MarginKey, Type: Float, Unit: "s", On: "entry", SetBy: "sdk, processor", Meaning: "what was left of the governing limit when the target was reached; negative means late"},
		{Key: MarginAtKey, Type: String, Enum: "Target", On: "entry", SetBy: "sdk", Meaning: "the target at which the margin was taken"},
		{Key: LateKey, Type: Bool, On: "entry", SetBy: "sdk, processor", Meaning: "the answer came after the governing limit"},
		{Key: UsedRatioKey, Type: Float, Unit: "1", On: "entry", SetBy: "processor", Meaning: "spent time over received budget; absent when received is zero or less"},
		{Key: ModeKey, Type: String, Enum: "Mode", On: "entry", SetBy: "sdk", Meaning: "whether rules acted, watched or were off"},
		{Key: ChannelKey, Type: String, On: "entry", SetBy: "sdk", Meaning: "the channel of the edge: chat, webhook, batch"},
		{Key: QueueTimeKey, Type: Float, Unit: "s", On: "entry", SetBy: "sdk", Meaning: "time waited locally, inside the span"},
		{Key: LocalBeforeFirstCallKey, Type: Float, Unit: "s", On: "entry", SetBy: "sdk", Meaning: "own work before the first downstream call"},
		{Key: EnvelopeWaitKey, Type: Float, Unit: "s", On: "entry", SetBy: "sdk", Meaning: "time waited in a broker; the received budget is already net of it"},
		{Key: PayloadClassKey, Type: String, On: "entry, hop", SetBy: "sdk", Meaning: "size class of the payload, to compare percentiles by"},
		{Key: RegionKey, Type: String, On: "entry, hop", SetBy: "sdk", Meaning: "region, to compare percentiles by"},
		{Key: OutcomeKey, Type: String, Enum: "Outcome", On: "entry", SetBy: "sdk, processor", Meaning: "the final state of the unit of work"},
		{Key: OpenChildrenKey, Type: Int, Unit: "{hop}", On: "entry", SetBy: "sdk", Meaning: "hops still running when the response went out"},
		{Key: LateResultsKey, Type: Int, Unit: "{result}", On: "entry", SetBy: "sdk", Meaning: "results refused because the unit was closed"},
		{Key: DisconnectObservableKey, Type: Bool, On: "entry", SetBy: "sdk", Meaning: "false if the server could not have noticed that the client left"},
		{Key: StageKey, Type: String, On: "hop", SetBy: "sdk", Meaning: "the name of the stage in its chain"},
		{Key: StageOptionalKey, Type: Bool, On: "hop", SetBy: "sdk", Meaning: "whether the stage may be skipped"},
		{Key: RemainingBeforeKey, Type: Float, Unit: "s", On: "hop", SetBy: "sdk", Meaning: "remaining budget just before the call"},
		{Key: RemainingAfterKey, Type: Float, Unit: "s", On: "hop", SetBy: "sdk", Meaning: "remaining budget just after the call"},
		{Key: AllowanceKey, Type: Float, Unit: "s", On: "hop", SetBy: "sdk", Meaning: "what the hop was allowed to use"},
		{Key: ReserveKey, Type: Float, Unit: "s", On: "hop", SetBy: "sdk", Meaning: "what the hop had to leave for what follows"},
		{Key: CapKey, Type: Float, Unit: "s", On: "hop", SetBy: "sdk", Meaning: "the dependency's own upper bound"},
		{Key: ObservedLimitKey, Type: Float, Unit: "s", On: "hop", SetBy: "sdk", Meaning: "the bound derived from measured latency"},
		{Key: MinUsefulKey, Type: Float, Unit: "s", On: "hop", SetBy: "sdk", Meaning: "the smallest allowance with which the hop is worth starting"},
		{Key: BindingKey, Type: String, Enum: "Binding", On: "hop", SetBy: "sdk", Meaning: "the smallest term of the allowance"},
		{Key: DecisionKey, Type: String, Enum: "Decision", On: "hop", SetBy: "sdk", Meaning: "what was decided for the step"},
		{Key: AttemptKey, Type: Int, Unit: "{attempt}", On: "hop", SetBy: "sdk", Meaning: "the number of this attempt, from 1"},
		{Key: AttemptLayerKey, Type: String, On: "hop", SetBy: "sdk", Meaning: "the layer that made the attempt"},
		{Key: AttemptsTotalKey, Type: Int, Unit: "{attempt}", On: "hop", SetBy: "sdk", Meaning: "attempts made over all layers"},
		{Key: BackoffKey, Type: Float, Unit: "s", On: "hop", SetBy: "sdk", Meaning: "accumulated back-off waited"},
		{Key: RetriesSkippedKey, Type: Int, Unit: "{retry}", On: "hop", SetBy: "sdk", Meaning: "retries that were not started"},
		{Key: RetriesSkippedReasonKey, Type: String, On: "hop", SetBy: "sdk", Meaning: "why a retry was not started"},
		{Key: CleanupTimeKey, Type: Float, Unit: "s", On: "any", SetBy: "sdk", Meaning: "time spent on allowed clean-up after the end"},
		{Key: CleanupBudgetKey, Type: Float, Unit: "s", On: "any", SetBy: "sdk", Meaning: "the budget of the clean-up"},
		{Key: DrainTimeKey, Type: Float, Unit: "s", On: "any", SetBy: "sdk", Meaning: "time spent on a declared drain after the end"},
		{Key: TimeoutPhaseKey, Type: String, Enum: "Phase", On: "any", SetBy: "sdk, processor", Meaning: "the phase in which time ran out"},
		{Key: ConnectionReusedKey, Type: Bool, On: "hop", SetBy: "sdk", Meaning: "whether the connection was reused"},
		{Key: CancelCauseKey, Type: String, Enum: "Cause", On: "any", SetBy: "sdk, processor", Meaning: "why the work was cancelled"},
		{Key: CancelAfterKey, Type: Float, Unit: "s", On: "any", SetBy: "sdk", Meaning: "when the cancellation signal fired, from the start of the span"},
		{Key: CancelConfirmedKey, Type: Bool, On: "any", SetBy: "sdk", Meaning: "whether the work was seen to stop"},
		{Key: PostCancelTimeKey, Type: Float, Unit: "s", On: "any", SetBy: "sdk, processor", Meaning: "work done after the cancellation signal, without clean-up and drain"},
		{Key: PostCancelCostKey, Type: Float, Unit: "{cost}", On: "any", SetBy: "sdk", Meaning: "cost units produced after the cancellation signal"},
		{Key: CostUnitKey, Type: String, On: "any", SetBy: "sdk", Meaning: "the unit of costs, for example token"},
		{Key: DetachedIDKey, Type: String, On: "any", SetBy: "sdk", Meaning: "durable id of work declared to outlive its caller"},
		{Key: EffectStateKey, Type: String, Enum: "EffectState", On: "hop", SetBy: "sdk", Meaning: "the durable state of a write to another system"},
		{Key: EffectKeyKey, Type: String, On: "hop", SetBy: "sdk", Meaning: "the idempotency key of a write to another system"},
		{Key: FirstOutputTimeKey, Type: Float, Unit: "s", On: "entry, hop", SetBy: "sdk", Meaning: "time to the first visible output"},
		{Key: CompleteTimeKey, Type: Float, Unit: "s", On: "entry, hop", SetBy: "sdk", Meaning: "time to the complete result"},
		{Key: ValidatedTimeKey, Type: Float, Unit: "s", On: "entry, hop", SetBy: "sdk", Meaning: "time to the validated result"},
		{Key: OrphanTimeKey, Type: Float, Unit: "s", On: "any", SetBy: "processor, judge", Meaning: "work done after the caller's wait had ended"},
		{Key: InferredKey, Type: Bool, On: "any", SetBy: "processor, judge", Meaning: "the facts were derived, not recorded"},
		{Key: InferredRuleKey, Type: String, On: "any", SetBy: "processor, judge", Meaning: "the rule that derived the facts"},
	}
}
