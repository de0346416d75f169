package deadlineconnector

import (
	"slices"
	"time"
	"unsafe"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// none stands for no place in a ring, and for a duration that is not known.
const none = -1

// skeleton is what is kept of a span that is gone: enough to judge it with its caller.
type skeleton struct {
	key, parent        uint64 // of the span and its parent, within their trace; parent 0 is an entry of the ring that is taken out
	start, end         int64
	cancelAfter, post  int64 // nanoseconds, none if not recorded
	allowed            int64
	counted            int64 // orphan time already counted for it
	below              int64 // orphan time already counted for spans of its service that it called
	n                  uint32
	service, clock     textID
	where, peer        textID // route of an entry, or stage and peer
	cause, phase, from textID
	next, last         int32 // children of one parent: the next one, and in the first one the last
	kind               uint8
	flags              uint8
}

const (
	flagEntry uint8 = 1 << iota
	flagDetached
	flagPostInferred
)

// bone is a skeleton before its texts have numbers.
type bone struct {
	skeleton
	service, clock, where, peer, cause, phase, from string
	opened                                          []opened
}

// opened is a hop that ran on when the response went out.
type opened struct {
	key         uint64
	stage, peer string
}

// cut reports whether the span itself says that its wait ended, so that those it called may be orphans.
func (s *skeleton) cut() bool { return s.cause != 0 || s.phase != 0 }

// orphan is one piece of orphan work that was found.
type orphan struct {
	place place
	cause string
	time  time.Duration
	n     uint64
}

// skeletons keeps three rings in a fixed amount of memory: calls whose wait was cut, which are few and stay long; spans whose
// caller is not here yet; hops that were open when their response went out. Not safe for concurrent use.
type skeletons struct {
	texts    texts
	callers  ring
	byKey    index
	waiting  ring
	byParent index // the first of those that wait for one parent
	open     []openHop
	openNext int
	openLen  int
	byHop    index
	evicted  int64 // since the last export
	added    int   // since texts were numbered anew
}

// openHop is counted as still running until its span arrives, or too long has passed.
type openHop struct {
	key                  uint64 // 0 is taken out
	at                   int64
	service, stage, peer textID
}

// openFor is how long a hop whose span does not arrive counts as running.
const openFor = 10 * time.Minute

// ring overwrites its oldest entry.
type ring struct {
	entries []skeleton
	next    int
	size    int
}

// newSkeletons takes memory for as many skeletons as fit.
func newSkeletons(bytes int) *skeletons {
	const (
		each = int(unsafe.Sizeof(skeleton{})) + indexBytes
		hop  = int(unsafe.Sizeof(openHop{})) + indexBytes
	)
	forTexts := bytes / 8
	n := (bytes - forTexts - 1<<10) * 16 / (16*each + 4*each + hop)
	s := &skeletons{texts: newTexts(forTexts)}
	s.waiting, s.byParent = ring{entries: make([]skeleton, n)}, newIndex(n)
	s.callers, s.byKey = ring{entries: make([]skeleton, n/4+1)}, newIndex(n/4+1)
	s.open, s.byHop = make([]openHop, n/16+1), newIndex(n/16+1)
	return s
}

// add takes a span and reports the orphan work that it reveals, its own or that of a span which waited for it.
func (s *skeletons) add(b *bone, found func(orphan)) {
	s.number(b)
	own := b.skeleton
	if own.kind == uint8(span.KindServer) && own.cause != 0 {
		s.judge(nil, &own, found)
	}
	waits := own.parent != 0 && own.flags&flagDetached == 0 && own.kind != uint8(span.KindConsumer)
	if at, ok := s.byKey.get(own.parent); ok && waits && own.counted == 0 {
		s.judge(&s.callers.entries[at], &own, found)
		waits = false
	}
	caller := &own
	if own.cut() {
		caller = s.push(own)
	}
	s.release(caller, found)
	if waits && own.counted == 0 {
		s.wait(own)
	}
}

// judge asks the one judgement about a span and its caller. Only what no clock can fake counts, and nothing twice in one
// service: what the caller itself did for nobody includes the work it waited for.
func (s *skeletons) judge(caller, called *skeleton, found func(orphan)) {
	var by *span.Span
	if caller != nil {
		if !caller.cut() && called.cause == 0 || caller.service == called.service && caller.counted > 0 {
			return
		}
		by = s.rebuild(caller)
	}
	o, ok := verdict.JudgePair(by, s.rebuild(called), verdict.Options{})
	if !ok || !o.Grade.Firm() {
		return
	}
	amount := int64(o.Time)
	if at, ok := s.byKey.get(called.key); ok {
		twin := &s.callers.entries[at]
		amount -= twin.below
		twin.counted = int64(o.Time)
	}
	called.counted = int64(o.Time)
	if amount <= 0 {
		return
	}
	if caller != nil && caller.service == called.service {
		caller.below += amount
	}
	p := place{service: s.texts.of(called.service)}
	if called.flags&flagEntry != 0 {
		p.route = s.texts.of(called.where)
	} else {
		p.stage, p.peer = s.texts.of(called.where), s.texts.of(called.peer)
	}
	found(orphan{place: p, cause: text(string(o.Cause)), time: time.Duration(amount), n: uint64(called.n)})
}

// push keeps a call whose wait was cut, and returns it in its place.
func (s *skeletons) push(b skeleton) *skeleton {
	r := &s.callers
	if old := &r.entries[r.next]; r.size == len(r.entries) {
		if at, ok := s.byKey.get(old.key); ok && int(at) == r.next {
			s.byKey.remove(old.key)
		}
		s.evicted++
	} else {
		r.size++
	}
	r.entries[r.next] = b
	s.byKey.put(b.key, int32(r.next))
	kept := &r.entries[r.next]
	r.next = (r.next + 1) % len(r.entries)
	return kept
}

// wait keeps a span until its caller comes.
func (s *skeletons) wait(b skeleton) {
	r := &s.waiting
	at := int32(r.next)
	if r.size == len(r.entries) {
		if old := &r.entries[at]; old.parent != 0 {
			s.drop(old)
			s.evicted++
		}
	} else {
		r.size++
	}
	b.next, b.last = none, at
	r.entries[at] = b
	if first, ok := s.byParent.get(b.parent); ok {
		head := &r.entries[first]
		r.entries[head.last].next = at
		head.last = at
	} else {
		s.byParent.put(b.parent, at)
	}
	r.next = (r.next + 1) % len(r.entries)
}

// drop takes the oldest entry out, which is the first of those that wait for its parent.
func (s *skeletons) drop(old *skeleton) {
	if old.next == none {
		s.byParent.remove(old.parent)
		return
	}
	s.waiting.entries[old.next].last = old.last
	s.byParent.put(old.parent, old.next)
}

// release judges the spans that waited for a caller, and lets them go.
func (s *skeletons) release(caller *skeleton, found func(orphan)) {
	at, ok := s.byParent.get(caller.key)
	if !ok {
		return
	}
	s.byParent.remove(caller.key)
	for at != none {
		child := &s.waiting.entries[at]
		s.judge(caller, child, found)
		child.parent = 0
		at = child.next
	}
}

// missing leaves out the hops whose spans came before the one that called them.
func (s *skeletons) missing(parent uint64, hops []opened) []opened {
	if len(hops) == 0 {
		return hops
	}
	at, ok := s.byParent.get(parent)
	for ; ok && at != none; at = s.waiting.entries[at].next {
		key := s.waiting.entries[at].key
		hops = slices.DeleteFunc(hops, func(h opened) bool { return h.key == key })
	}
	return hops
}

// opens notes a hop that runs on; closes reports one whose span has come.
func (s *skeletons) opens(h opened, service string, now int64) (place, bool) {
	_, twice := s.byHop.get(h.key)
	if _, ended := s.byKey.get(h.key); ended || twice {
		return place{}, false
	}
	if s.openLen == len(s.open) {
		s.evicted++
		return place{}, false
	}
	at := (s.openNext + s.openLen) % len(s.open)
	s.openLen++
	s.open[at] = openHop{key: h.key, at: now, service: s.texts.number(service), stage: s.texts.number(h.stage), peer: s.texts.number(h.peer)}
	s.byHop.put(h.key, int32(at))
	return place{service: service, stage: h.stage, peer: h.peer}, true
}

func (s *skeletons) closes(key uint64) (place, bool) {
	at, ok := s.byHop.get(key)
	if !ok {
		return place{}, false
	}
	s.byHop.remove(key)
	h := &s.open[at]
	h.key = 0
	p := place{service: s.texts.of(h.service), stage: s.texts.of(h.stage), peer: s.texts.of(h.peer)}
	s.trim()
	return p, true
}

// trim gives the room of closed hops at the old end back.
func (s *skeletons) trim() {
	for s.openLen > 0 && s.open[s.openNext].key == 0 {
		s.openNext = (s.openNext + 1) % len(s.open)
		s.openLen--
	}
}

// forget reports the hops that have counted as running for too long.
func (s *skeletons) forget(before int64, gone func(place)) {
	for s.openLen > 0 {
		h := &s.open[s.openNext]
		if h.key != 0 && h.at >= before {
			return
		}
		if h.key != 0 {
			if p, ok := s.closes(h.key); ok {
				gone(p)
			}
			continue
		}
		s.trim()
	}
}

// number gives the texts of a span their numbers, and makes room for new ones if there is none.
func (s *skeletons) number(b *bone) {
	// Numbering anew goes over all entries, so it is worth it only once many have been replaced.
	if s.added++; s.texts.full() && s.added > len(s.waiting.entries)/4 {
		s.compact()
		s.added = 0
	}
	k := &b.skeleton
	k.service, k.clock, k.where, k.peer = s.texts.number(b.service), s.texts.number(b.clock), s.texts.number(b.where), s.texts.number(b.peer)
	k.cause, k.phase, k.from = s.texts.number(b.cause), s.texts.number(b.phase), s.texts.number(b.from)
}

// rebuild makes a span of a skeleton, to be judged.
func (s *skeletons) rebuild(k *skeleton) *span.Span {
	a := span.Attributes{}
	out := &span.Span{
		Trace: span.TraceID{1}, ID: id(k.key), Parent: id(k.parent), Kind: span.Kind(k.kind), Start: k.start, End: k.end, Attrs: a,
		Service: s.texts.of(k.service), Name: "span",
	}
	if clock := s.texts.of(k.clock); clock != "" {
		out.Resource = span.Attributes{"service.instance.id": clock}
	}
	put := func(key string, t textID) {
		if t != 0 {
			a[key] = s.texts.of(t)
		}
	}
	put(budgetattr.CancelCauseKey, k.cause)
	put(budgetattr.TimeoutPhaseKey, k.phase)
	put(budgetattr.BudgetSourceKey, k.from)
	if k.cancelAfter != none {
		a[budgetattr.CancelAfterKey] = time.Duration(k.cancelAfter).Seconds()
	}
	if k.post != none {
		a[budgetattr.PostCancelTimeKey] = time.Duration(k.post).Seconds()
		if k.flags&flagPostInferred != 0 {
			a[budgetattr.InferredRuleKey] = verdict.InferredPostCancel
		}
	}
	if k.allowed > 0 {
		a[budgetattr.DrainTimeKey] = time.Duration(k.allowed).Seconds()
	}
	if k.flags&flagDetached != 0 {
		a[budgetattr.DetachedIDKey] = "detached"
	}
	return out
}

func id(key uint64) (id span.ID) {
	for i := range id {
		id[i] = byte(key >> (8 * i))
	}
	return id
}
