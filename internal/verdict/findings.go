package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// inquiry collects the findings of one trace.
type inquiry struct {
	t      *tree
	holder *account
	search *search
	// inside is what the statement covers; what is found elsewhere is left out.
	inside  func(int32) bool
	places  map[int32]place
	found   []finding
	rem     []handed
	account []int32
	first   []int32
	// effects marks accounts of which an uncertain effect is already reported.
	effects map[int32]bool
}

// finding is a Finding with what orders it.
type finding struct {
	Finding
	node int32
	at   int64
	rank int
}

// handed is an upper bound of what a span had left at its start, and how it is known.
type handed struct {
	known bool
	left  int64
	grade Evidence
}

func (t *tree) inquire(a *account, s *search, inside func(int32) bool) *inquiry {
	q := &inquiry{t: t, holder: a, search: s, inside: inside, places: map[int32]place{}, effects: map[int32]bool{}}
	q.rem = make([]handed, len(t.nodes))
	q.account = make([]int32, len(t.nodes))
	q.first = make([]int32, len(t.nodes))
	for i := range q.first {
		q.first[i] = none
	}
	for _, i := range t.order {
		q.assignAccount(i)
		q.propagation(i)
	}
	for _, i := range t.order {
		n := &t.nodes[i]
		if !inside(i) {
			continue
		}
		if n.entry {
			q.entry(i)
		}
		q.anySpan(i)
		if n.call || n.hop {
			q.step(i)
		}
	}
	told := map[int32]bool{}
	for _, o := range s.orphans {
		if q.t.opts.Thresholds.tellsOrphan(o) {
			told[o.node] = true
		}
	}
	for _, o := range s.orphans {
		// What is counted on a span that is not told is not told either.
		if inside(o.node) && told[o.node] && (o.in == none || told[o.in]) {
			q.orphan(o)
		}
	}
	for _, o := range s.hangs {
		if inside(o.node) {
			q.overhang(o)
		}
	}
	for _, w := range t.searchSkew(s) {
		if inside(w.node) {
			q.addAt(RuleClockSkew, w.node, 0, w.by, EvidenceEstimate, skewText(t, w))
		}
	}
	q.uncertainOutcomes()
	q.openChildren()
	q.incomplete()
	q.sort()
	return q
}

// unsure: a call was timed by another machine's clock only, so which was the first cannot be told.
const unsure = int32(-2)

// assignAccount notes whose account a span's time is charged to, and each account's first downstream call.
func (q *inquiry) assignAccount(i int32) {
	n := &q.t.nodes[i]
	if n.parent == none {
		q.account[i] = i
		return
	}
	above := q.account[n.parent]
	q.account[i] = above
	if n.entry {
		q.account[i] = i
	}
	p := &q.t.nodes[n.parent]
	downstream := n.Kind == span.KindClient || n.call || n.entry && !p.call
	switch f := q.first[above]; {
	case !downstream || n.async || p.call && sameProcess(p, n) || f == unsure:
	case !sameProcess(p, n) || n.host != q.t.nodes[above].host:
		if !p.call {
			q.first[above] = unsure
		}
	case f == none || n.start < q.t.nodes[f].start:
		q.first[above] = i
	}
}

// propagation carries down what each span had left at most, and compares it with what entries received.
func (q *inquiry) propagation(i int32) {
	n := &q.t.nodes[i]
	var above handed
	if n.parent != none {
		above = q.rem[n.parent]
		if above.known {
			above = q.after(above, &q.t.nodes[n.parent], n)
		}
	}
	recorded := n.v.HasBudget && !n.InferredBy(span.RuleBudgetFrom)
	if n.entry && above.known && n.parent != none && q.inside(i) {
		q.compareBudgets(i, above, recorded)
	}
	switch left, ok := n.Attrs.Seconds(budgetattr.RemainingBeforeKey); {
	case n.v.HasBudget:
		q.rem[i] = handed{true, int64(n.v.Received), EvidenceMeasured}
	case ok:
		q.rem[i] = handed{true, int64(left), EvidenceMeasured}
	default:
		q.rem[i] = above
	}
}

