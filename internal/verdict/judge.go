package verdict

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Judge judges one trace by its spans, in any order, duplicated or incomplete. The spans are read, never changed. If they
// are of several traces, the one with most spans is judged; see Group. Without spans the statement is nil.
func Judge(spans []span.Span, opts Options) *Statement {
	c := Open(spans, opts)
	if c == nil {
		return nil
	}
	return c.Statement(opts.Entry)
}

// Case is one trace laid out for several statements. One goroutine at a time may use it.
type Case struct {
	tree   *tree
	search *search
}

// Open lays out one trace, as Judge does. Without spans the case is nil.
func Open(spans []span.Span, opts Options) *Case {
	if len(spans) == 0 {
		return nil
	}
	t := newTree(spans, opts)
	return &Case{t, t.searchOutliving()}
}

// Statement judges the trace with this span as the account holder; zero is the account holder by rule.
func (c *Case) Statement(entry span.ID) *Statement {
	t := c.tree
	t.opts.Entry = entry
	a := t.openAccount(t.holder())
	inside := t.subtree(a.node)
	q := t.inquire(a, c.search, inside)
	s := t.statement(a)
	s.Lines = append(a.lines(t), q.outsideLines(inside)...)
	for i := range s.Lines {
		s.Lines[i].N = i + 1
	}
	s.addFindings(q, inside)
	s.addTotals(q, inside)
	s.SpentIn = t.placeOf(t.spentIn(a.node, q.places))
	return s
}

// Group sorts spans by trace, in order of first appearance.
func Group(spans []span.Span) [][]span.Span {
	index := map[span.TraceID]int{}
	var groups [][]span.Span
	for i := range spans {
		g, ok := index[spans[i].Trace]
		if !ok {
			g = len(groups)
			index[spans[i].Trace] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], spans[i])
	}
	return groups
}

// subtree marks what a statement covers: everything, or what is below a picked entry.
func (t *tree) subtree(top int32) func(int32) bool {
	if t.opts.Entry.IsZero() {
		return func(int32) bool { return true }
	}
	inside := make([]bool, len(t.nodes))
	for _, i := range t.order {
		p := t.nodes[i].parent
		inside[i] = i == top || p != none && inside[p]
	}
	return func(i int32) bool { return inside[i] }
}

func (t *tree) statement(a *account) *Statement {
	n := &t.nodes[a.node]
	s := &Statement{
		TraceID: n.Trace.String(), EntrySpanID: n.ID.String(), Service: n.Service, Route: RouteOf(n.Span),
		StartedAt: time.Unix(0, n.start).UTC(), Duration: span.Seconds(n.length), Complete: true, Spans: len(t.nodes),
		Target: n.v.Target, Outcome: n.v.Outcome, Exhausted: n.v.Exhausted, Costs: map[string]float64{}, Findings: []Finding{},
	}
	for i := range t.nodes {
		s.Complete = s.Complete && !t.nodes[i].missing
	}
	s.Late = n.v.Late
	if a.hasBudget {
		s.Late = s.Late || n.v.Answered && a.margin < 0
		s.Opening, s.Closing, s.Margin = seconds(a.received), seconds(a.margin), seconds(a.margin)
		s.Budget = &Budget{Received: span.Seconds(a.received), Source: n.v.Source, Inferred: a.inferred || n.InferredBy(span.RuleBudgetFrom),
			GovernedBy: budgetattr.Governor(n.Attrs.String(budgetattr.GovernedByKey))}
		if s.Budget.GovernedBy == "" {
			s.Budget.GovernedBy = budgetattr.GovernedByDeadline
		}
		if asked, ok := n.Attrs.Seconds(budgetattr.BudgetRequestedKey); ok {
			s.Budget.Requested = seconds(int64(asked))
		}
	}
	s.Class = ClassOf(n.v.Outcome, n.v.Cause, s.Late)
	return s
}

