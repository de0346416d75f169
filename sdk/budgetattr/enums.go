package budgetattr

// Source says where a granted budget came from.
type Source string

// The sources of a budget.
const (
	SourceCaller   Source = "caller"
	SourceDefault  Source = "default"
	SourceClamped  Source = "clamped"
	SourceRaised   Source = "raised"
	SourceEnvelope Source = "envelope"
	SourceRegrant  Source = "regrant"
	SourceRefused  Source = "refused"
	SourceNone     Source = "none"
)

// Governor says which instant bounded the request: its deadline or a nearer expiry.
type Governor string

// The governing limits.
const (
	GovernedByDeadline Governor = "deadline"
	GovernedByExpiry   Governor = "expiry"
)

// Target says which result a route's budget is about.
type Target string

// The targets.
const (
	TargetFirstOutput Target = "first_output"
	TargetComplete    Target = "complete"
	TargetValidated   Target = "validated"
)

// Mode says whether rules act, only watch, or do nothing.
type Mode string

// The modes.
const (
	ModeOff     Mode = "off"
	ModeShadow  Mode = "shadow"
	ModeEnforce Mode = "enforce"
)

// Outcome is the readable final state of a unit of work.
type Outcome string

// The outcomes.
const (
	OutcomeDone            Outcome = "done"
	OutcomeDoneWithPending Outcome = "done_with_pending"
	OutcomeDegraded        Outcome = "degraded"
	OutcomePartial         Outcome = "partial"
	OutcomeRejected        Outcome = "rejected"
	OutcomeExpiredInQueue  Outcome = "expired_in_queue"
	OutcomeCancelled       Outcome = "cancelled"
	OutcomeUncertain       Outcome = "uncertain"
	OutcomeFailed          Outcome = "failed"
)

// Answered reports whether the caller got an answer. Margin statistics cover answered requests only.
func (o Outcome) Answered() bool {
	switch o {
	case OutcomeDone, OutcomeDoneWithPending, OutcomeDegraded, OutcomePartial:
		return true
	}
	return false
}

// Binding says which term of the allowance was the smallest.
type Binding string

// The binding terms.
const (
	BindingBudget   Binding = "budget"
	BindingCap      Binding = "cap"
	BindingObserved Binding = "observed"
	BindingExpiry   Binding = "expiry"
)

// Decision says what a step did when it met its allowance.
type Decision string

// The decisions.
const (
	DecisionRun          Decision = "run"
	DecisionSkip         Decision = "skip"
	DecisionFallback     Decision = "fallback"
	DecisionShorterRoute Decision = "shorter_route"
	DecisionPartial      Decision = "partial"
	DecisionPending      Decision = "pending"
	DecisionReauthorize  Decision = "reauthorize"
	DecisionReadOnly     Decision = "read_only"
	DecisionCancel       Decision = "cancel"
	DecisionClose        Decision = "close"
	DecisionReject       Decision = "reject"
)

// Phase names the part of a call in which time ran out.
type Phase string

// The phases.
const (
	PhaseQueue         Phase = "queue"
	PhasePool          Phase = "pool"
	PhaseDNS           Phase = "dns"
	PhaseConnect       Phase = "connect"
	PhaseTLS           Phase = "tls"
	PhaseRequest       Phase = "request"
	PhaseFirstByte     Phase = "first_byte"
	PhaseFirstToken    Phase = "first_token"
	PhaseBetweenTokens Phase = "between_tokens"
	PhaseBody          Phase = "body"
	PhaseDBExecution   Phase = "db_execution"
	PhaseTotal         Phase = "total"
)

// Cause says why work was cancelled.
type Cause string

// The causes of a cancellation.
const (
	CauseClientDisconnect Cause = "client_disconnect"
	CauseLocalDeadline    Cause = "local_deadline"
	CauseUpstreamDeadline Cause = "upstream_deadline"
	CauseUpstreamCancel   Cause = "upstream_cancel"
	CauseExpiry           Cause = "expiry"
	CauseShutdown         Cause = "shutdown"
	CauseSuperseded       Cause = "superseded"
	CauseStreamIdle       Cause = "stream_idle"
	CauseSiblingFailed    Cause = "sibling_failed"
)

// Benign reports whether a cancellation with this cause says nothing bad about the service that was cancelled.
func (c Cause) Benign() bool {
	switch c {
	case CauseClientDisconnect, CauseUpstreamCancel, CauseSuperseded, CauseSiblingFailed, CauseShutdown:
		return true
	}
	return false
}

// EffectState is the durable state of a write to another system.
type EffectState string

// The states of an effect.
const (
	EffectPlanned    EffectState = "planned"
	EffectSent       EffectState = "sent"
	EffectConfirmed  EffectState = "confirmed"
	EffectUncertain  EffectState = "uncertain"
	EffectReconciled EffectState = "reconciled"
	EffectAbandoned  EffectState = "abandoned"
)
