package verdict

import (
	"cmp"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// cut is evidence that a wait ended by timeout, cancellation or disconnect.
type cut struct {
	ok bool
	// after counts from the start of the waiting span, on its clock.
	after int64
	cause budgetattr.Cause
	// limit is set where only a known limit tells it; learned is from how many calls, 0 for one that was given.
	limit   int64
	learned int
	// inherited: the waiting span was orphan work itself by then.
	inherited bool
}

// outlived is what a span did after its caller's wait had ended, or without such evidence after its parent.
type outlived struct {
	node   int32
	parent int32
	kind   LineKind
	amount int64
	// past is by how much it ended after the wait: more than amount where it also began after it.
	past int64
	// estimate is the difference of two clocks, where amount is a bound; 0 if there is none.
	estimate int64
	grade    Evidence
	// skewed is what many traces tell about the two clocks, where the estimate rests on it.
	skewed learnedOffset
	cut    cut
	// in is the topmost span of the same kind that already counts this one.
	in int32
}

// outcomes of the search, per trace.
type search struct {
	t       *tree
	orphans []outlived
	hangs   []outlived
	// tail[i] is how much of the end of node i is orphan work, by its own clock; top[i] is the orphan that counts it.
	tail    []int64
	grade   []Evidence
	top     []int32
	hangTop []int32
	counted counter
	offsets map[[2]int32]offset
}

// searchOutliving goes over all parents and children, parents first.
func (t *tree) searchOutliving() *search {
	s := &search{t: t, tail: make([]int64, len(t.nodes)), grade: make([]Evidence, len(t.nodes)),
		top: make([]int32, len(t.nodes)), hangTop: make([]int32, len(t.nodes))}
	s.counted = counter{amount: s.tail}
	s.offsets = t.offsetsOfPairs()
	for _, i := range t.order {
		s.top[i], s.hangTop[i] = none, none
		s.judge(i)
	}
	for i := range s.orphans {
		s.orphans[i].in = s.counted.final(s.orphans[i].node, s.orphans[i].in)
	}
	return s
}

// ownCut is the evidence a waiting span itself carries.
func (t *tree) ownCut(i int32) cut {
	n := &t.nodes[i]
	if n.v.Cause != "" || n.v.Phase != "" && n.call {
		c := cut{ok: true, after: n.length, cause: n.v.Cause}
		// A handler that ran out of time still waits for its calls until it ends; one whose caller is gone does so for nobody.
		if n.v.HasCancelAfter && (n.call || !endedByTime(n.v.Cause) || n.v.Cause == budgetattr.CauseUpstreamDeadline) {
			c.after = min(int64(n.v.CancelAfter), n.length)
		}
		return c
	}
	if n.call && len(t.opts.Limits)+len(t.opts.Hidden) > 0 {
		return t.cutByLimit(i)
	}
	return cut{}
}

// cutByLimit is the evidence of a limit that is known although no span records it.
func (t *tree) cutByLimit(i int32) cut {
	n := &t.nodes[i]
	peer, stage := t.peer(i), n.Attrs.String(budgetattr.StageKey)
	if limit, ok := lookup(t.opts.Limits, n.Service, peer, n.Name, stage); ok {
		if t.opts.Thresholds.atLimit(n.length, int64(limit)) {
			return cut{ok: true, after: n.length, cause: budgetattr.CauseLocalDeadline, limit: int64(limit)}
		}
		return cut{}
	}
	hidden, ok := lookup(t.opts.Hidden, n.Service, peer, n.Name, stage)
	granted := n.Attrs.Has(budgetattr.AllowanceKey) || n.Attrs.Has(budgetattr.RemainingBeforeKey)
	if !ok || granted || n.length < int64(hidden.From) || !t.opts.Thresholds.atLimit(n.length, int64(max(min(time.Duration(n.length), hidden.To), hidden.From))) {
		return cut{}
	}
	return cut{ok: true, after: n.length, cause: budgetattr.CauseLocalDeadline, limit: int64(hidden.At), learned: hidden.Calls}
}

// cutAbove: a call that failed at the very moment at which the work that made it was cut was cut with it.
func (t *tree) cutAbove(i int32) cut {
	n := &t.nodes[i]
	if !n.call || n.parent == none || n.Status != span.StatusError {
		return cut{}
	}
	p := &t.nodes[n.parent]
	c := t.ownCut(n.parent)
	apart := add(add(n.end(), -p.start), -c.after)
	if !c.ok || !sameProcess(p, n) || t.opts.Thresholds.excess(max(apart, -apart), c.after) {
		return cut{}
	}
	return cut{ok: true, after: n.length, cause: c.cause}
}

func (s *search) judge(i int32) {
	t := s.t
	n := &t.nodes[i]
	if n.parent == none {
		s.rootOrphan(i)
		return
	}
	p := &t.nodes[n.parent]
	if n.async || startsByItself(p, n) {
		return
	}
	s.top[i] = s.top[n.parent]
	c := s.cutFor(n.parent, i)
	if !c.ok {
		if s.top[n.parent] == none {
			s.judgeOverhang(i)
		}
		return
	}
	o := s.measure(p, n, c)
	if c.inherited {
		o.grade = worse(o.grade, s.grade[n.parent])
	}
	if o.amount <= 0 || !t.opts.Thresholds.excess(o.past, c.after) {
		return
	}
	s.tail[i], s.grade[i] = min(o.amount, n.length), o.grade
	if s.told(p, n, i) {
		return
	}
	o.node, o.parent, o.kind, o.cut, o.in = i, n.parent, LineOrphan, c, s.counted.in(i, s.top[n.parent])
	if o.in == none {
		s.top[i] = i
	}
	s.orphans = append(s.orphans, o)
}

// tellsOrphan reports whether orphan work went on for long enough to be a finding.
func (t Thresholds) tellsOrphan(o outlived) bool { return o.past > int64(t.Orphan) }

// told: the time of the span's service is already on the line of its parent, and as well known.
func (s *search) told(p, n *node, i int32) bool {
	above := s.tail[n.parent]
	return above > 0 && n.Service == p.Service && worse(s.grade[n.parent], s.grade[i]) == s.grade[i] &&
		(s.tail[i] <= above || n.Kind == span.KindUnspecified)
}

// counter decides which of several nested amounts a total counts: the topmost, unless work below it went on for longer.
type counter struct {
	amount []int64
	longer map[int32]int32
}

// in returns the counted node above that already counts i, or none if i counts itself.
func (c *counter) in(i, above int32) int32 {
	if above == none || c.amount[i] <= c.amount[above] {
		return above
	}
	if l, ok := c.longer[above]; !ok || c.amount[i] > c.amount[l] {
		if c.longer == nil {
			c.longer = map[int32]int32{}
		}
		c.longer[above] = i
	}
	return none
}

// final is where i is counted in the end: what counted itself may have met something longer below.
func (c *counter) final(i, in int32) int32 {
	at := in
	if at == none {
		at = i
	}
	for {
		l, ok := c.longer[at]
		if !ok {
			break
		}
		at = l
	}
	if at == i {
		return none
	}
	return at
}

// startsByItself: a local span that begins only after the span it belongs to has ended, as a timer makes it. A call that
// begins then is not: somebody still works on the request.
func startsByItself(p, n *node) bool {
	return !p.call && n.start >= p.end() && n.start > p.start && sameProcess(p, n) && n.Kind == span.KindInternal
}

// cutFor finds the evidence that ended the wait of p for its child: on p, on the child, on the event that named the child
// open, or inherited because p is orphan work itself by then.
func (s *search) cutFor(p, child int32) cut {
	t := s.t
	n := &t.nodes[p]
	c := t.ownCut(p)
	if !c.ok {
		c = t.cutAbove(p)
	}
	if !c.ok {
		if cause := t.nodes[child].v.Cause; callerGone(&t.nodes[child]) {
			c = cut{ok: true, after: n.length, cause: cause}
		}
	}
	if open, ok := t.openChildren[t.nodes[child].ID]; ok && !c.ok {
		if cause := budgetattr.Cause(open.event.Attrs.String(budgetattr.OpenChildCauseKey)); cause != "" {
			c = cut{ok: true, after: n.length, cause: cause}
			if t.nodes[open.entry].host == n.host {
				c.after = min(max(open.at-n.start, 0), int64(maxLength))
			}
		}
	}
	if s.tail[p] > 0 {
		if dead := n.length - s.tail[p]; !c.ok || dead < c.after && s.grade[p].Firm() {
			return cut{ok: true, after: dead, cause: c.cause, limit: c.limit, learned: c.learned, inherited: true}
		}
	}
	return c
}

// callerGone: the called side itself recorded that its caller went away.
func callerGone(n *node) bool {
	if n.Kind != span.KindServer {
		return false
	}
	switch n.v.Cause {
	case budgetattr.CauseClientDisconnect, budgetattr.CauseUpstreamCancel, budgetattr.CauseUpstreamDeadline:
		return true
	case budgetattr.CauseLocalDeadline, budgetattr.CauseExpiry:
		// A deadline that came from the caller is the end of the caller's wait too.
		return n.v.Source == budgetattr.SourceCaller || n.v.Source == budgetattr.SourceEnvelope
	}
	return false
}

// measure finds how much of n was done after the wait of p had ended, by the best evidence there is.
func (s *search) measure(p, n *node, c cut) outlived {
	if n.v.HasPostCancel && callerGone(n) {
		grade := EvidenceMeasured
		if n.v.PostCancelInferred {
			grade = EvidenceSameClock
		}
		return outlived{amount: int64(n.v.PostCancel), past: int64(n.v.PostCancel), grade: grade}
	}
	allowed := int64(allowedAfterEnd(n.Span))
	waited := p.start + c.after
	if sameClock(p, n) {
		return outlived{amount: n.end() - max(n.start, waited) - allowed, past: n.end() - waited - allowed, grade: EvidenceSameClock}
	}
	by, learned := s.correction(p, n)
	waited = add(waited, by)
	past := add(n.end(), -waited) - allowed
	estimate := min(past, n.length-allowed)
	if bound := n.length - c.after - allowed; s.t.opts.Thresholds.excess(bound, c.after) {
		return outlived{amount: bound, past: bound, estimate: max(estimate, bound), grade: EvidenceBound}
	}
	return outlived{amount: estimate, past: past, grade: EvidenceEstimate, skewed: learned}
}

// learnedOffset is by how much a called machine's clock is taken to run ahead, and from how many calls of other traces.
type learnedOffset struct {
	by    int64
	calls int
}

// correction is the offset between the clocks of a call's two sides by the calls of this trace, else by those of many.
func (s *search) correction(p, n *node) (int64, learnedOffset) {
	if own, seen := s.offsets[pairOf(p, n)]; seen {
		return own.correction(), learnedOffset{}
	}
	if s.t.opts.Offsets == nil {
		return 0, learnedOffset{}
	}
	low, high, calls, ok := s.t.opts.Offsets.Between(MachineOf(p.Span), MachineOf(n.Span), p.start)
	by := offset{int64(low), int64(high)}.correction()
	if !ok || by == 0 {
		return 0, learnedOffset{}
	}
	return by, learnedOffset{by, calls}
}

// rootOrphan judges a span whose caller is not in the trace by what it recorded itself.
func (s *search) rootOrphan(i int32) {
	n := &s.t.nodes[i]
	if !callerGone(n) || !n.v.HasPostCancel || n.detached {
		return
	}
	c := cut{ok: true, after: int64(n.v.CancelAfter), cause: n.v.Cause}
	if !s.t.opts.Thresholds.excess(int64(n.v.PostCancel), c.after) {
		return
	}
	grade := EvidenceMeasured
	if n.v.PostCancelInferred {
		grade = EvidenceSameClock
	}
	o := outlived{node: i, parent: none, kind: LineOrphan, amount: int64(n.v.PostCancel), past: int64(n.v.PostCancel), grade: grade, cut: c, in: none}
	s.tail[i], s.grade[i], s.top[i] = min(o.amount, n.length), grade, i
	s.orphans = append(s.orphans, o)
}

// judgeOverhang notes a child that outlives its parent although nothing says that anyone stopped waiting. A child that
// starts only after its parent has ended is asynchronous by design.
func (s *search) judgeOverhang(i int32) {
	t := s.t
	n := &t.nodes[i]
	p := &t.nodes[n.parent]
	o := outlived{node: i, parent: n.parent, kind: LineOverhang, in: s.hangTop[n.parent]}
	switch {
	case sameProcess(p, n):
		if n.start >= p.end() {
			return
		}
		o.amount, o.grade = n.end()-p.end(), EvidenceSameClock
		if !sameClock(p, n) {
			o.grade = EvidenceEstimate
		}
	case p.call:
		o.amount, o.grade = n.length-p.length, EvidenceBound
	case n.start < p.end():
		o.amount, o.grade = n.length-p.length, EvidenceEstimate
	default:
		return
	}
	if !t.opts.Thresholds.excess(o.amount, p.length) {
		s.hangTop[i] = o.in
		return
	}
	s.hangTop[i] = i
	if o.in != none {
		s.hangTop[i] = o.in
	}
	s.hangs = append(s.hangs, o)
}

var grades = [...]Evidence{EvidenceMeasured, EvidenceSameClock, EvidenceBound, EvidenceEstimate, EvidenceMissing}

func worse(a, b Evidence) Evidence {
	if slices.Index(grades[:], a) < slices.Index(grades[:], b) {
		return b
	}
	return a
}

// offset bounds by how much the called machine's clock runs ahead of the calling one's: a call that ended well started on
// the called side after it was made and ended before it returned.
type offset struct{ low, high int64 }

// correction is the smallest offset that explains the calls seen; 0 if none is needed or none explains them.
func (o offset) correction() int64 {
	switch {
	case o.low > o.high:
		return 0
	case o.low > 0:
		return o.low
	case o.high < 0:
		return o.high
	}
	return 0
}

// pairOf names two machines, or two services where nothing tells the machines apart, for calls from p to n.
func pairOf(p, n *node) [2]int32 { return [2]int32{p.host, n.host} }

func (t *tree) offsetsOfPairs() map[[2]int32]offset {
	offsets := map[[2]int32]offset{}
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.parent == none || n.async {
			continue
		}
		p := &t.nodes[n.parent]
		if !p.call || !n.entry || sameProcess(p, n) || n.length > p.length || t.ownCut(n.parent).ok {
			continue
		}
		o, seen := offsets[pairOf(p, n)]
		low, high := n.end()-p.end(), n.start-p.start
		if seen {
			low, high = max(low, o.low), min(high, o.high)
		}
		offsets[pairOf(p, n)] = offset{low, high}
	}
	return offsets
}

