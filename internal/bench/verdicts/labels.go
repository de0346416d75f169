package main

import (
	"slices"
	"time"

	"github.com/laxity-dev/laxity/internal/demo"
	"github.com/laxity-dev/laxity/internal/verdict"
)

// sign is a finding without its figures.
type sign struct {
	rule    verdict.Rule
	service string
}

// outcome is what a fault does, by how the sample services work.
type outcome struct {
	must []sign
	may  []consequence
	// unless: where one of these took effect too, what must be may be missing.
	unless []demo.Fault
	// enforced: only an edge that enforces its budget is stopped by it; one that only watches may go on.
	enforced bool
}

// consequence is a true statement about a trace that a fault makes possible, no more.
type consequence struct {
	rule     verdict.Rule
	services []string
	below    time.Duration // if set, the amount must be less
	with     demo.Fault    // if set, only where this one took effect too
	watched  bool          // only where the edge only watches
}

// labels is what must and what may be said of one trace.
type labels struct {
	must []sign
	may  []consequence
}

// explains reports whether a finding is a consequence of the faults.
func (l labels) explains(f verdict.Finding) bool {
	return slices.ContainsFunc(l.may, func(c consequence) bool {
		return c.rule == f.Rule && slices.Contains(c.services, f.Service) && (c.below == 0 || time.Duration(f.Amount) < c.below)
	})
}

// labelsOf puts together what the faults of a trace do.
func labelsOf(t *trace) labels {
	var l labels
	if t.watched {
		// In mode shadow the sdk hands no remainder down; the proxy that plays that part reads it a moment before the call begins.
		l.may = append(l.may, consequence{rule: verdict.RuleRenewedClock, services: chain, below: stall})
	}
	for _, fault := range t.effects {
		o := outcomes[fault]
		for _, m := range o.must {
			switch {
			case t.has(o.unless...) || o.enforced && t.watched:
				l.may = append(l.may, consequence{rule: m.rule, services: []string{m.service}})
			case !slices.Contains(l.must, m):
				l.must = append(l.must, m)
			}
		}
		for _, c := range o.may {
			if (c.with == "" || t.has(c.with)) && (!c.watched || t.watched) {
				l.may = append(l.may, c)
			}
		}
	}
	return l
}

// strippedLabels are those of the same trace without its deadline.*: without what nothing is left to tell of.
func strippedLabels(t *trace) labels {
	l := labelsOf(t)
	l.must = slices.DeleteFunc(l.must, func(m sign) bool {
		_, none := untold[m.rule]
		return none
	})
	for _, c := range l.may {
		if c.rule == verdict.RuleOrphanWork {
			// The same work, where nothing on the spans shows that the caller's wait was cut.
			c.rule = verdict.RuleOverhang
			l.may = append(l.may, c)
		}
	}
	l.may = append(l.may, consequence{rule: verdict.RuleMissingBudget, services: []string{"edge"}}) // nobody recorded one
	if t.has(demo.IgnoredCancel) {
		// It works on for its caller that has gone, whatever shows that it has.
		l.may = append(l.may, consequence{rule: verdict.RuleOverhang, services: []string{"rerank"}},
			consequence{rule: verdict.RuleOrphanWork, services: []string{"rerank"}})
	}
	if t.has(demo.DetachedWork, demo.TokensAfterCancel) {
		// That work may go on when the answer is out, or a stream be drained, is only declared in deadline.*.
		l.may = append(l.may, consequence{rule: verdict.RuleOverhang, services: []string{"edge", "model"}})
	}
	return l
}

// untold are the findings of which a span without deadline.* tells nothing, and why.
var untold = map[verdict.Rule]string{
	verdict.RuleLate:           "without a budget no answer is late",
	verdict.RuleRenewedClock:   "what the two sides had left is nowhere else",
	verdict.RuleDroppedHeader:  "what the two sides had left is nowhere else",
	verdict.RuleIgnoredCancel:  "when the signal reached the work is nowhere else; found as `orphan_work`",
	verdict.RulePostCancelWork: "when the signal reached the work is nowhere else; found as `orphan_work` where the caller waited",
	verdict.RuleStillRunning:   "a hop that never ends leaves no span, only the event",
	verdict.RuleUncertain:      "a write that timed out looks like any call",
	verdict.RuleExpiredInQueue: "a message that expired looks like one that was handled",
	verdict.RuleLocalSpend:     "a share of a budget that is not known",
	verdict.RuleHopelessStart:  "what the call was allowed is nowhere else",
	verdict.RuleWastedRetry:    "the number of the attempt is nowhere else",
	verdict.RuleReserveEaten:   "the reserve is nowhere else",
	verdict.RuleRetryDidNotFit: "what was not sent leaves no span",
	verdict.RuleDetachedWork:   "the declaration is nowhere else; found as `overhang`",
	verdict.RuleLateResult:     "a refused result stays inside the caller",
}

// undecided are the findings that may be said of spans without deadline.* although they are not so, and why.
var undecided = map[verdict.Rule]string{
	verdict.RuleClockSkew: "a call that is given up on may bear no mark of it; a callee that sees it a few milliseconds later looks like one whose clock runs ahead",
}
