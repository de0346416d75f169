package deadlineconnector

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"
	"unique"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// place is what the labels of a series have in common: service and route of an entry, or service, stage and peer of a hop.
type place struct{ service, route, stage, peer string }

func (p *place) valid() bool {
	return utf8.ValidString(p.route) && utf8.ValidString(p.stage) && utf8.ValidString(p.peer) && utf8.ValidString(p.service)
}

// clean returns the place with labels that can be exported.
func (p *place) clean() place {
	return place{text(p.service), text(p.route), text(p.stage), text(p.peer)}
}

// group holds the series of one place. There are as many as places, so it is small, and its points and counts hold no pointers.
type group struct {
	service, route, stage, peer unique.Handle[string]

	hash   uint64
	points []point
	// counts are the buckets of its histograms, one after the other, of each up to 32 bits.
	counts []uint32
	// misses is from when the series of misses count that have no point because they are zero; 0 if there are none.
	misses int64
	rare   *rare
}

// rare is what few groups have: the bits of buckets beyond 32, by place, examples of misses, and exponential histograms.
type rare struct {
	wide         map[int]uint64
	examples     []exemplar
	exponentials []exponential
}

func (g *group) uncommon() *rare {
	if g.rare == nil {
		g.rare = &rare{}
	}
	return g.rare
}

// point is one series. Values are since start.
type point struct {
	metric metricID
	// fresh: it changed since the last export.
	fresh bool
	// begun: it has been exported, at zero. Who sees only the values, as Prometheus does, would not know its first count else.
	begun   bool
	label   uint16 // its number among the labels
	example uint16 // its place among the examples, plus 1
	// buckets is where those of a histogram begin among the counts, plus 1; 0 while all observations are in the first one. Of an
	// exponential histogram it is its place among those, plus 1.
	buckets uint32
	last    uint32 // when it last changed, in seconds since the table began
	start   int64  // from when it counts, in nanoseconds since 1970
	count   uint64
	sum     float64
}

type exemplar struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
	value float64
	at    int64
	fresh bool // not exported yet
}

// missMetrics have a series from the first request on, so that the rate of misses is known from the first one on.
var missMetrics = [misses]metricID{mLate, mExhausted, mDegraded}

const misses = 3

func isMiss(m metricID) bool { return m == mLate || m == mExhausted || m == mDegraded }

// limit bounds how many series several tables have together.
type limit struct {
	max  int64
	used atomic.Int64
}

// take takes so many series, or none if there are not so many left.
func (l *limit) take(n int64) bool {
	if l.used.Add(n) > l.max {
		l.used.Add(-n)
		return false
	}
	return true
}

// table is the series in memory of some of the places. It is not safe for concurrent use.
type table struct {
	limit  *limit
	bounds *[metricCount][]float64
	most   int // buckets of an exponential histogram; 0 if they are explicit
	began  int64
	// since is the time of the export before, from which new series count.
	since   int64
	groups  map[uint64]*group // by the hash of the place
	order   []*group
	labels  labels
	expired int64 // since the last export
}

func newTable(l *limit, bounds *[metricCount][]float64, began int64) *table {
	return &table{limit: l, bounds: bounds, began: began, since: began, groups: map[uint64]*group{}, labels: newLabels()}
}

// at returns the group of a place with clean labels, nil if no series are left for it.
func (t *table) at(p *place, hash uint64) *group {
	if g, ok := t.groups[hash]; ok {
		return g
	}
	if t.limit.used.Load() >= t.limit.max {
		return nil
	}
	g := &group{service: unique.Make(p.service), route: unique.Make(p.route), stage: unique.Make(p.stage), peer: unique.Make(p.peer), hash: hash}
	t.groups[hash] = g
	t.order = append(t.order, g)
	return g
}

// point returns a series of a group, nil if none is left. It is valid until the next call.
func (t *table) point(g *group, m metricID, label string) *point {
	number := uint16(0)
	if label != "" {
		number = t.labels.number(m, label)
	}
	for i := range g.points {
		if p := &g.points[i]; p.metric == m && p.label == number {
			return p
		}
	}
	return t.newPoint(g, m, number)
}

func (t *table) newPoint(g *group, m metricID, label uint16) *point {
	start := t.since
	if isMiss(m) && g.misses != 0 {
		start = g.misses
	} else if !t.limit.take(1) {
		return nil
	}
	if g.points == nil {
		size := 2 // what most hops have
		if g.route.Value() != "" {
			size = 4
		}
		g.points = make([]point, 0, size)
	}
	g.points = append(g.points, point{metric: m, label: label, start: start, fresh: true, begun: isMiss(m) && g.misses != 0 && g.misses != t.since})
	if m == mRequests && g.misses == 0 && t.limit.take(int64(misses-g.missPoints())) {
		g.misses = t.since
	}
	return &g.points[len(g.points)-1]
}

// missPoints counts the series of misses that are not zero.
func (g *group) missPoints() (n int) {
	for i := range g.points {
		if isMiss(g.points[i].metric) {
			n++
		}
	}
	return n
}