// after is what is left when a child starts: less by the time gone if one clock tells it, else no more than before.
func (q *inquiry) after(h handed, p, n *node) handed {
	if sameProcess(p, n) && !p.call {
		h.left -= min(max(n.start-p.start, 0), int64(maxLength))
		h.grade = worse(h.grade, EvidenceSameClock)
		return h
	}
	if !p.Attrs.Has(budgetattr.RemainingBeforeKey) {
		h.grade = worse(h.grade, EvidenceBound)
	}
	return h
}

func (q *inquiry) compareBudgets(i int32, above handed, recorded bool) {
	n := &q.t.nodes[i]
	if !n.v.HasBudget {
		q.addAt(RuleMissingBudget, i, 0, 0, above.grade, missingBudgetText(q.t, i, above))
		return
	}
	by := int64(n.v.Received) - max(above.left, 0) // nothing left is handed down as zero
	// A person's grant and work declared to outlive its caller have budgets of their own.
	if !recorded || by <= int64(q.t.opts.Thresholds.Renewed) || n.v.Source == budgetattr.SourceRegrant || n.detached || q.t.nodes[n.parent].detached {
		return
	}
	rule := RuleRenewedClock
	if n.v.Source == budgetattr.SourceDefault {
		rule = RuleDroppedHeader
	}
	q.addAt(rule, i, 0, by, above.grade, renewedText(q.t, i, above))
}

func (q *inquiry) addAt(rule Rule, i int32, offset, amount int64, grade Evidence, text string) *Finding {
	n := &q.t.nodes[i]
	f := finding{node: i, at: add(n.placed, offset), rank: rule.Rank(), Finding: Finding{
		Rule: rule, Severity: rule.Severity(), SpanID: n.ID.String(), Kind: n.Kind.String(), Service: n.Service,
		Stage: StageOf(n.Span), Amount: span.Seconds(amount), Evidence: grade, Cause: n.v.Cause, Text: text,
	}}
	if !n.Parent.IsZero() {
		f.ParentSpanID = n.Parent.String()
	}
	if !n.entry {
		f.Peer = q.t.peer(i)
	}
	q.found = append(q.found, f)
	return &q.found[len(q.found)-1].Finding
}

// entry judges what is about whole units of work.
func (q *inquiry) entry(i int32) {
	t := q.t
	n := &t.nodes[i]
	late, margin, elapsed, grade := n.v.Late, int64(n.v.Margin), int64(elapsedToTarget(n.Span, n.v.Target)), EvidenceMeasured
	if n.v.MarginInferred {
		grade = EvidenceSameClock
	}
	if i == q.holder.node && q.holder.hasBudget {
		margin, elapsed = q.holder.margin, q.holder.elapsed
		late = late || n.v.Answered && margin < 0
	}
	switch {
	case late:
		f := q.addAt(RuleLate, i, elapsed+min(margin, 0), -margin, grade, lateText(t, i, margin))
		q.blame(f, i)
	case n.v.Outcome == budgetattr.OutcomeExpiredInQueue:
		q.addAt(RuleExpiredInQueue, i, 0, 0, EvidenceMeasured, expiredText(t, i))
	case n.v.Exhausted:
		at := n.length
		if n.v.HasCancelAfter {
			at = min(int64(n.v.CancelAfter), n.length)
		}
		f := q.addAt(RuleExhausted, i, at, n.length, EvidenceSameClock, exhaustedText(t, i))
		q.blame(f, i)
	}
	q.localSpend(i)
	if results, ok := n.Attrs.Int(budgetattr.LateResultsKey); ok && results > 0 {
		q.addAt(RuleLateResult, i, n.length, 0, EvidenceMeasured, lateResultText(t, i, results))
	}
	if i == q.holder.node && !n.v.HasBudget && !q.rem[i].known {
		q.addAt(RuleMissingBudget, i, 0, 0, EvidenceMissing, noBudgetText(t, i))
	}
}

// blame says in which span the time went that an entry ran out of.
func (q *inquiry) blame(f *Finding, i int32) {
	where := q.t.spentIn(i, q.places)
	f.SpentIn = q.t.placeOf(where)
	if where.node != i {
		f.Text += spentInText(q.t, where)
	}
}

func (t *tree) placeOf(p place) *Place {
	n := &t.nodes[p.node]
	return &Place{SpanID: n.ID.String(), Service: n.Service, Stage: StageOf(n.Span), Duration: span.Seconds(n.length), Amount: span.Seconds(p.amount), Calls: p.calls}
}