// skew is a contradiction between the clocks of a parent and a child.
type skew struct {
	node    int32
	by      int64
	learned learnedOffset
}

// leftBehind reports whether a called span may end after its caller without any difference between the clocks.
func (s *search) leftBehind(i int32) bool {
	n := &s.t.nodes[i]
	o, seen := s.offsets[pairOf(&s.t.nodes[n.parent], n)]
	return seen && o.low > o.high || s.cutFor(n.parent, i).ok
}

// searchSkew finds, per pair of machines, the child that contradicts its parent's times most although its length fits.
func (t *tree) searchSkew(s *search) []skew {
	worst := map[[2]int32]skew{}
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.parent == none || n.detached {
			continue
		}
		p := &t.nodes[n.parent]
		if sameProcess(p, n) || p.host == n.host || s.top[i] != none {
			continue
		}
		by := p.start - n.start
		// What starts after a call has returned is asynchronous, unless it is the other half of that very call. What ends after
		// a call that was cut, or by more than the other calls between the two leave room for, was left behind.
		if p.call && !n.call && !n.async && n.length <= p.length && (n.start < p.end() || n.Name == p.Name) && !s.leftBehind(int32(i)) {
			by = max(by, n.end()-p.end())
		}
		w, seen := worst[pairOf(p, n)]
		if by > int64(t.opts.Thresholds.Skew) && (!seen || by > w.by || by == w.by && int32(i) < w.node) {
			worst[pairOf(p, n)] = skew{node: int32(i), by: by}
		}
	}
	found := make([]skew, 0, len(worst))
	for _, w := range worst {
		if n := &t.nodes[w.node]; t.opts.Offsets != nil {
			p := &t.nodes[n.parent]
			if low, high, calls, ok := t.opts.Offsets.Between(MachineOf(p.Span), MachineOf(n.Span), p.start); ok {
				w.learned = learnedOffset{offset{int64(low), int64(high)}.correction(), calls}
			}
		}
		found = append(found, w)
	}
	slices.SortFunc(found, func(a, b skew) int { return cmp.Compare(a.node, b.node) })
	return found
}
