package verdict

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// none stands for no node.
const none = int32(-1)

// node is one span in its place. Times are nanoseconds; a node never ends before it starts.
type node struct {
	*span.Span
	v             SpanVerdict
	start, length int64
	parent        int32
	firstKid      int32
	kids          int32
	depth         int32
	// clock is the machine's clock as far as it is proven by instance id, or host and process; 0 is unknown.
	clock int32
	// host tells machines apart as well as is known: by the clock, else by the service's name.
	host int32
	// placed is the start on the clock of the root, clock offsets between call pairs taken out. For order only.
	placed int64
	// missing: the parent it names is not here, or the names of parents run in a circle.
	missing bool
	// adopted: put below the one entry of its process that was at work when it began, for want of its own parent.
	adopted bool
	// entry: an account of its own. call: its length is a caller's wait. hop: charged as a whole in the account above it.
	entry, call, hop bool
	// async: its parent does not wait for it, by the kinds, by a link, or as declared.
	async    bool
	detached bool
}

func (n *node) end() int64 { return n.start + n.length }

// tree is one trace. nodes are sorted by span id; order lists them parents first.
type tree struct {
	nodes []node
	kids  []int32
	order []int32
	opts  Options
	// openChildren maps the id of a hop to the event that says it was open when a response went out.
	openChildren map[span.ID]openChild
}

type openChild struct {
	entry int32
	at    int64
	event *span.Event
}

func newTree(spans []span.Span, opts Options) *tree {
	t := &tree{opts: opts}
	t.opts.Thresholds = opts.Thresholds.withDefaults()
	t.collect(spans)
	t.resolveParents()
	t.adopt()
	t.cutCircles()
	t.listKids()
	t.assignRoles()
	t.collectOpenChildren()
	t.place()
	return t
}

// find returns the range of nodes with this span id.
func (t *tree) find(id span.ID) (from, to int) {
	from, _ = slices.BinarySearchFunc(t.nodes, id, func(n node, id span.ID) int { return bytes.Compare(n.ID[:], id[:]) })
	for to = from; to < len(t.nodes) && t.nodes[to].ID == id; to++ {
	}
	return from, to
}

// sameID are the nodes that share a span id, in order of their services, and the first two of them that call: two, so that
// one of them can be the span that asks.
type sameID struct {
	from, to       int32
	calls, clients [2]int32
}

func (t *tree) bySpanID() map[span.ID]*sameID {
	index := make(map[span.ID]*sameID, len(t.nodes))
	for i := range t.nodes {
		n, at := &t.nodes[i], int32(i)
		g := index[n.ID]
		if g == nil {
			g = &sameID{from: at, calls: [2]int32{none, none}, clients: [2]int32{none, none}}
			index[n.ID] = g
		}
		g.to = at + 1
		if n.Kind == span.KindClient {
			note(&g.clients, at)
		}
		if n.Kind == span.KindClient || n.Kind == span.KindProducer {
			note(&g.calls, at)
		}
	}
	return index
}

func note(first *[2]int32, i int32) {
	switch none {
	case first[0]:
		first[0] = i
	case first[1]:
		first[1] = i
	}
}

// but is the first that is not the span itself.
func but(first [2]int32, self int32) int32 {
	if first[0] == self {
		return first[1]
	}
	return first[0]
}

func (t *tree) resolveParents() {
	index := t.bySpanID()
	for i := range t.nodes {
		n := &t.nodes[i]
		// The two halves of a call that share one id: the client's half is the parent of the server's.
		if n.Kind == span.KindServer {
			if half := but(index[n.ID].clients, int32(i)); half != none {
				n.parent = half
				continue
			}
		}
		if n.Parent.IsZero() {
			continue
		}
		n.parent = t.chooseParent(index[n.Parent], n, int32(i))
		n.missing = n.parent == none
	}
}