func (q *inquiry) localSpend(i int32) {
	n := &q.t.nodes[i]
	if !n.v.HasBudget || n.v.Received <= 0 {
		return
	}
	grade := EvidenceMeasured
	local, ok := n.Attrs.Seconds(budgetattr.LocalBeforeFirstCallKey)
	text := localSpendText
	if !ok {
		queue, _ := n.Attrs.Seconds(budgetattr.QueueTimeKey)
		switch f := q.first[i]; {
		case f >= 0 && q.account[q.t.nodes[f].parent] == i:
			c := &q.t.nodes[f]
			local, grade = time.Duration(min(max(c.start-n.start, 0), n.length))-max(queue, 0), EvidenceSameClock
		case f == none: // it never came to a call
			local, text = min(queue, time.Duration(n.length)), queueSpendText
		default:
			return
		}
	}
	if float64(local) <= q.t.opts.Thresholds.LocalSpendShare*float64(n.v.Received) {
		return
	}
	q.addAt(RuleLocalSpend, i, int64(local), int64(local), grade, text(q.t, i, int64(local)))
}

// anySpan judges what any span may show: work after its cancellation, work declared detached.
func (q *inquiry) anySpan(i int32) {
	n := &q.t.nodes[i]
	grade := EvidenceMeasured
	if n.v.PostCancelInferred {
		grade = EvidenceSameClock
	}
	if n.v.HasPostCancel && n.v.PostCancel > q.t.opts.Thresholds.PostCancel {
		q.addAt(RulePostCancelWork, i, int64(n.v.CancelAfter), int64(n.v.PostCancel), grade, postCancelText(q.t, i))
	}
	confirmed, known := n.Attrs.Bool(budgetattr.CancelConfirmedKey)
	budget, hasBudget := n.Attrs.Seconds(budgetattr.CleanupBudgetKey)
	if known && !confirmed || known && hasBudget && n.v.HasPostCancel && n.v.PostCancel > max(budget, 0) {
		q.addAt(RuleIgnoredCancel, i, int64(n.v.CancelAfter), int64(n.v.PostCancel), grade, ignoredText(q.t, i, confirmed, int64(budget)))
	}
	if budgetattr.EffectState(n.Attrs.String(budgetattr.EffectStateKey)) == budgetattr.EffectUncertain {
		q.addAt(RuleUncertain, i, n.length, 0, EvidenceMeasured, uncertainText(q.t, i))
		q.effects[q.account[i]] = true
	}
	if n.detached && n.parent != none {
		p := &q.t.nodes[n.parent]
		over := n.end() - p.end()
		if q.t.opts.Thresholds.excess(over, p.length) {
			q.addAt(RuleDetachedWork, i, 0, min(over, n.length), EvidenceEstimate, detachedText(q.t, i))
		}
	}
}

// step judges one hop.
func (q *inquiry) step(i int32) {
	n := &q.t.nodes[i]
	a := n.Attrs
	th := q.t.opts.Thresholds
	if allowance, ok := a.Seconds(budgetattr.AllowanceKey); ok {
		decision := budgetattr.Decision(a.String(budgetattr.DecisionKey))
		started := decision == "" || decision == budgetattr.DecisionRun
		need, known := lookup(q.t.opts.Usual, n.Service, q.t.peer(i), n.Name, a.String(budgetattr.StageKey))
		if useful, ok := a.Seconds(budgetattr.MinUsefulKey); ok && useful > need {
			need, known = useful, true
		}
		if started && known && allowance < need {
			q.addAt(RuleHopelessStart, i, 0, int64(need-allowance), EvidenceMeasured, hopelessText(q.t, i, int64(allowance), int64(need)))
		}
	}
	if attempt, ok := a.Int(budgetattr.AttemptKey); ok && attempt >= 2 && endedByTime(n.v.Cause) {
		q.addAt(RuleWastedRetry, i, 0, n.length, EvidenceSameClock, wastedText(q.t, i, attempt))
	}
	reserve, hasReserve := a.Seconds(budgetattr.ReserveKey)
	after, hasAfter := a.Seconds(budgetattr.RemainingAfterKey)
	if before, ok := a.Seconds(budgetattr.RemainingBeforeKey); ok {
		reserve = min(reserve, max(before, 0)) // what was not there, the hop has not eaten: it may not even have started
	}
	if hasReserve && hasAfter && th.eaten(reserve, after) {
		q.addAt(RuleReserveEaten, i, n.length, int64(reserve-max(after, 0)), EvidenceMeasured, reserveEatenText(q.t, i, int64(reserve), int64(after)))
	}
	if skipped, ok := a.Int(budgetattr.RetriesSkippedKey); ok && skipped > 0 && forTime(a.String(budgetattr.RetriesSkippedReasonKey)) {
		q.addAt(RuleRetryDidNotFit, i, n.length, 0, EvidenceMeasured, retrySkippedText(q.t, i, skipped))
	}
}

