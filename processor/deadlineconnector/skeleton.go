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
	key, parent uint64 // of the span and its parent, within their trace; parent 0 waits for none, or no more
	start, end  int64
	shape       uint32
	n           uint32
	older       uint32 // the span before it that waits for the same parent, 0 if there is none; these two are low bits of numbers
	detail      uint32 // its detail, 0 if it has none
}

// detail is what few skeletons have.
type detail struct {
	cancelAfter, post int64 // nanoseconds, none if not recorded
	allowed           int64
	counted           int64 // orphan time already counted for it
	below             int64 // orphan time already counted for spans of its service that it called
}

var noDetail = detail{cancelAfter: none, post: none}

// caller is a skeleton with its detail.
type caller struct {
	skeleton
	detail
}

// bone is a skeleton before its shape has a number.
type bone struct {
	caller
	form
	hash   uint64 // of the form
	opened []opened
}

// opened is a hop that ran on when the response went out.
type opened struct {
	key         uint64
	stage, peer string
}

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
	ids      *identifier
	shapes   shapes
	callers  ring[caller]
	byKey    lines
	waiting  ring[skeleton]
	byParent lines // the latest of those that wait for one parent
	details  ring[ownedDetail]
	open     []openHop
	openNext int
	openLen  int
	byHop    index
	evicted  int64 // since the last export
	added    int   // since shapes were numbered anew
}

type ownedDetail struct {
	owner uint64 // key of the span
	detail
}

// openHop is counted as still running until its span arrives, or too long has passed.
type openHop struct {
	key                  uint64 // 0 is taken out
	at                   int64
	service, stage, peer textID
}

// openFor is how long a hop whose span does not arrive counts as running.
const openFor = 10 * time.Minute

// newSkeletons takes memory for as many skeletons as fit.
func newSkeletons(bytes int, ids *identifier) *skeletons {
	const (
		waiting = int(unsafe.Sizeof(skeleton{})) + lineBytes
		calling = int(unsafe.Sizeof(caller{})) + lineBytes
		own     = int(unsafe.Sizeof(ownedDetail{}))
		hop     = int(unsafe.Sizeof(openHop{})) + indexBytes
	)
	forShapes := bytes / 8
	n := (bytes - forShapes - 1<<10) * 16 / (16*waiting + 4*calling + 2*own + hop)
	return &skeletons{
		ids:     ids,
		shapes:  newShapes(forShapes),
		waiting: newRing[skeleton](n), byParent: newLines(n),
		callers: newRing[caller](n/4 + 1), byKey: newLines(n/4 + 1),
		details: newRing[ownedDetail](n/8 + 1),
		open:    make([]openHop, n/16+1), byHop: newIndex(n/16 + 1),
	}
}

// touch looks once where the spans of a batch will be looked up, far apart in memory, so that the waits for it overlap. What
// it returns says nothing; it must be used, or the compiler leaves the looking out.
func (s *skeletons) touch(bones []bone) (seen uint64) {
	for i := range bones {
		k := &bones[i]
		seen |= s.byParent.home(k.key)[0] | s.byParent.home(k.parent)[0] | s.byKey.home(k.parent)[0]
	}
	return seen
}

// add takes a span and reports the orphan work that it reveals, its own or that of a span which waited for it.
func (s *skeletons) add(b *bone, found func(orphan)) {
	own := b.caller
	if own.shape = s.number(b); own.shape == 0 {
		s.evicted++
		return
	}
	sh := &s.shapes.list[own.shape]
	if sh.kind == uint8(span.KindServer) && sh.cause != 0 {
		s.judge(nil, &own, found)
	}
	waits := own.parent != 0 && sh.flags&flagDetached == 0 && sh.kind != uint8(span.KindConsumer)
	if by := s.caller(own.parent); by != nil && waits && own.counted == 0 {
		s.judge(by, &own, found)
		waits = false
	}
	as := &own
	if sh.cut() {
		as = s.push(own)
	}
	s.release(as, found)
	if waits && own.counted == 0 {
		s.wait(&own)
	}
}

