package verdict

import (
	"slices"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// account is the span whose budget the statement is about, and how its balance went.
type account struct {
	node                int32
	hasBudget, inferred bool
	received            int64
	// elapsed from the start of the span to its target; before is what the sdk's clock had run when the span began.
	elapsed, before int64
	changes         []limitChange
	path            path
	margin          int64
	measured        bool
}

// limitChange lowers the balance because the governing limit came nearer; negative if it moved away.
type limitChange struct {
	at, by int64
	node   int32
	// seen: a hop recorded what was left after the change; otherwise only the closing margin shows it.
	seen bool
}

// holder picks the account holder: the topmost entry with a budget, else the topmost entry. Of several equally high ones
// the longest is taken, which no clock offset changes.
func (t *tree) holder() int32 {
	if !t.opts.Entry.IsZero() {
		if from, to := t.find(t.opts.Entry); from < to {
			for i := from; i < to; i++ {
				if t.nodes[i].entry {
					return int32(i)
				}
			}
			return int32(from)
		}
	}
	accepts := [...]func(int32) bool{
		func(i int32) bool { return t.nodes[i].entry && t.nodes[i].v.HasBudget },
		func(i int32) bool {
			_, ok := t.impliedBudget(i)
			return ok
		},
		func(i int32) bool { return t.nodes[i].entry },
	}
	for _, accept := range accepts {
		best := none
		for _, i := range t.order {
			if best != none && t.nodes[i].depth > t.nodes[best].depth {
				break
			}
			if accept(i) && (best == none || t.above(i, best)) {
				best = i
			}
		}
		if best != none {
			return best
		}
	}
	return none
}

func (t *tree) above(a, b int32) bool {
	x, y := &t.nodes[a], &t.nodes[b]
	if x.missing != y.missing {
		return !x.missing
	}
	if x.length != y.length {
		return x.length > y.length
	}
	return a < b
}

// impliedBudget derives what an entry that recorded no budget must have had from what its first call had left.
func (t *tree) impliedBudget(i int32) (int64, bool) {
	n := &t.nodes[i]
	if !n.entry || n.v.HasBudget {
		return 0, false
	}
	first := none
	for _, k := range t.kidsOf(i) {
		c := &t.nodes[k]
		if c.Attrs.Has(budgetattr.RemainingBeforeKey) && sameProcess(n, c) && c.start >= n.start &&
			(first == none || c.start < t.nodes[first].start) {
			first = k
		}
	}
	if first == none {
		return 0, false
	}
	left, ok := t.nodes[first].Attrs.Seconds(budgetattr.RemainingBeforeKey)
	return int64(left) + min(t.nodes[first].start-n.start, int64(maxLength)), ok
}

func (t *tree) openAccount(i int32) *account {
	n := &t.nodes[i]
	a := &account{node: i, hasBudget: n.v.HasBudget, received: int64(n.v.Received)}
	if !a.hasBudget {
		a.received, a.hasBudget = t.impliedBudget(i)
		a.inferred = a.hasBudget
	}
	a.elapsed = int64(elapsedToTarget(n.Span, n.v.Target))
	if a.hasBudget {
		a.findChanges(t)
		a.settle(n)
	}
	queue := a.queue(t)
	a.path = t.walk(i, n.start+queue, n.start+a.elapsed)
	return a
}

// queue is the local wait at the beginning of the account.
func (a *account) queue(t *tree) int64 {
	q, _ := t.nodes[a.node].Attrs.Seconds(budgetattr.QueueTimeKey)
	return min(max(int64(q), 0), a.elapsed)
}

// findChanges compares what hops recorded as left with what the received budget would have left.
func (a *account) findChanges(t *tree) {
	n := &t.nodes[a.node]
	var hops []int32
	stack := []int32{a.node}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, k := range t.kidsOf(i) {
			c := &t.nodes[k]
			if !sameProcess(&t.nodes[i], c) || c.v.HasBudget {
				continue
			}
			if c.Attrs.Has(budgetattr.RemainingBeforeKey) && c.start >= n.start && c.start <= n.start+a.elapsed {
				hops = append(hops, k)
			}
			if !c.hop {
				stack = append(stack, k)
			}
		}
	}
	slices.SortFunc(hops, func(x, y int32) int {
		if d := t.nodes[x].start - t.nodes[y].start; d != 0 {
			return int(max(min(d, 1), -1))
		}
		return int(x - y)
	})
	governed := budgetattr.Governor(n.Attrs.String(budgetattr.GovernedByKey)) == budgetattr.GovernedByExpiry
	limit := a.received
	for _, h := range hops {
		c := &t.nodes[h]
		left, ok := c.Attrs.Seconds(budgetattr.RemainingBeforeKey)
		if !ok {
			continue
		}
		tolerance := int64(1e6)
		if !governed && budgetattr.Binding(c.Attrs.String(budgetattr.BindingKey)) != budgetattr.BindingExpiry {
			tolerance = max(tolerance, a.received/100)
		}
		by := limit - (c.start - n.start) - int64(left)
		if by <= tolerance && by >= -tolerance {
			continue
		}
		a.changes = append(a.changes, limitChange{at: c.start, by: by, node: h, seen: true})
		limit -= by
	}
}

// settle finds the closing instant and margin so that received − elapsed − before − changes = margin.
func (a *account) settle(n *node) {
	changed := int64(0)
	for _, c := range a.changes {
		changed += c.by
	}
	if !n.v.HasMargin || n.v.MarginInferred {
		a.margin = a.received - changed - a.elapsed
		return
	}
	a.margin, a.measured = int64(n.v.Margin), true
	spent := a.received - changed - a.margin
	tolerance := int64(1e6)
	if budgetattr.Governor(n.Attrs.String(budgetattr.GovernedByKey)) != budgetattr.GovernedByExpiry {
		tolerance = max(5*tolerance, a.received/100)
	}
	switch {
	case spent >= 0 && spent <= n.length:
		a.elapsed = spent
	case spent > a.elapsed && spent-a.elapsed <= tolerance:
		a.before = spent - a.elapsed
	default:
		a.changes = append(a.changes, limitChange{at: n.start + a.elapsed, by: spent - a.elapsed, node: a.node})
	}
}

// lines writes the account as debits and memos in order of time, with the running balance.
func (a *account) lines(t *tree) []Line {
	n := &t.nodes[a.node]
	l := ledger{t: t, a: a, balance: a.received}
	l.open(n)
	if q := a.queue(t); q > 0 {
		l.debit(Line{Kind: LineQueue, Evidence: EvidenceMeasured}, a.node, n.start, q)
	}
	changes, unwaited := a.changes, a.path.unwaited
	l.cleanup = a.cleanup(n)
	for i, s := range a.path.segments {
		for ; len(unwaited) > 0 && unwaited[0].from <= s.from; unwaited = unwaited[1:] {
			l.unwaited(unwaited[0])
		}
		for ; len(changes) > 0 && changes[0].at <= s.from; changes = changes[1:] {
			l.change(changes[0])
		}
		l.segment(a.path.segments, i)
	}
	for _, u := range unwaited {
		l.unwaited(u)
	}
	for _, c := range changes {
		l.change(c)
	}
	l.close(n)
	return l.lines
}

// cleanup is how much of the account's last own work was clean-up.
func (a *account) cleanup(n *node) int64 {
	c, _ := n.Attrs.Seconds(budgetattr.CleanupTimeKey)
	if c <= 0 || a.elapsed < n.length {
		return 0
	}
	return int64(c)
}