func endedByTime(c budgetattr.Cause) bool {
	return c == budgetattr.CauseLocalDeadline || c == budgetattr.CauseUpstreamDeadline || c == budgetattr.CauseExpiry
}

// forTime reports whether a retry was skipped for lack of time: that is the reason unless another one is named.
func forTime(reason string) bool {
	if reason == "" {
		return true
	}
	for _, word := range [...]string{"budget", "fit", "time", "deadline", "exhaust", "expir", "backoff", "retry_after"} {
		if strings.Contains(reason, word) {
			return true
		}
	}
	return false
}

func (q *inquiry) orphan(o outlived) {
	f := q.addAt(RuleOrphanWork, o.node, 0, o.amount, o.grade, o.text(q.t))
	last := &q.found[len(q.found)-1]
	if o.parent != none {
		last.at = add(q.t.nodes[o.parent].placed, o.cut.after)
	} else {
		last.at = add(last.at, o.cut.after)
	}
	if o.cut.cause != "" {
		f.Cause = o.cut.cause
	}
	if o.in != none {
		f.IncludedIn = q.t.nodes[o.in].ID.String()
	}
}

func (q *inquiry) overhang(o outlived) {
	f := q.addAt(RuleOverhang, o.node, q.t.nodes[o.node].length-o.amount, o.amount, o.grade, o.text(q.t))
	if o.in != none {
		f.IncludedIn = q.t.nodes[o.in].ID.String()
	}
}

// openChildren reports hops that were open when a response went out and of which no span has arrived since.
func (q *inquiry) openChildren() {
	ids := make([]span.ID, 0, len(q.t.openChildren))
	for id := range q.t.openChildren {
		if from, to := q.t.find(id); from == to {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b span.ID) int { return strings.Compare(a.String(), b.String()) })
	for _, id := range ids {
		open := q.t.openChildren[id]
		e := &q.t.nodes[open.entry]
		f := q.addAt(RuleStillRunning, open.entry, min(max(open.at-e.start, 0), e.length), 0, EvidenceMissing, stillRunningText(q.t, open))
		f.SpanID, f.ParentSpanID, f.Kind = id.String(), e.ID.String(), span.KindClient.String()
		f.Stage = open.event.Attrs.String(budgetattr.OpenChildStageKey)
		f.Peer = open.event.Attrs.String(budgetattr.OpenChildPeerKey)
		f.Cause = budgetattr.Cause(open.event.Attrs.String(budgetattr.OpenChildCauseKey))
	}
}

func (q *inquiry) incomplete() {
	top, spans := none, 0
	parents := map[span.ID]bool{}
	for _, i := range q.t.order {
		n := &q.t.nodes[i]
		if !n.missing {
			continue
		}
		spans++
		parents[n.Parent] = true
		if top == none || q.t.above(i, top) {
			top = i
		}
	}
	if top != none {
		q.addAt(RuleIncompleteTrace, top, 0, 0, EvidenceMissing, incompleteText(spans, len(parents)))
	}
}

// uncertainOutcomes reports units that ended uncertain without naming the effect.
func (q *inquiry) uncertainOutcomes() {
	for _, i := range q.t.order {
		n := &q.t.nodes[i]
		if n.entry && n.v.Outcome == budgetattr.OutcomeUncertain && !q.effects[i] {
			q.addAt(RuleUncertain, i, n.length, 0, EvidenceMeasured, uncertainText(q.t, i))
		}
	}
}

func (q *inquiry) sort() {
	slices.SortFunc(q.found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank), cmp.Compare(a.node, b.node),
			strings.Compare(a.SpanID, b.SpanID))
	})
}