// number returns the number of a span's shape, and makes room for new ones if there is none.
func (s *skeletons) number(b *bone) uint32 {
	// Numbering anew goes over all entries, so it is worth it only once many have been replaced.
	if s.added++; s.shapes.full() && s.added > len(s.waiting.entries)/4 {
		s.compact()
		s.added = 0
	}
	return s.shapes.number(s.ids, b.hash, &b.form)
}

// compact forgets the shapes and texts that no entry uses any more.
func (s *skeletons) compact() {
	used := make([]bool, len(s.shapes.list))
	var hops []*openHop
	waiting, callers := s.waiting.used(), s.callers.used()
	for i := range waiting {
		if waiting[i].parent != 0 {
			used[waiting[i].shape] = true
		}
	}
	for i := range callers {
		used[callers[i].shape] = true
	}
	for i := range s.openLen {
		hops = append(hops, &s.open[(s.openNext+i)%len(s.open)])
	}
	again := s.shapes.keep(used, hops)
	for i := range waiting {
		waiting[i].shape = again[waiting[i].shape]
	}
	for i := range callers {
		callers[i].shape = again[callers[i].shape]
	}
}

// judge asks the one judgement about a span and its caller. Only what no clock can fake counts, and nothing twice in one
// service: what the caller itself did for nobody includes the work it waited for.
func (s *skeletons) judge(by, called *caller, found func(orphan)) {
	sh := &s.shapes.list[called.shape]
	var calling *span.Span
	same := false
	if by != nil {
		bySh := &s.shapes.list[by.shape]
		same = bySh.service == sh.service
		if !bySh.cut() && sh.cause == 0 || same && by.counted > 0 {
			return
		}
		calling = s.rebuild(by)
	}
	o, ok := verdict.JudgePair(calling, s.rebuild(called), verdict.Options{})
	if !ok || !o.Grade.Firm() {
		return
	}
	amount := int64(o.Time)
	if twin := s.caller(called.key); twin != nil {
		amount -= twin.below
		twin.counted = int64(o.Time)
	}
	called.counted = int64(o.Time)
	if amount <= 0 {
		return
	}
	if same {
		by.below += amount
	}
	p := place{service: s.shapes.of(sh.service)}
	if sh.flags&flagEntry != 0 {
		p.route = s.shapes.of(sh.where)
	} else {
		p.stage, p.peer = s.shapes.of(sh.where), s.shapes.of(sh.peer)
	}
	found(orphan{place: p, cause: text(string(o.Cause)), time: time.Duration(amount), n: uint64(called.n)})
}

// caller returns the call of a key whose wait was cut, nil if it is not known.
func (s *skeletons) caller(key uint64) *caller {
	if c := s.callers.of(s.byKey.get(key)); c != nil && c.key == key {
		return c
	}
	return nil
}

// push keeps a call whose wait was cut, and returns it in its place.
func (s *skeletons) push(c caller) *caller {
	number, kept := s.callers.next()
	if kept.shape != 0 {
		s.evicted++
	}
	*kept = c
	s.byKey.put(c.key, number)
	return kept
}

// wait keeps a span until its caller comes.
func (s *skeletons) wait(c *caller) {
	number, kept := s.waiting.next()
	if kept.parent != 0 {
		s.evicted++
	}
	*kept = c.skeleton
	kept.detail = 0
	if c.detail != noDetail {
		at, d := s.details.next()
		*d = ownedDetail{c.key, c.detail}
		kept.detail = uint32(at)
	}
	kept.older = 0
	if before := s.byParent.put(c.parent, number); s.waiting.of(before) != nil {
		kept.older = uint32(before)
	}
}

// waitingFor returns the latest span that waits for a parent, or the one before the number, nil if there is none.
func (s *skeletons) waitingFor(parent, number uint64) *skeleton {
	if k := s.waiting.of(number); k != nil && k.parent == parent && parent != 0 {
		return k
	}
	return nil
}

// before returns the number of the span that waited before the one of the number.
func (k *skeleton) before(number uint64) uint64 {
	if k.older == 0 {
		return 0
	}
	return number - uint64(uint32(number)-k.older)
}

