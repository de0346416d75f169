package verdict

import (
	"cmp"
	"slices"
)

// segment is a stretch of an account's time, charged to one span: a hop as a whole, or own work of a local span.
type segment struct {
	node     int32
	hop      bool
	from, to int64
	// sure: all times it rests on are of one process.
	sure bool
}

func (s segment) length() int64 { return s.to - s.from }

func (s segment) evidence() Evidence {
	if s.sure {
		return EvidenceSameClock
	}
	return EvidenceEstimate
}

// recorded is the evidence of a part of the segment whose length a span recorded.
func (s segment) recorded() Evidence {
	if s.sure {
		return EvidenceMeasured
	}
	return EvidenceEstimate
}

// path is what an account waited on, in order of time, and the hops it did not wait on.
type path struct {
	segments []segment
	unwaited []segment
}

// frame is a local span being walked backwards from cur to lo.
type frame struct {
	node    int32
	lo, cur int64
	kids    []int32
	next    int
	sure    bool
}

// walk charges the time from lo to hi of an account to what it waited on: from the last finisher back, over intervals
// clipped to the parent, so that overlapping work is charged once. Local spans are walked into, hops are not.
func (t *tree) walk(account int32, lo, hi int64) path {
	var p path
	stack := []frame{t.frame(account, lo, max(lo, hi), true)}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if f.next == len(f.kids) {
			p.charge(segment{node: f.node, from: f.lo, to: f.cur, sure: f.sure})
			stack = stack[:len(stack)-1]
			continue
		}
		k := f.kids[f.next]
		f.next++
		n := &t.nodes[k]
		from, to := max(n.start, f.lo), min(n.end(), f.cur)
		waited := !n.async && from < to
		if waited {
			p.charge(segment{node: f.node, from: to, to: f.cur, sure: f.sure})
			f.cur = from
		}
		sure := f.sure && sameProcess(&t.nodes[f.node], n)
		switch {
		case n.hop && waited:
			p.charge(segment{node: k, hop: true, from: from, to: to, sure: sure})
		case n.hop:
			p.unwaited = append(p.unwaited, segment{node: k, hop: true, from: n.start, to: n.start, sure: sure})
		case waited:
			stack = append(stack, t.frame(k, from, to, sure))
		case n.kids > 0:
			stack = append(stack, t.frame(k, f.cur, f.cur, sure))
		}
	}
	slices.Reverse(p.segments)
	slices.SortFunc(p.unwaited, func(a, b segment) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.node, b.node))
	})
	return p
}

// frame lists the children of a local span, last finisher first. A span with a child on another clock is sure of nothing.
func (t *tree) frame(i int32, lo, hi int64, sure bool) frame {
	f := frame{node: i, lo: lo, cur: hi, kids: slices.Clone(t.kidsOf(i)), sure: sure}
	slices.SortFunc(f.kids, func(a, b int32) int {
		x, y := &t.nodes[a], &t.nodes[b]
		return cmp.Or(cmp.Compare(y.end(), x.end()), cmp.Compare(x.start, y.start), cmp.Compare(a, b))
	})
	for _, k := range f.kids {
		if n := &t.nodes[k]; !n.async && !sameProcess(&t.nodes[i], n) {
			f.sure = false
			break
		}
	}
	return f
}

// charge adds a segment before the earlier ones; neighbouring own work of one span becomes one segment.
func (p *path) charge(s segment) {
	if s.from >= s.to {
		return
	}
	if last := len(p.segments) - 1; last >= 0 {
		l := &p.segments[last]
		if !s.hop && !l.hop && l.node == s.node && l.from == s.to && l.sure == s.sure {
			l.from = s.from
			return
		}
	}
	p.segments = append(p.segments, s)
}

// step is where most of an account's time went: into its hops of one stage and peer, into its local spans of one stage, or
// nowhere further.
type step struct {
	next   int32 // the longest of them, none if the time stays here
	amount int64 // own work of the account, or what was charged for them
	calls  int
}

// place is a span and how much time stayed in it, or in so many calls of its kind.
type place struct {
	node   int32
	amount int64
	calls  int
}

// spentIn follows the largest part of an account downwards until it stays in one place. The amount is no more than what
// the account itself waited.
func (t *tree) spentIn(account int32, memo map[int32]place) place {
	type link struct {
		account int32
		amount  int64
	}
	var chain []link
	var found place
	for at := account; ; {
		if known, ok := memo[at]; ok {
			found = known
			break
		}
		s := t.largest(at)
		chain = append(chain, link{at, s.amount})
		if s.next == none {
			found = place{at, s.amount, 1}
			break
		}
		below := s.next
		// What worked for less than half of a call is not where its time went: that lies between the two.
		if callee := t.callee(below); callee != none && 2*t.nodes[callee].length >= t.nodes[below].length {
			below = callee
		}
		if s.calls > 1 || !t.nodes[below].entry {
			found = place{below, s.amount, s.calls}
			break
		}
		at = below
	}
	for _, l := range slices.Backward(chain) {
		found.amount = min(found.amount, l.amount)
		memo[l.account] = found
	}
	return found
}

func (t *tree) largest(account int32) step {
	// local: own work of a span inside the account, not a call.
	type kind struct {
		stage, peer string
		local       bool
	}
	n := &t.nodes[account]
	own, most := int64(0), step{next: none}
	groups := map[kind]*step{}
	inNode := map[int32]int64{} // a local span's own work lies in pieces around its calls
	for _, s := range t.walk(account, n.start, n.end()).segments {
		if s.node == account {
			own += s.length()
			continue
		}
		k := kind{stage: StageOf(t.nodes[s.node].Span), local: !s.hop}
		if s.hop {
			k.peer = t.peer(s.node)
		}
		g := groups[k]
		if g == nil {
			g = &step{next: s.node}
			groups[k] = g
		}
		if _, seen := inNode[s.node]; !seen {
			g.calls++
		}
		inNode[s.node] += s.length()
		g.amount += s.length()
		if inNode[s.node] > inNode[g.next] {
			g.next = s.node
		}
	}
	for k, g := range groups {
		// A call whose called side left no span may not tell its peer; it joins those of its stage that do.
		if lone := groups[kind{stage: k.stage}]; !k.local && lone != nil && lone != g {
			g.amount, g.calls = g.amount+lone.amount, g.calls+lone.calls
		}
		if g.amount > most.amount || g.amount == most.amount && g.next < most.next {
			most = *g
		}
	}
	if own >= most.amount {
		return step{none, own, 1}
	}
	return most
}

// callee is the span of the called side of a call, the longest if there are several, none if it left no span.
func (t *tree) callee(call int32) int32 {
	best := none
	call = t.via(call)
	if !t.nodes[call].call {
		return best
	}
	for _, k := range t.kidsOf(call) {
		n := &t.nodes[k]
		if n.entry && (best == none || n.length > t.nodes[best].length) {
			best = k
		}
	}
	return best
}