// chooseParent takes a call as the parent of what was called, a span of the same service as the parent of anything else,
// and the first there is if there is none of these.
func (t *tree) chooseParent(g *sameID, n *node, self int32) int32 {
	if g == nil {
		return none
	}
	if n.Kind == span.KindServer || n.Kind == span.KindConsumer {
		if call := but(g.calls, self); call != none {
			return call
		}
	} else {
		at, _ := slices.BinarySearchFunc(t.nodes[g.from:g.to], n.Service, func(c node, service string) int { return strings.Compare(c.Service, service) })
		for i := g.from + int32(at); i < g.to && t.nodes[i].Service == n.Service; i++ {
			if i != self {
				return i
			}
		}
	}
	switch {
	case g.from != self:
		return g.from
	case g.from+1 < g.to:
		return g.from + 1
	}
	return none
}

// adopt gives local spans whose parent is not here the one entry of their process that was at work when they began. Where
// only hops are kept, the spans between an entry and its calls are missing. Two entries at work at once decide nothing.
func (t *tree) adopt() {
	type moment struct {
		clock, node int32
		at          int64
		kind        int8 // 0 an entry begins, 1 a local span begins, 2 an entry has ended
	}
	var moments []moment
	for i := range t.nodes {
		n := &t.nodes[i]
		switch {
		case n.clock == 0:
		case n.Kind == span.KindServer || n.Kind == span.KindConsumer:
			moments = append(moments, moment{n.clock, int32(i), n.start, 0}, moment{n.clock, int32(i), n.end(), 2})
		case n.missing:
			moments = append(moments, moment{n.clock, int32(i), n.start, 1})
		}
	}
	slices.SortFunc(moments, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.clock, b.clock), cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind), cmp.Compare(a.node, b.node))
	})
	atWork, sum, clock := 0, int64(0), int32(0)
	for _, m := range moments {
		if m.clock != clock {
			atWork, sum, clock = 0, 0, m.clock
		}
		switch {
		case m.kind == 0:
			atWork, sum = atWork+1, sum+int64(m.node)
		case m.kind == 2:
			atWork, sum = atWork-1, sum-int64(m.node)
		case atWork == 1: // then the sum is the one at work
			t.nodes[m.node].parent, t.nodes[m.node].adopted = int32(sum), true
		}
	}
}

// cutCircles makes the longest span of each circle of parents a root.
func (t *tree) cutCircles() {
	state := make([]int32, len(t.nodes)) // 0 unseen, else the walk that saw it
	for i := range t.nodes {
		walk := int32(i + 1)
		at := int32(i)
		for at != none && state[at] == 0 {
			state[at] = walk
			at = t.nodes[at].parent
		}
		if at == none || state[at] != walk {
			continue
		}
		top := at
		for c := t.nodes[at].parent; c != at; c = t.nodes[c].parent {
			if t.nodes[c].length > t.nodes[top].length || t.nodes[c].length == t.nodes[top].length && c < top {
				top = c
			}
		}
		t.nodes[top].parent, t.nodes[top].missing, t.nodes[top].adopted = none, true, false
	}
}

func (t *tree) listKids() {
	for i := range t.nodes {
		if p := t.nodes[i].parent; p != none {
			t.nodes[p].kids++
		}
	}
	next := int32(0)
	for i := range t.nodes {
		t.nodes[i].firstKid = next
		next += t.nodes[i].kids
	}
	t.kids = make([]int32, next)
	fill := make([]int32, len(t.nodes))
	t.order = make([]int32, 0, len(t.nodes))
	for i := range t.nodes {
		p := t.nodes[i].parent
		if p == none {
			t.order = append(t.order, int32(i))
			continue
		}
		t.kids[t.nodes[p].firstKid+fill[p]] = int32(i)
		fill[p]++
	}
	for at := 0; at < len(t.order); at++ {
		i := t.order[at]
		for _, k := range t.kidsOf(i) {
			t.nodes[k].depth = t.nodes[i].depth + 1
			t.order = append(t.order, k)
		}
	}
}