// release judges the spans that waited for a caller, and lets them go.
func (s *skeletons) release(by *caller, found func(orphan)) {
	number := s.byParent.get(by.key)
	for k := s.waitingFor(by.key, number); k != nil; k = s.waitingFor(by.key, number) {
		if child, ok := s.whole(k); ok {
			s.judge(by, &child, found)
		}
		k.parent = 0
		number = k.before(number)
	}
}

// whole returns a skeleton with its detail; not if newer ones took its place.
func (s *skeletons) whole(k *skeleton) (c caller, ok bool) {
	c = caller{*k, noDetail}
	if k.detail == 0 {
		return c, true
	}
	d := s.details.of(s.details.last - uint64(uint32(s.details.last)-k.detail))
	if d == nil || d.owner != k.key {
		return c, false
	}
	c.detail = d.detail
	return c, true
}

// missing leaves out the hops whose spans came before the one that called them.
func (s *skeletons) missing(parent uint64, hops []opened) []opened {
	if len(hops) == 0 {
		return hops
	}
	number := s.byParent.get(parent)
	for k := s.waitingFor(parent, number); k != nil; k = s.waitingFor(parent, number) {
		hops = slices.DeleteFunc(hops, func(h opened) bool { return h.key == k.key })
		number = k.before(number)
	}
	return hops
}

// opens notes a hop that runs on; closes reports one whose span has come.
func (s *skeletons) opens(h opened, service string, now int64) (place, bool) {
	_, twice := s.byHop.get(h.key)
	if twice || s.caller(h.key) != nil {
		return place{}, false
	}
	if s.openLen == len(s.open) {
		s.evicted++
		return place{}, false
	}
	at := (s.openNext + s.openLen) % len(s.open)
	s.openLen++
	s.open[at] = openHop{key: h.key, at: now, service: s.shapes.texts.number(service), stage: s.shapes.texts.number(h.stage), peer: s.shapes.texts.number(h.peer)}
	s.byHop.put(h.key, int32(at))
	return place{service: service, stage: h.stage, peer: h.peer}, true
}

func (s *skeletons) closes(key uint64) (place, bool) {
	if s.openLen == 0 {
		return place{}, false
	}
	at, ok := s.byHop.get(key)
	if !ok {
		return place{}, false
	}
	s.byHop.remove(key)
	h := &s.open[at]
	h.key = 0
	p := place{service: s.shapes.of(h.service), stage: s.shapes.of(h.stage), peer: s.shapes.of(h.peer)}
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

// rebuild makes a span of a skeleton, to be judged.
func (s *skeletons) rebuild(k *caller) *span.Span {
	sh := &s.shapes.list[k.shape]
	a := span.Attributes{}
	out := &span.Span{
		Trace: span.TraceID{1}, ID: id(k.key), Parent: id(k.parent), Kind: span.Kind(sh.kind), Start: k.start, End: k.end, Attrs: a,
		Service: s.shapes.of(sh.service), Name: "span",
	}
	if clock := s.shapes.of(sh.clock); clock != "" {
		out.Resource = span.Attributes{"service.instance.id": clock}
	}
	put := func(key string, t textID) {
		if t != 0 {
			a[key] = s.shapes.of(t)
		}
	}
	put(budgetattr.CancelCauseKey, sh.cause)
	put(budgetattr.TimeoutPhaseKey, sh.phase)
	put(budgetattr.BudgetSourceKey, sh.from)
	if k.cancelAfter != none {
		a[budgetattr.CancelAfterKey] = time.Duration(k.cancelAfter).Seconds()
	}
	if k.post != none {
		a[budgetattr.PostCancelTimeKey] = time.Duration(k.post).Seconds()
		if sh.flags&flagPostInferred != 0 {
			a[budgetattr.InferredRuleKey] = verdict.InferredPostCancel
		}
	}
	if k.allowed > 0 {
		a[budgetattr.DrainTimeKey] = time.Duration(k.allowed).Seconds()
	}
	if sh.flags&flagDetached != 0 {
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