// add counts n times v at now into a series that, if it is new, counts since the last export. It returns nil if no series is
// left.
func (t *table) add(g *group, v *value, n uint64, now uint32) *point {
	p := t.point(g, v.metric, v.label)
	if p == nil {
		return nil
	}
	p.last, p.fresh = now, true
	switch kinds[v.metric] {
	case kindHistogram:
		p.count += n
		p.sum += v.amount * float64(n)
		if t.most > 0 {
			g.exponential(p).add(v.amount, n, t.most)
		} else if bucket := bucketOf(t.bounds[v.metric], v.amount); bucket > 0 || p.buckets > 0 {
			t.bucket(g, p, bucket, n)
		}
	case kindFloat:
		p.sum += v.amount * float64(n)
	case kindGauge:
		p.sum += v.amount
	default:
		p.count += uint64(v.amount) * n
	}
	return p
}

// example keeps the latest miss of a series.
func (g *group) example(p *point, x exemplar) {
	r := g.uncommon()
	if p.example == 0 {
		r.examples = append(r.examples, x)
		p.example = uint16(len(r.examples))
		return
	}
	r.examples[p.example-1] = x
}

// bucketOf returns the first bucket whose bound is not below the amount.
func bucketOf(bounds []float64, amount float64) int {
	low, high := 0, len(bounds)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if bounds[middle] < amount {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// bucket counts in a bucket of a point whose count has n added already.
func (t *table) bucket(g *group, p *point, bucket int, n uint64) {
	if p.buckets == 0 {
		p.buckets = uint32(g.reserve(len(t.bounds[p.metric])+1)) + 1
		g.count(int(p.buckets)-1, p.count-n)
	}
	g.count(int(p.buckets)-1+bucket, n)
}

// reserve appends so many counts and returns where they begin. Of an entry two histograms have buckets as a rule.
func (g *group) reserve(n int) (at int) {
	at = len(g.counts)
	if at+n > cap(g.counts) {
		size := at + n
		if at == 0 && g.route.Value() != "" {
			size = 2 * n
		}
		grown := make([]uint32, at, size)
		copy(grown, g.counts)
		g.counts = grown
	}
	g.counts = g.counts[:at+n]
	return at
}

// count adds to a bucket.
func (g *group) count(at int, n uint64) {
	sum := uint64(g.counts[at]) + n
	g.counts[at] = uint32(sum)
	if sum > math.MaxUint32 {
		r := g.uncommon()
		if r.wide == nil {
			r.wide = map[int]uint64{}
		}
		r.wide[at] += sum &^ math.MaxUint32
	}
}

// bucketsOf appends the buckets of a point to those given; none while all observations are in the first.
func (t *table) bucketsOf(g *group, p *point, to []uint64) []uint64 {
	if p.buckets == 0 {
		return to
	}
	at := int(p.buckets) - 1
	for i := range len(t.bounds[p.metric]) + 1 {
		n := uint64(g.counts[at+i])
		if g.rare != nil {
			n += g.rare.wide[at+i]
		}
		to = append(to, n)
	}
	return to
}

// clear takes the counts of a point back to nothing.
func (t *table) clear(g *group, p *point) {
	p.count, p.sum = 0, 0
	if p.buckets == 0 {
		return
	}
	if t.most > 0 {
		*g.exponential(p) = exponential{}
		return
	}
	at := int(p.buckets) - 1
	n := len(t.bounds[p.metric]) + 1
	clear(g.counts[at : at+n])
	if g.rare != nil {
		for i := range n {
			delete(g.rare.wide, at+i)
		}
	}
}

// seconds since the table began.
func (t *table) seconds(at int64) uint32 { return uint32(max(at-t.began, 0) / int64(time.Second)) }

// expire removes the series of a group that did not change since the time.
func (t *table) expire(g *group, before int64) {
	limit := t.seconds(before)
	requests := uint32(0) // when there was one last
	for i := range g.points {
		if p := &g.points[i]; p.metric == mRequests {
			requests = max(requests, p.last)
		}
	}
	old := func(p *point) bool {
		switch p.metric {
		case mLate, mExhausted, mDegraded:
			return max(p.last, requests) < limit
		case mStillRunning:
			return p.last < limit && p.sum == 0
		}
		return p.last < limit
	}
	removed := 0
	if g.misses != 0 && requests < limit {
		removed += misses - g.missPoints()
		g.misses = 0
	}
	left := 0
	for i := range g.points {
		if old(&g.points[i]) {
			left++
		}
	}
	if left > 0 {
		t.drop(g, old)
	}
	if removed += left; removed > 0 {
		t.limit.used.Add(-int64(removed))
		t.expired += int64(removed)
	}
}

// drop takes points out of a group, with their buckets and examples.
func (t *table) drop(g *group, gone func(*point) bool) {
	kept := group{route: g.route}
	for i := range g.points {
		p := &g.points[i]
		if gone(p) {
			continue
		}
		if p.buckets != 0 && t.most > 0 {
			e := *g.exponential(p)
			p.buckets = 0
			*kept.exponential(p) = e
		} else if p.buckets != 0 {
			buckets := t.bucketsOf(g, p, nil)
			at := kept.reserve(len(buckets))
			for i, n := range buckets {
				kept.count(at+i, n)
			}
			p.buckets = uint32(at) + 1
		}
		if p.example != 0 {
			x := g.rare.examples[p.example-1]
			p.example = 0
			kept.example(p, x)
		}
	}
	g.points = slices.DeleteFunc(g.points, func(p point) bool { return gone(&p) })
	g.counts, g.rare = kept.counts, kept.rare
}

// remove forgets a group without series.
func (t *table) remove(i int) {
	delete(t.groups, t.order[i].hash)
	last := len(t.order) - 1
	t.order[i], t.order[last] = t.order[last], nil
	t.order = t.order[:last]
}
