package verdict

import (
	"fmt"
	"strings"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

func human(n int64) string { return span.Seconds(n).Human() }

// who names a span: service and stage.
func who(n *node) string {
	return strings.TrimSpace(n.Service + " " + StageOf(n.Span))
}

// causeWords says a cause as the end of "… ended by".
var causeWords = map[budgetattr.Cause]string{
	budgetattr.CauseClientDisconnect: "the client going away",
	budgetattr.CauseLocalDeadline:    "its own deadline",
	budgetattr.CauseUpstreamDeadline: "its caller's deadline",
	budgetattr.CauseUpstreamCancel:   "its caller's cancellation",
	budgetattr.CauseExpiry:           "an expiry",
	budgetattr.CauseShutdown:         "a shutdown",
	budgetattr.CauseSuperseded:       "a newer request",
	budgetattr.CauseStreamIdle:       "a silent stream",
	budgetattr.CauseSiblingFailed:    "the failure of another branch",
}

func causeText(c budgetattr.Cause) string {
	if text, ok := causeWords[c]; ok {
		return text
	}
	if c == "" {
		return "a timeout"
	}
	return string(c)
}

func openingText(n *node, a *account) string {
	if !a.hasBudget {
		return "no budget recorded"
	}
	if a.inferred {
		return "budget as its first call implies it"
	}
	if n.InferredBy(span.RuleBudgetFrom) {
		return "budget as an attribute of another system records it"
	}
	text := "budget granted"
	switch n.v.Source {
	case budgetattr.SourceCaller:
		text = "budget handed down by the caller"
	case budgetattr.SourceDefault:
		text = "default budget"
	case budgetattr.SourceEnvelope:
		text = "budget left in the envelope"
	case budgetattr.SourceRegrant:
		text = "budget granted anew by a person"
	case budgetattr.SourceRefused:
		text = "budget refused"
	}
	if asked, ok := n.Attrs.Seconds(budgetattr.BudgetRequestedKey); ok && asked != n.v.Received {
		text += ", asked for " + human(int64(asked))
		if n.v.Source == budgetattr.SourceClamped || n.v.Source == budgetattr.SourceRaised {
			text += " and " + string(n.v.Source)
		}
	}
	if wait, ok := n.Attrs.Seconds(budgetattr.EnvelopeWaitKey); ok && wait > 0 {
		text += "; " + human(int64(wait)) + " in the broker already taken off"
	}
	return text
}

func closingText(n *node, a *account) string {
	what := "answered"
	switch {
	case n.v.Answered && n.v.Target == budgetattr.TargetFirstOutput:
		what = "first output"
	case n.v.Answered && n.v.Target == budgetattr.TargetValidated:
		what = "validated answer"
	case n.v.Outcome == budgetattr.OutcomeCancelled:
		what = "cancelled by " + causeText(n.v.Cause)
	case !n.v.Answered:
		what = strings.ReplaceAll(string(n.v.Outcome), "_", " ")
	}
	switch {
	case !a.hasBudget:
		return what + " after " + human(a.elapsed)
	case a.margin < 0 && n.v.Answered:
		return what + ", " + human(-a.margin) + " too late"
	case a.margin < 0:
		return what + ", " + human(-a.margin) + " over"
	}
	return what + " with " + human(a.margin) + " left"
}

func changeText(t *tree, a *account, c limitChange) string {
	n := &t.nodes[a.node]
	expiry := budgetattr.Governor(n.Attrs.String(budgetattr.GovernedByKey)) == budgetattr.GovernedByExpiry
	if c.seen && budgetattr.Binding(t.nodes[c.node].Attrs.String(budgetattr.BindingKey)) == budgetattr.BindingExpiry {
		expiry = true
	}
	var text string
	switch {
	case c.by < 0:
		text = "the limit moved away by " + human(-c.by)
	case expiry:
		text = "an expiry came nearer than the deadline by " + human(c.by)
	default:
		text = "the limit came nearer by " + human(c.by)
	}
	if !c.seen {
		text += "; no hop recorded when"
	}
	return text
}

func (t *tree) debitText(line *Line, i int32, a *account) string {
	n := &t.nodes[i]
	switch line.Kind {
	case LineQueue:
		return "waited in the local queue"
	case LineBackoff:
		return "waited between attempts"
	case LineCleanup:
		return "clean-up"
	case LineOwnWork:
		if i == a.node {
			return "own work"
		}
		return "own work in " + StageOf(n.Span)
	}
	return t.hopText(line, i)
}

func (t *tree) hopText(line *Line, i int32) string {
	n := &t.nodes[i]
	text := line.Stage
	if line.Peer != "" && line.Peer != line.Stage {
		text += " at " + line.Peer
	}
	if line.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", line.Attempt)
	}
	switch line.Decision {
	case "", budgetattr.DecisionRun:
	case budgetattr.DecisionSkip:
		text += ", skipped"
	case budgetattr.DecisionFallback:
		text += ", fallback used"
	default:
		text += ", decision " + strings.ReplaceAll(string(line.Decision), "_", " ")
	}
	switch {
	case line.Cause != "":
		text += ", ended by " + causeText(line.Cause)
		if line.Phase != "" {
			text += " (" + strings.ReplaceAll(string(line.Phase), "_", " ") + ")"
		}
	case line.Phase != "":
		text += ", timed out (" + strings.ReplaceAll(string(line.Phase), "_", " ") + ")"
	case n.Status == span.StatusError:
		text += ", failed"
	}
	switch {
	case line.Amount == 0 && n.async:
		text += ", handed over without waiting"
	case line.Amount == 0 && n.length > 0:
		text += ", ran beside other work for " + human(n.length)
	case line.Amount < line.Duration && n.length-int64(line.Amount) > 1000:
		text += ", lasted " + human(n.length)
	}
	return text
}

