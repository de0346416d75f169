package verdict

// Rule is the stable id of a finding.
type Rule string

// The catalogue, in the order in which ties of the first violation are broken.
const (
	RuleLate           Rule = "late"
	RuleExhausted      Rule = "exhausted"
	RuleOrphanWork     Rule = "orphan_work"
	RuleRenewedClock   Rule = "renewed_clock"
	RuleDroppedHeader  Rule = "dropped_header"
	RuleIgnoredCancel  Rule = "ignored_cancel"
	RuleStillRunning   Rule = "still_running"
	RuleUncertain      Rule = "uncertain_effect"
	RuleExpiredInQueue Rule = "expired_in_queue"

	RuleLocalSpend        Rule = "local_spend"
	RuleHopelessStart     Rule = "hopeless_start"
	RulePostCancelWork    Rule = "post_cancel_work"
	RuleWastedRetry       Rule = "wasted_retry"
	RuleReserveEaten      Rule = "reserve_eaten"
	RuleRetryDidNotFit    Rule = "retry_did_not_fit"
	RuleSlowDependency    Rule = "slow_dependency"
	RuleUnrealisticBudget Rule = "unrealistic_budget"

	RuleOverhang        Rule = "overhang"
	RuleClockSkew       Rule = "clock_skew"
	RuleIncompleteTrace Rule = "incomplete_trace"
	RuleDetachedWork    Rule = "detached_work"
	RuleLateResult      Rule = "late_result"
	RuleMissingBudget   Rule = "missing_budget"
)

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	SeverityInfo  Severity = "info"
	SeverityWarn  Severity = "warn"
	SeverityError Severity = "error"
)

// Violation reports whether the severity counts as a violation.
func (s Severity) Violation() bool { return s == SeverityWarn || s == SeverityError }

// Entry describes one rule of the catalogue.
type Entry struct {
	Rule     Rule
	Severity Severity
	// Meaning in one sentence, Threshold in words ("" if the rule has none), Action what to do about it.
	Meaning   string
	Threshold string
	Action    string
	// OneTrace is false for rules that need the behaviour of many traces; Judge never reports those.
	OneTrace bool
}

// Catalogue lists all rules in the order that breaks ties of the first violation. The caller owns the slice.
func Catalogue() []Entry {
	return []Entry{
		{RuleLate, SeverityError, "the answer came after the governing limit", "margin < 0", "see which debit took the time; give that hop a cap or the route a larger budget", true},
		{RuleExhausted, SeverityError, "ended by its own deadline or expiry, or refused for lack of time, before an answer", "", "see the span in which the time was spent; let the step before it degrade sooner", true},
		{RuleOrphanWork, SeverityError, "work done for a caller whose wait had ended by timeout, cancellation or disconnect", "excess > max(10 ms, 0.1 % of the wait); above 1 ms it is a line of the statement", "carry the deadline to the callee and let it stop on cancellation", true},
		{RuleRenewedClock, SeverityError, "a child received more time than its parent had left", "received > remaining before + 1 ms", "derive the child's deadline from what it is handed", true},
		{RuleDroppedHeader, SeverityError, "a child fell back to its own default, which is more than its parent had left", "received > remaining before + 1 ms", "forward and read the remainder on this edge", true},
		{RuleIgnoredCancel, SeverityError, "work did not confirm its cancellation within the clean-up budget", "not confirmed, or confirmed later than the clean-up budget", "make the operation watch its context; probe what its driver does on expiry", true},
		{RuleStillRunning, SeverityError, "a hop was still open when the response went out and has not been seen to end", "", "cancel open hops at the end of the request, or declare them detached", true},
		{RuleUncertain, SeverityError, "a write to another system may or may not have happened", "", "reconcile by its idempotency key", true},
		{RuleExpiredInQueue, SeverityError, "work expired while it waited in a queue and was not executed", "", "compare queue wait with the budget; admit less or drain faster", true},
		{RuleLocalSpend, SeverityWarn, "most of the budget was spent before the first downstream call", "> 50 % of received", "look at local queues and at the work before the first call", true},
		{RuleHopelessStart, SeverityWarn, "a hop started with less time than it usually needs", "allowance < usual median, or < its smallest useful allowance", "raise the hop's smallest useful allowance so that it is refused", true},
		{RulePostCancelWork, SeverityWarn, "an operation went on after its cancellation signal", "> 100 ms beyond clean-up", "make the operation watch its context", true},
		{RuleWastedRetry, SeverityWarn, "a retry was started and then cut by the deadline", "", "let retries start only if back-off, attempt and reserve fit", true},
		{RuleReserveEaten, SeverityWarn, "a hop used time it had to leave for what follows", "remaining after < reserve by > max(1 ms, 10 % of it)", "cap the hop, or enlarge the reserve", true},
		{RuleRetryDidNotFit, SeverityWarn, "a retry was skipped because it did not fit in the budget", "", "shorten attempts so that a second one fits, or accept one attempt", true},
		{RuleSlowDependency, SeverityWarn, "a dependency is slower than its own baseline while its budget is usual", "", "see the dependency report", false},
		{RuleUnrealisticBudget, SeverityWarn, "a caller hands down less than the dependency usually needs", "", "see the dependency report", false},
		{RuleOverhang, SeverityInfo, "a child outlived its parent; nothing shows that the parent's wait was cut", "excess > max(1 ms, 0.1 % of the wait)", "nothing, unless the child was meant to be waited for", true},
		{RuleClockSkew, SeverityInfo, "times of two machines contradict each other", "> 1 ms", "nothing; figures between these machines are bounds or estimates", true},
		{RuleIncompleteTrace, SeverityInfo, "spans name parents that are not here", "", "wait for late spans; check sampling and dropped exports", true},
		{RuleDetachedWork, SeverityInfo, "work outlived its caller by declared design", "", "nothing", true},
		{RuleLateResult, SeverityInfo, "results arrived after the unit was closed and were refused", "", "nothing; they show how much earlier a branch should be cut", true},
		{RuleMissingBudget, SeverityInfo, "a service recorded no budget", "", "set deadline.budget.received on its entry span", true},
	}
}

// ranks and severities of the rules.
var ranks, severities = func() (map[Rule]int, map[Rule]Severity) {
	ranks, severities := map[Rule]int{}, map[Rule]Severity{}
	for i, e := range Catalogue() {
		ranks[e.Rule], severities[e.Rule] = i, e.Severity
	}
	return ranks, severities
}()

// Rank is the position of the rule in the catalogue; unknown rules come last.
func (r Rule) Rank() int {
	if i, ok := ranks[r]; ok {
		return i
	}
	return len(ranks)
}

// Severity of the rule; info for an unknown one.
func (r Rule) Severity() Severity {
	if s, ok := severities[r]; ok {
		return s
	}
	return SeverityInfo
}

// OverMany reports whether the rule is about the behaviour of many traces, so that Judge never reports it.
func (r Rule) OverMany() bool { return r == RuleSlowDependency || r == RuleUnrealisticBudget }
