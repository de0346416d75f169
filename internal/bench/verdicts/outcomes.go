package main

import (
	"slices"

	"github.com/laxity-dev/laxity/internal/demo"
	"github.com/laxity-dev/laxity/internal/verdict"
)

// leaves are the faults in which the client goes away, after which nobody runs out of time.
var leaves = []demo.Fault{demo.ClientLeaves, demo.TokensAfterCancel}

// chain is every service that works on a request while its client waits.
var chain = []string{"edge", "account", "retrieval", "index", "rerank", "model", "validator"}

// stopped: these services are told to stop in the middle of their work. They work on for the moment in which a busy machine
// lets them see it, beyond the wait of those who called them.
func stopped(services ...string) []consequence {
	return []consequence{
		{rule: verdict.RuleOrphanWork, services: services, below: stall},
		{rule: verdict.RulePostCancelWork, services: services, below: stall},
	}
}

// outOfTime: these services have less time than their work needs and are stopped by it. What they were handed ended before
// they answered; and what had to leave a reserve returns a moment after it was told to.
func outOfTime(services ...string) []consequence {
	return append(stopped(services...),
		consequence{rule: verdict.RuleExhausted, services: services},
		consequence{rule: verdict.RuleReserveEaten, services: services, below: stall})
}

// little: these services have so little time that what they do before their first call, on a busy machine, is most of it.
func little(services ...string) []consequence {
	return []consequence{{rule: verdict.RuleLocalSpend, services: services, below: stall}}
}

// refused: the profile that is under way when a request ends may still arrive, and is refused.
func refused() []consequence {
	return []consequence{{rule: verdict.RuleLateResult, services: []string{"edge"}}}
}

// handsOn: an edge that only watches goes on with what is left, be it too little, and hands it down; those who enforce it stop.
func handsOn(services ...string) []consequence {
	all := outOfTime(services...)
	for i := range all {
		all[i].watched = true
	}
	return all
}

// outcomes says of each fault which findings it must cause and which may follow. A new fault must be given its row.
var outcomes = map[demo.Fault]outcome{
	// The edge gives up after its cap and answers 504; the statement is interrupted in the account service.
	demo.SlowDependency: {must: []sign{{verdict.RuleExhausted, "edge"}}, unless: leaves, enforced: true, may: outOfTime("edge", "account")},
	demo.RenewedClock:   {must: []sign{{verdict.RuleRenewedClock, "rerank"}}},
	demo.DroppedHeader:  {must: []sign{{verdict.RuleDroppedHeader, "account"}}},
	// Rerank sleeps for 2.5 times what it was handed. Its own deadline ends it before its answer, unless the client has left.
	demo.IgnoredCancel: {
		must: []sign{{verdict.RuleIgnoredCancel, "rerank"}, {verdict.RuleOrphanWork, "rerank"}, {verdict.RulePostCancelWork, "rerank"}},
		may:  slices.Concat(stopped("retrieval"), []consequence{{rule: verdict.RuleExhausted, services: []string{"rerank"}}}),
	},
	// Whatever is at work when the small budget ends is stopped; it may not even have reached a call.
	demo.TightBudget: {must: []sign{{verdict.RuleExhausted, "edge"}}, unless: leaves, enforced: true,
		may: slices.Concat(outOfTime(chain...), little(chain...), refused())},
	demo.LocalQueue:   {must: []sign{{verdict.RuleLocalSpend, "edge"}}},
	demo.ClientLeaves: {may: slices.Concat(stopped(chain...), refused())},
	// Refusals are asked for again until the deadline cuts an attempt; the model runs out of what it was handed.
	demo.RetryStorm: {must: []sign{{verdict.RuleWastedRetry, "edge"}, {verdict.RuleExhausted, "edge"}}, unless: leaves, enforced: true,
		may: outOfTime("edge", "model")},
	demo.LateResult: {must: []sign{{verdict.RuleLateResult, "edge"}}},
	// The watchdog ends the stream; where a step was skipped for want of time, or a queue took most of it, the deadline does,
	// and a retry no longer fits or is cut.
	demo.Freeze:         {may: slices.Concat(stopped("edge", "model"), cutAfter(demo.StepSkipped), cutAfter(demo.LocalQueue))},
	demo.HeartbeatsOnly: {may: slices.Concat(stopped("edge", "model"), cutAfter(demo.StepSkipped), cutAfter(demo.LocalQueue))},
	// The first of two attempts ends at its first token's limit, the second one where there is time for it.
	demo.FirstTokenDelay: {may: slices.Concat(stopped("edge", "model"), cutAfter(demo.StepSkipped), cutAfter(demo.LocalQueue))},
	// Retrieval works until little is left, so that what comes after it has little.
	demo.StepSkipped: {may: slices.Concat(stopped("retrieval"), handsOn("account", "model", "validator"))},
	demo.ModelDown:   {},
	// A pause that is longer than what a queue left for the step is cut, and a retry of it does not fit.
	demo.SlowReader: {may: slices.Concat(stopped("edge", "model"), cutAfter(demo.StepSkipped), cutAfter(demo.LocalQueue))},
	// The shard's wait is ended by what the fan-out handed it, or by the fan-out itself.
	demo.ShardStraggler: {may: slices.Concat(stopped("retrieval"), outOfTime("index"))},
	// An edge that only watches waits for as long as it is asked to, until its client has no patience any more.
	demo.RetryAfter: {must: []sign{{verdict.RuleRetryDidNotFit, "edge"}}, enforced: true, may: stopped("edge")},
	// An edge that only watches asks again, with the little that is left.
	demo.LateFailure:   {must: []sign{{verdict.RuleRetryDidNotFit, "edge"}}, enforced: true, may: slices.Concat(stopped("model"), handsOn("model", "validator", "account"))},
	demo.NestedRetries: {},
	// The stream is drained for its usage, within its limit.
	demo.TokensAfterCancel: {may: stopped("edge", "model")},
	// The old client's short timeout ends the call and what account does for it.
	demo.HopelessStart: {must: []sign{{verdict.RuleHopelessStart, "validator"}},
		may: slices.Concat(stopped("validator"), outOfTime("account"), little("account"))},
	// The rules never look at the time, so they also miss that the client left, or the edge gave up on its call.
	demo.ReserveEaten: {must: []sign{{verdict.RuleReserveEaten, "validator"}, {verdict.RulePostCancelWork, "validator"}}, may: stopped("validator")},
	// The check ends after the deadline, so it has eaten the reserve too.
	demo.LateValidation:  {must: []sign{{verdict.RuleLate, "edge"}, {verdict.RuleReserveEaten, "edge"}}},
	demo.ExpiredInQueue:  {must: []sign{{verdict.RuleExpiredInQueue, "archive"}}},
	demo.UncertainEffect: {must: []sign{{verdict.RuleUncertain, "archive"}}, may: stopped("archive")},
	demo.DetachedWork:    {must: []sign{{verdict.RuleDetachedWork, "edge"}}},
	demo.HopLeftOpen:     {must: []sign{{verdict.RuleStillRunning, "edge"}}},
}

// cutAfter: another fault has left the edge less time than the model's limits, so that an attempt is cut by its deadline,
// and so is what the model was handed. Then a first attempt leaves no time for a second one, or the second one is cut.
func cutAfter(another demo.Fault) []consequence {
	all := append(outOfTime("model"),
		consequence{rule: verdict.RuleWastedRetry, services: []string{"edge"}},
		consequence{rule: verdict.RuleRetryDidNotFit, services: []string{"edge"}})
	for i := range all {
		all[i].with = another
	}
	return all
}