func reserveText(line *Line) string { return "kept back from " + line.Stage + " for what follows it" }

func refundText(line *Line, key string) string {
	kind := map[string]string{budgetattr.MinUsefulKey: "at least", budgetattr.CapKey: "at most", budgetattr.ObservedLimitKey: "at most"}[key]
	return line.Stage + " not run: " + kind + " " + human(int64(line.Amount)) + " not spent"
}

func lateText(t *tree, i int32, margin int64) string {
	n := &t.nodes[i]
	if !n.v.HasBudget {
		return who(n) + " answered too late"
	}
	return fmt.Sprintf("%s answered %s too late; it had received %s", who(n), human(-margin), human(int64(n.v.Received)))
}

func exhaustedText(t *tree, i int32) string {
	n := &t.nodes[i]
	switch n.v.Outcome {
	case budgetattr.OutcomeRejected:
		return who(n) + " was refused for lack of time"
	case budgetattr.OutcomeCancelled:
		return fmt.Sprintf("%s gave up after %s, ended by %s", who(n), human(n.length), causeText(n.v.Cause))
	}
	return who(n) + " ran out of time"
}

func spentInText(t *tree, p place) string {
	n := &t.nodes[p.node]
	if p.calls > 1 {
		return fmt.Sprintf("; %s of it went into %d calls of %s (the longest is span %s)", human(p.amount), p.calls, who(n), n.ID)
	}
	return fmt.Sprintf("; %s of it went into %s (span %s)", human(p.amount), who(n), n.ID)
}

func expiredText(t *tree, i int32) string {
	n := &t.nodes[i]
	text := who(n) + " expired in the queue and was not executed"
	if wait, ok := n.Attrs.Seconds(budgetattr.EnvelopeWaitKey); ok && wait > 0 {
		text += " after waiting " + human(int64(wait))
	}
	return text
}

func lateResultText(t *tree, i int32, results int64) string {
	if results == 1 {
		return "1 result reached " + who(&t.nodes[i]) + " after it was closed and was refused"
	}
	return fmt.Sprintf("%d results reached %s after it was closed and were refused", results, who(&t.nodes[i]))
}

func uncertainText(t *tree, i int32) string {
	n := &t.nodes[i]
	text := "the effect of " + who(n)
	if key := n.Attrs.String(budgetattr.EffectKeyKey); key != "" {
		text += " with key " + key
	}
	return text + " may or may not have happened"
}

func noBudgetText(t *tree, i int32) string {
	return who(&t.nodes[i]) + " recorded no budget, so there is no margin to judge"
}

func (h handed) had() string {
	if h.grade == EvidenceMeasured {
		return "had"
	}
	return "had at most"
}

func missingBudgetText(t *tree, i int32, h handed) string {
	return fmt.Sprintf("%s recorded no budget although its caller %s %s left", who(&t.nodes[i]), h.had(), human(h.left))
}

func renewedText(t *tree, i int32, h handed) string {
	n := &t.nodes[i]
	text := fmt.Sprintf("%s received %s while its caller %s %s left", who(n), human(int64(n.v.Received)), h.had(), human(h.left))
	if n.v.Source == budgetattr.SourceDefault {
		text += "; it fell back to its own default"
	}
	return text
}

func localSpendText(t *tree, i int32, local int64) string {
	n := &t.nodes[i]
	share := 100 * float64(local) / float64(n.v.Received)
	return fmt.Sprintf("%s spent %s, %.0f %% of its budget, before its first downstream call", who(n), human(local), share)
}

func queueSpendText(t *tree, i int32, waited int64) string {
	n := &t.nodes[i]
	share := 100 * float64(waited) / float64(n.v.Received)
	return fmt.Sprintf("%s waited %s, %.0f %% of its budget, in its local queue and made no call", who(n), human(waited), share)
}

func postCancelText(t *tree, i int32) string {
	n := &t.nodes[i]
	return fmt.Sprintf("%s worked %s on after its cancellation by %s", who(n), human(int64(n.v.PostCancel)), causeText(n.v.Cause))
}

