package deadlineconnector

import (
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// place is what the labels of a series have in common: service and route of an entry, or service, stage and peer of a hop.
type place struct{ service, route, stage, peer string }

// group holds the series of one place.
type group struct {
	place  place
	hash   uint64
	points []point
	// counts are the buckets of its histograms, one after the other; wide holds what goes beyond 32 bits, by place.
	counts []uint32
	wide   map[int]uint64
}

// point is one series. Values are since start.
type point struct {
	metric metricID
	// fresh: it changed since the last export.
	fresh bool
	label uint16 // its number among the labels
	// buckets is where those of a histogram begin among the counts, plus 1; 0 while all observations are in the first one.
	buckets uint32
	last    uint32 // when it last changed, in seconds since the table began
	start   int64  // from when it counts, in nanoseconds since 1970
	count   uint64
	sum     float64
	example *exemplar
}

type exemplar struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
	value float64
	at    int64
	fresh bool // not exported yet
}

// table is the series in memory. It is not safe for concurrent use.
type table struct {
	max    int
	bounds *[metricCount][]float64
	began  int64
	groups map[uint64]*group // by the hash of the place
	order  []*group
	// overflow takes what no series is left for.
	overflow group
	labels   labels
	texts    map[string]string
	series   int
	expired  int64 // since the last export
	spilled  int64 // observations in overflow series, since the last export
}

func newTable(max int, bounds *[metricCount][]float64, began int64) *table {
	return &table{max: max, bounds: bounds, began: began, groups: map[uint64]*group{}, texts: map[string]string{}, labels: newLabels()}
}

// at returns the group of a place, which it keeps.
func (t *table) at(p place, hash uint64) *group {
	if g, ok := t.groups[hash]; ok {
		return g
	}
	if t.series >= t.max {
		return &t.overflow
	}
	g := &group{place: place{t.keep(p.service), t.keep(p.route), t.keep(p.stage), t.keep(p.peer)}, hash: hash}
	t.groups[hash] = g
	t.order = append(t.order, g)
	return g
}

// keep returns a text that groups share. Those that no group uses any more stay until there are as many as series.
func (t *table) keep(s string) string {
	if kept, ok := t.texts[s]; ok || s == "" {
		return kept
	}
	if len(t.texts) >= t.max {
		clear(t.texts)
	}
	s = strings.Clone(s)
	t.texts[s] = s
	return s
}

// point returns a series of a group, or where none is left the one that overflows, and the group that it is in. It is valid
// until the next call.
func (t *table) point(g *group, m metricID, label string, since int64) (*point, *group) {
	number := uint16(0)
	if label != "" && g != &t.overflow {
		number = t.labels.number(m, label)
	}
	for i := range g.points {
		if p := &g.points[i]; p.metric == m && p.label == number {
			return p, g
		}
	}
	if g != &t.overflow {
		if t.series >= t.max {
			return t.point(&t.overflow, m, "", since)
		}
		t.series++
	}
	if g.points == nil {
		size := 2
		if g.place.route != "" {
			size = 6
		}
		g.points = make([]point, 0, size)
	}
	g.points = append(g.points, point{metric: m, label: number, start: since, fresh: true})
	at := len(g.points) - 1
	if m == mRequests {
		// Misses have a series from the first request on, so that their rate is known from the first one on.
		t.point(g, mLate, "", since)
		t.point(g, mExhausted, "", since)
		t.point(g, mDegraded, "", since)
	}
	return &g.points[at], g
}

// add counts n times v at now into a series that, if it is new, counts since the last export.
func (t *table) add(g *group, v *value, n uint64, now, since int64) *point {
	p, g := t.point(g, v.metric, v.label, since)
	if g == &t.overflow {
		t.spilled++
	}
	p.last, p.fresh = t.seconds(now), true
	switch kinds[v.metric] {
	case kindHistogram:
		p.count += n
		p.sum += v.amount * float64(n)
		if bucket := bucketOf(t.bounds[v.metric], v.amount); bucket > 0 || p.buckets > 0 {
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
		at := len(g.counts)
		g.counts = append(g.counts, make([]uint32, len(t.bounds[p.metric])+1)...)
		p.buckets = uint32(at) + 1
		g.count(at, p.count-n)
	}
	g.count(int(p.buckets)-1+bucket, n)
}

// count adds to a bucket.
func (g *group) count(at int, n uint64) {
	sum := uint64(g.counts[at]) + n
	g.counts[at] = uint32(sum)
	if sum > math.MaxUint32 {
		if g.wide == nil {
			g.wide = map[int]uint64{}
		}
		g.wide[at] += sum &^ math.MaxUint32
	}
}

// bucketsOf appends the buckets of a point to those given; none while all observations are in the first.
func (t *table) bucketsOf(g *group, p *point, to []uint64) []uint64 {
	if p.buckets == 0 {
		return to
	}
	at := int(p.buckets) - 1
	for i := range len(t.bounds[p.metric]) + 1 {
		to = append(to, uint64(g.counts[at+i])+g.wide[at+i])
	}
	return to
}

// clear takes the counts of a point back to nothing.
func (t *table) clear(g *group, p *point) {
	p.count, p.sum = 0, 0
	if p.buckets == 0 {
		return
	}
	at := int(p.buckets) - 1
	clear(g.counts[at : at+len(t.bounds[p.metric])+1])
	for i := range len(t.bounds[p.metric]) + 1 {
		delete(g.wide, at+i)
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
	for i := range g.points {
		if old(&g.points[i]) {
			removed++
		}
	}
	if removed == 0 {
		return
	}
	kept := group{}
	for i := range g.points {
		p := &g.points[i]
		if p.buckets == 0 || old(p) {
			continue
		}
		buckets := t.bucketsOf(g, p, nil)
		at := len(kept.counts)
		kept.counts = append(kept.counts, make([]uint32, len(buckets))...)
		for i, n := range buckets {
			kept.count(at+i, n)
		}
		p.buckets = uint32(at) + 1
	}
	g.counts, g.wide = kept.counts, kept.wide
	g.points = slices.DeleteFunc(g.points, func(p point) bool { return old(&p) })
	if g != &t.overflow {
		t.series -= removed
	}
	t.expired += int64(removed)
}

// remove forgets a group without series.
func (t *table) remove(i int) {
	delete(t.groups, t.order[i].hash)
	last := len(t.order) - 1
	t.order[i], t.order[last] = t.order[last], nil
	t.order = t.order[:last]
}

// labels numbers the values of enums; 0 is none.
type labels struct {
	numbers map[string]uint16
	all     []string
	// latest is what each metric asked for last.
	latest [metricCount]struct {
		label  string
		number uint16
	}
}

// maxLabels bounds the values of enums: they are few where senders keep to the names.
const maxLabels = 10_000

func newLabels() labels {
	return labels{numbers: map[string]uint16{}, all: []string{""}}
}

func (l *labels) number(m metricID, label string) uint16 {
	latest := &l.latest[m]
	if latest.label == label {
		return latest.number
	}
	number, ok := l.numbers[label]
	if !ok {
		if len(l.all) >= maxLabels && label != other {
			return l.number(m, other)
		}
		label = strings.Clone(label)
		number = uint16(len(l.all))
		l.all = append(l.all, label)
		l.numbers[label] = number
	}
	latest.label, latest.number = l.all[number], number
	return number
}
