package verdict

import (
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// ledger collects the lines of an account.
type ledger struct {
	t       *tree
	a       *account
	lines   []Line
	balance int64
	reserve int64
	cleanup int64
	// early is what the sdk's clock had run before the span began, to be charged with the first own work.
	early int64
	// backoffs is the back-off already charged, by stage, because it is recorded accumulated.
	backoffs map[string]int64
}

func seconds(n int64) *span.Seconds {
	s := span.Seconds(n)
	return &s
}

func (l *ledger) add(line Line, i int32, at int64) *Line {
	n := &l.t.nodes[i]
	line.At = span.Seconds(at - l.t.nodes[l.a.node].start)
	line.fill(l.t, i)
	if l.a.hasBudget {
		line.Balance = seconds(l.balance)
	}
	line.Inferred = line.Inferred || line.Kind == LineHop && (n.adopted || n.Attrs.String(budgetattr.InferredKey) == "true")
	l.lines = append(l.lines, line)
	return &l.lines[len(l.lines)-1]
}

func (l *ledger) debit(line Line, i int32, at, amount int64) *Line {
	l.balance -= amount
	line.Amount = span.Seconds(amount)
	added := l.add(line, i, at)
	if line.Kind != LineHop {
		added.Duration = line.Amount
	}
	if added.Text == "" {
		added.Text = l.t.debitText(added, i, l.a)
	}
	return added
}

func (l *ledger) open(n *node) {
	line := l.add(Line{Kind: LineOpening, Amount: span.Seconds(l.balance), Evidence: EvidenceMeasured}, l.a.node, n.start)
	if l.a.inferred || !l.a.hasBudget {
		line.Evidence, line.Inferred = EvidenceMissing, l.a.inferred
	}
	if l.a.inferred {
		line.Evidence = EvidenceSameClock
	}
	line.Inferred = line.Inferred || n.InferredBy(span.RuleBudgetFrom)
	line.Text = openingText(n, l.a)
	if first := l.a.path.segments; l.a.before < 1e6 && len(first) > 0 && !first[0].hop && first[0].sure && first[0].from == n.start {
		l.early = l.a.before // too little for a line of its own
	} else if l.a.before > 0 {
		l.debit(Line{Kind: LineOwnWork, Evidence: EvidenceMeasured, Text: "spent before the span began"}, l.a.node, n.start, l.a.before)
	}
}

func (l *ledger) close(n *node) {
	evidence := EvidenceSameClock
	switch {
	case l.a.measured:
		evidence = EvidenceMeasured
	case !l.a.hasBudget:
		evidence = EvidenceMissing
	}
	line := l.add(Line{Kind: LineClosing, Evidence: evidence, Amount: span.Seconds(l.a.margin)}, l.a.node, n.start+l.a.elapsed)
	line.Text = closingText(n, l.a)
}

func (l *ledger) change(c limitChange) {
	line := l.debit(Line{Kind: LineLimitChange, Evidence: EvidenceMeasured, Text: changeText(l.t, l.a, c)}, c.node, c.at, c.by)
	line.Duration = 0
}

// unwaited notes a hop that took nothing off the balance, because it was skipped or ran beside what was waited on.
func (l *ledger) unwaited(s segment) {
	if n := &l.t.nodes[l.a.node]; s.from > n.start+l.a.elapsed {
		return // made after the target was reached: not part of the account
	}
	l.memos(s)
	l.debit(Line{Kind: LineHop, Evidence: s.evidence()}, s.node, s.from, 0)
	l.refund(s)
}

func (l *ledger) segment(segments []segment, i int) {
	s := segments[i]
	evidence := s.evidence()
	if s.hop {
		l.hop(s, evidence)
		return
	}
	amount := s.length()
	backoff := int64(0)
	if i+1 < len(segments) && segments[i+1].hop {
		backoff = min(l.backoffBefore(segments[i+1].node), amount)
	}
	clean := int64(0)
	if i+1 == len(segments) {
		clean = min(l.cleanup, amount)
	}
	own := amount - backoff - clean + l.early
	l.early = 0
	if own > 0 {
		l.debit(Line{Kind: LineOwnWork, Evidence: evidence}, s.node, s.from, own)
	}
	if backoff > 0 {
		l.debit(Line{Kind: LineBackoff, Evidence: s.recorded()}, segments[i+1].node, s.to-backoff, backoff)
	}
	if clean > 0 {
		l.debit(Line{Kind: LineCleanup, Evidence: s.recorded()}, s.node, s.to-clean, clean)
	}
}

// backoffBefore is the wait between the previous attempt of this hop and this one. An attempt records it accumulated.
func (l *ledger) backoffBefore(i int32) int64 {
	n := &l.t.nodes[i]
	if !backoffOutside(n) {
		return 0
	}
	total, _ := n.Attrs.Seconds(budgetattr.BackoffKey)
	if l.backoffs == nil {
		l.backoffs = map[string]int64{}
	}
	stage := StageOf(n.Span)
	waited := max(int64(total)-l.backoffs[stage], 0)
	l.backoffs[stage] = max(int64(total), l.backoffs[stage])
	return waited
}

// backoffOutside: the span is one later attempt, so what was waited before it lies outside of it.
func backoffOutside(n *node) bool {
	attempt, _ := n.Attrs.Int(budgetattr.AttemptKey)
	return attempt >= 2 && !n.Attrs.Has(budgetattr.AttemptsTotalKey)
}

func (l *ledger) hop(s segment, evidence Evidence) {
	n := &l.t.nodes[s.node]
	l.memos(s)
	amount := s.length()
	backoff, clean := int64(0), int64(0)
	if total, ok := n.Attrs.Seconds(budgetattr.BackoffKey); ok && !backoffOutside(n) {
		backoff = min(max(int64(total), 0), amount)
	}
	if time, ok := n.Attrs.Seconds(budgetattr.CleanupTimeKey); ok {
		clean = min(max(int64(time), 0), amount-backoff)
	}
	if evidence == EvidenceSameClock && n.Attrs.Has(budgetattr.RemainingBeforeKey) && n.Attrs.Has(budgetattr.RemainingAfterKey) {
		evidence = EvidenceMeasured
	}
	l.debit(Line{Kind: LineHop, Evidence: evidence}, s.node, s.from, amount-backoff-clean)
	if backoff > 0 {
		l.debit(Line{Kind: LineBackoff, Evidence: s.recorded()}, s.node, s.from, backoff)
	}
	if clean > 0 {
		l.debit(Line{Kind: LineCleanup, Evidence: s.recorded()}, s.node, s.to-clean, clean)
	}
	l.refund(s)
}

// memos notes a reserve where it changes. Only hops of the account's own process speak of its reserve.
func (l *ledger) memos(s segment) {
	i := s.node
	reserve, ok := l.t.nodes[i].Attrs.Seconds(budgetattr.ReserveKey)
	if !ok || !s.sure || int64(reserve) == l.reserve || reserve < 0 {
		return
	}
	l.reserve = int64(reserve)
	line := l.add(Line{Kind: LineReserve, Amount: span.Seconds(reserve), Evidence: EvidenceMeasured}, i, s.from)
	line.Text = reserveText(line)
}

// refund notes what a skipped hop would have been allowed to use.
func (l *ledger) refund(s segment) {
	i := s.node
	n := &l.t.nodes[i]
	if !s.sure {
		return
	}
	switch budgetattr.Decision(n.Attrs.String(budgetattr.DecisionKey)) {
	case budgetattr.DecisionSkip, budgetattr.DecisionFallback, budgetattr.DecisionShorterRoute, budgetattr.DecisionReject:
	default:
		return
	}
	for _, key := range [...]string{budgetattr.MinUsefulKey, budgetattr.CapKey, budgetattr.ObservedLimitKey} {
		saved, ok := n.Attrs.Seconds(key)
		if !ok || saved <= 0 {
			continue
		}
		line := l.add(Line{Kind: LineRefund, Amount: span.Seconds(saved), Evidence: EvidenceMeasured}, i, n.start)
		line.Text = refundText(line, key)
		return
	}
}

// fill writes the facts of a span onto a line.
func (line *Line) fill(t *tree, i int32) {
	n := &t.nodes[i]
	line.SpanID = n.ID.String()
	if !n.Parent.IsZero() {
		line.ParentSpanID = n.Parent.String()
	}
	line.Service = n.Service
	line.Stage = StageOf(n.Span)
	line.Duration = span.Seconds(n.length)
	if line.Kind != LineHop && !line.Kind.Outside() {
		return
	}
	line.Peer = t.peer(i)
	line.Decision = budgetattr.Decision(n.Attrs.String(budgetattr.DecisionKey))
	line.Phase, line.Cause = n.v.Phase, n.v.Cause
	if attempt, ok := n.Attrs.Int(budgetattr.AttemptKey); ok && attempt > 0 && attempt < 1<<31 {
		line.Attempt = int(attempt)
	}
	if left, ok := n.Attrs.Seconds(budgetattr.RemainingBeforeKey); ok {
		line.RemainingBefore = seconds(int64(left))
	}
	if left, ok := n.Attrs.Seconds(budgetattr.RemainingAfterKey); ok {
		line.RemainingAfter = seconds(int64(left))
	}
	if callee := t.callee(i); callee != none && !t.nodes[callee].async {
		line.PeerTime = seconds(t.nodes[callee].length)
		line.Between = seconds(n.length - t.nodes[callee].length)
	}
}

// peer names the called side: its own span's service, else what the calling span says. A hop that is the called side
// itself is its own peer.
func (t *tree) peer(i int32) string {
	n := &t.nodes[i]
	if n.parent != none && n.hop && t.nodes[n.parent].Service != n.Service {
		return n.Service
	}
	if callee := t.callee(i); callee != none {
		return t.nodes[callee].Service
	}
	return PeerOf(t.nodes[t.via(i)].Span)
}

// via is the one call that a step wraps, or the span itself.
func (t *tree) via(i int32) int32 {
	n := &t.nodes[i]
	if !n.call && n.hop && !n.entry && n.kids == 1 && t.nodes[t.kidsOf(i)[0]].call {
		return t.kidsOf(i)[0]
	}
	return i
}