func ignoredText(t *tree, i int32, confirmed bool, budget int64) string {
	if confirmed {
		return fmt.Sprintf("%s stopped only %s after its cancellation; its clean-up budget is %s",
			who(&t.nodes[i]), human(int64(t.nodes[i].v.PostCancel)), human(budget))
	}
	return who(&t.nodes[i]) + " did not confirm that it stopped after its cancellation"
}

func detachedText(t *tree, i int32) string {
	n := &t.nodes[i]
	return fmt.Sprintf("%s outlives its caller by declared design, as %s", who(n), n.Attrs.String(budgetattr.DetachedIDKey))
}

func hopelessText(t *tree, i int32, allowance, need int64) string {
	return fmt.Sprintf("%s started with %s although it needs %s", who(&t.nodes[i]), human(allowance), human(need))
}

func wastedText(t *tree, i int32, attempt int64) string {
	n := &t.nodes[i]
	return fmt.Sprintf("attempt %d of %s took %s and was cut by %s", attempt, who(n), human(n.length), causeText(n.v.Cause))
}

func reserveEatenText(t *tree, i int32, reserve, after int64) string {
	left := "nothing"
	if after > 0 {
		left = human(after)
	}
	return fmt.Sprintf("%s had to leave %s and left %s", who(&t.nodes[i]), human(reserve), left)
}

func retrySkippedText(t *tree, i int32, skipped int64) string {
	if skipped == 1 {
		return "a retry of " + who(&t.nodes[i]) + " was skipped because it did not fit"
	}
	return fmt.Sprintf("%d retries of %s were skipped because they did not fit", skipped, who(&t.nodes[i]))
}

func (o outlived) text(t *tree) string {
	if o.kind == LineOrphan {
		return orphanText(t, o)
	}
	return overhangText(t, o)
}

func orphanText(t *tree, o outlived) string {
	n := &t.nodes[o.node]
	at := map[Evidence]string{EvidenceBound: "at least ", EvidenceEstimate: "about "}[o.grade]
	text := fmt.Sprintf("%s worked %s%s for nobody", who(n), at, human(o.amount))
	caller := "its caller"
	if o.parent != none {
		if p := &t.nodes[o.parent]; p.Service != n.Service || StageOf(p.Span) != StageOf(n.Span) {
			caller = who(p)
		}
	}
	switch {
	case o.cut.inherited && o.cut.cause == "" && o.cut.limit == 0:
		text += ": its caller was orphan work already"
	case o.cut.learned > 0:
		text += fmt.Sprintf(": %s stopped waiting at a limit of %s that nobody recorded and at which at least %d calls ended", caller,
			human(o.cut.limit), o.cut.learned)
	case o.cut.limit > 0:
		text += fmt.Sprintf(": %s stopped waiting at its limit of %s", caller, human(o.cut.limit))
	default:
		text += fmt.Sprintf(": the wait of %s was ended after %s by %s", caller, human(o.cut.after), causeText(o.cut.cause))
	}
	if o.estimate > o.amount {
		text += "; about " + human(o.estimate) + " by the two clocks"
	}
	return text + o.skewed.text()
}

// text says what is taken off for two clocks, and by what evidence.
func (l learnedOffset) text() string {
	switch {
	case l.calls == 0:
		return ""
	case l.by < 0:
		return fmt.Sprintf("; the called clock is at least %s behind, by at least %d calls around that time", human(-l.by), l.calls)
	}
	return fmt.Sprintf("; the called clock is at least %s ahead, by at least %d calls around that time", human(l.by), l.calls)
}

func overhangText(t *tree, o outlived) string {
	return fmt.Sprintf("%s outlived its parent %s by %s; nothing shows that anyone stopped waiting",
		who(&t.nodes[o.node]), StageOf(t.nodes[o.parent].Span), human(o.amount))
}

func skewText(t *tree, w skew) string {
	n := &t.nodes[w.node]
	return fmt.Sprintf("the clocks of %s and %s contradict each other by at least %s",
		t.nodes[n.parent].Service, n.Service, human(w.by)) + w.learned.text()
}

func stillRunningText(t *tree, open openChild) string {
	stage := open.event.Attrs.String(budgetattr.OpenChildStageKey)
	if stage == "" {
		stage = "a hop"
	}
	if peer := open.event.Attrs.String(budgetattr.OpenChildPeerKey); peer != "" {
		stage += " at " + peer
	}
	return stage + " was still running when " + who(&t.nodes[open.entry]) + " responded and has not been seen to end"
}

func incompleteText(spans, parents int) string {
	switch {
	case spans == 1:
		return "1 span names a parent that is not here"
	case parents == 1:
		return fmt.Sprintf("%d spans name a parent that is not here", spans)
	}
	return fmt.Sprintf("%d spans name %d parents that are not here", spans, parents)
}