// outsideLines tells what happened outside the balance, in order of time.
func (q *inquiry) outsideLines(inside func(int32) bool) []Line {
	type placed struct {
		Line
		at   int64
		node int32
	}
	t := q.t
	origin := t.nodes[q.holder.node].placed
	var all []placed
	put := func(kind LineKind, i int32, at int64, amount int64, grade Evidence, in int32, text string) *placed {
		line := Line{Kind: kind, Amount: span.Seconds(amount), Evidence: grade, Text: text, Inferred: grade != EvidenceMeasured}
		line.fill(t, i)
		if in != none {
			line.IncludedIn = t.nodes[in].ID.String()
		}
		all = append(all, placed{line, at, i})
		return &all[len(all)-1]
	}
	for _, list := range [...][]outlived{q.search.orphans, q.search.hangs} {
		for _, o := range list {
			if !inside(o.node) {
				continue
			}
			n := &t.nodes[o.node]
			line := put(o.kind, o.node, add(n.placed, n.length-o.amount), o.amount, o.grade, o.in, o.text(t))
			if o.estimate > 0 {
				line.Estimate = seconds(o.estimate)
			}
			if o.cut.cause != "" {
				line.Cause = o.cut.cause
			}
		}
	}
	for _, p := range t.postCancels() {
		if !inside(p.node) {
			continue
		}
		n := &t.nodes[p.node]
		put(LinePostCancel, p.node, add(n.placed, int64(n.v.CancelAfter)), p.amount, p.grade, p.in, postCancelText(t, p.node))
	}
	for _, f := range q.found {
		if !inside(f.node) {
			continue
		}
		switch f.Rule {
		case RuleDetachedWork:
			put(LineDetached, f.node, f.at, int64(f.Amount), f.Evidence, none, f.Text)
		case RuleLateResult:
			put(LineLateResult, f.node, f.at, 0, f.Evidence, none, f.Text)
		case RuleStillRunning:
			line := put(LineOrphan, f.node, f.at, 0, EvidenceMissing, none, f.Text)
			line.SpanID, line.ParentSpanID, line.Stage, line.Peer, line.Duration = f.SpanID, f.ParentSpanID, f.Stage, f.Peer, 0
			line.PeerTime, line.Between = nil, nil
			line.Cause = f.Cause
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(string(a.Kind), string(b.Kind)), cmp.Compare(a.node, b.node))
	})
	lines := make([]Line, len(all))
	for i := range all {
		all[i].Line.At = span.Seconds(add(all[i].at, -origin))
		lines[i] = all[i].Line
	}
	return lines
}

// postCancels lists the spans that worked on after their cancellation.
func (t *tree) postCancels() []outlived {
	var list []outlived
	counted := counter{amount: make([]int64, len(t.nodes))}
	top := make([]int32, len(t.nodes))
	for _, i := range t.order {
		n := &t.nodes[i]
		top[i] = none
		if n.parent != none {
			top[i] = top[n.parent]
		}
		if !n.v.HasPostCancel || n.v.PostCancel <= 0 {
			continue
		}
		o := outlived{node: i, kind: LinePostCancel, amount: int64(n.v.PostCancel), grade: EvidenceMeasured}
		if n.v.PostCancelInferred {
			o.grade = EvidenceSameClock
		}
		counted.amount[i] = o.amount
		if o.in = counted.in(i, top[i]); o.in == none {
			top[i] = i
		}
		list = append(list, o)
	}
	for i := range list {
		list[i].in = counted.final(list[i].node, list[i].in)
	}
	return list
}

func (s *Statement) addFindings(q *inquiry, inside func(int32) bool) {
	origin := q.t.nodes[q.holder.node].placed
	for _, f := range q.found {
		if !inside(f.node) {
			continue
		}
		f.At = span.Seconds(add(f.at, -origin))
		s.Findings = append(s.Findings, f.Finding)
		if s.FirstViolation == "" && f.Severity.Violation() {
			s.FirstViolation = f.Rule
		}
	}
}

// addTotals sums what is not already included in another line, and the costs of work after cancellation.
func (s *Statement) addTotals(q *inquiry, inside func(int32) bool) {
	var orphan, post int64
	for i := range s.Lines {
		line := &s.Lines[i]
		if line.IncludedIn != "" {
			continue
		}
		switch line.Kind {
		case LineOrphan:
			orphan = add(orphan, int64(line.Amount))
		case LinePostCancel:
			post = add(post, int64(line.Amount))
		}
	}
	s.Orphan, s.PostCancel = span.Seconds(orphan), span.Seconds(post)
	for _, i := range q.t.order {
		n := &q.t.nodes[i]
		if cost, ok := n.Attrs.Float(budgetattr.PostCancelCostKey); ok && inside(i) {
			unit := n.Attrs.String(budgetattr.CostUnitKey)
			if unit == "" {
				unit = "unit"
			}
			s.Costs[unit] = max(-math.MaxFloat64, min(s.Costs[unit]+cost, math.MaxFloat64))
		}
	}
}