func (t *tree) kidsOf(i int32) []int32 {
	n := &t.nodes[i]
	return t.kids[n.firstKid : n.firstKid+n.kids]
}

func (t *tree) assignRoles() {
	for i := range t.nodes {
		n := &t.nodes[i]
		n.call = n.Kind == span.KindClient || n.Kind == span.KindProducer || t.callsWithoutKind(int32(i))
	}
	for _, i := range t.order {
		n := &t.nodes[i]
		if n.parent == none {
			n.entry = true
			continue
		}
		p := &t.nodes[n.parent]
		crosses := n.Service != p.Service
		remote := n.Kind == span.KindServer || n.Kind == span.KindConsumer
		n.entry = n.v.HasBudget || remote && (crosses || p.call) ||
			crosses && !n.call && n.Kind != span.KindClient && n.Kind != span.KindProducer
		n.hop = n.call || crosses || n.entry || isStep(n.Span)
		n.async = n.detached || asynchronous(p, n)
	}
}

// isStep: the sdk recorded the span as a hop of its own.
func isStep(s *span.Span) bool {
	a := s.Attrs
	return a.Has(budgetattr.StageKey) || a.Has(budgetattr.DecisionKey) || a.Has(budgetattr.RemainingBeforeKey) || a.Has(budgetattr.AllowanceKey)
}

// callsWithoutKind recognises a call in records that have no kinds: a span whose only child is the same operation in
// another service.
func (t *tree) callsWithoutKind(i int32) bool {
	n := &t.nodes[i]
	if n.kids != 1 || n.parent == none || n.Kind != span.KindUnspecified && n.Kind != span.KindInternal {
		return false
	}
	k := &t.nodes[t.kidsOf(i)[0]]
	return k.Service != n.Service && k.Name == n.Name
}

// asynchronous: messages, and spans that link to their own parent or follow from it, are not waited for.
func asynchronous(p, c *node) bool {
	if c.Kind == span.KindConsumer || p.Kind == span.KindProducer {
		return true
	}
	for i := range c.Links {
		l := &c.Links[i]
		if l.Span == p.ID && l.Trace == p.Trace || l.Attrs.String("opentracing.ref_type") == "follows_from" {
			return true
		}
	}
	return false
}

func (t *tree) collectOpenChildren() {
	for i := range t.nodes {
		events := t.nodes[i].Events
		for j := range events {
			if events[j].Name != budgetattr.EventOpenChild {
				continue
			}
			id, ok := parseID(events[j].Attrs.String(budgetattr.OpenChildSpanIDKey))
			if !ok {
				continue
			}
			if t.openChildren == nil {
				t.openChildren = map[span.ID]openChild{}
			}
			if _, twice := t.openChildren[id]; !twice {
				t.openChildren[id] = openChild{entry: int32(i), at: max(events[j].Time, 0), event: &events[j]}
			}
		}
	}
}

// place puts every span on the clock of its root. Between two machines only lengths are believed: the called side is put
// in the middle of the call.
func (t *tree) place() {
	for _, i := range t.order {
		n := &t.nodes[i]
		if n.parent == none {
			n.placed = n.start
			continue
		}
		p := &t.nodes[n.parent]
		switch {
		case sameProcess(p, n) || !p.call || n.async:
			n.placed = add(p.placed, n.start-p.start)
		case n.length <= p.length:
			n.placed = add(p.placed, (p.length-n.length)/2)
		default:
			n.placed = p.placed
		}
	}
}

// add stops at the ends of the int64 instead of wrapping around.
func add(a, b int64) int64 {
	sum := a + b
	if b > 0 && sum < a {
		return 1<<63 - 1
	}
	if b < 0 && sum > a {
		return -1 << 63
	}
	return sum
}

// parseID reads 16 hex digits.
func parseID(text string) (id span.ID, ok bool) {
	if len(text) != 16 {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(text))
	return id, err == nil
}
