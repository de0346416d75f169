package deadlineconnector

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// place is what the labels of a series have in common: service and route of an entry, or service, stage and peer of a hop.
type place struct{ service, route, stage, peer string }

// group holds the series of one place.
type group struct {
	place  place
	points []point
}

// point is one series. Values are since start.
type point struct {
	metric metricID
	// fresh: it changed since the last export.
	fresh bool
	label string
	// start and last are nanoseconds since 1970: what it counts from, and when it last changed.
	start, last int64
	count       uint64
	sum         float64
	buckets     []uint64 // of a histogram, nil while all observations are in the first bucket
	exemplar    *exemplar
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
	groups map[place]*group
	order  []*group
	// overflow takes what no series is left for.
	overflow group
	series   int
	expired  int64 // since the last export
	spilled  int64 // observations in overflow series, since the last export
}

func newTable(max int, bounds *[metricCount][]float64) *table {
	return &table{max: max, bounds: bounds, groups: map[place]*group{}}
}

// at returns the group of a place, which it keeps.
func (t *table) at(p place) *group {
	if g, ok := t.groups[p]; ok {
		return g
	}
	if t.series >= t.max {
		return &t.overflow
	}
	p = place{strings.Clone(p.service), strings.Clone(p.route), strings.Clone(p.stage), strings.Clone(p.peer)}
	g := &group{place: p}
	t.groups[p] = g
	t.order = append(t.order, g)
	return g
}

// point returns a series of a group, or where none is left the one that overflows. It is valid until the next call.
func (t *table) point(g *group, m metricID, label string, since int64) *point {
	for i := range g.points {
		if p := &g.points[i]; p.metric == m && p.label == label {
			return p
		}
	}
	if g != &t.overflow {
		if t.series >= t.max {
			t.spilled++
			return t.point(&t.overflow, m, "", since)
		}
		t.series++
		label = strings.Clone(label)
	} else if label != "" {
		return t.point(g, m, "", since)
	}
	if g.points == nil {
		g.points = make([]point, 0, 6)
	}
	g.points = append(g.points, point{metric: m, label: label, start: since})
	return &g.points[len(g.points)-1]
}

// add counts n times v at now into a series that, if it is new, counts since the last export.
func (t *table) add(g *group, v value, n uint64, now, since int64) *point {
	p := t.point(g, v.metric, v.label, since)
	if g == &t.overflow {
		t.spilled++
	}
	p.last, p.fresh = now, true
	switch {
	case v.metric.isHistogram():
		p.count += n
		p.sum += v.amount * float64(n)
		bounds := t.bounds[v.metric]
		i, _ := slices.BinarySearch(bounds, v.amount)
		if i > 0 && p.buckets == nil {
			p.buckets = make([]uint64, len(bounds)+1)
			p.buckets[0] = p.count - n
		}
		if p.buckets != nil {
			p.buckets[i] += n
		}
	case v.metric.isFloat():
		p.sum += v.amount * float64(n)
	case v.metric == mStillRunning:
		p.sum += v.amount
	default:
		p.count += uint64(v.amount) * n
	}
	return p
}

// expire removes the series of a group that did not change since the time.
func (t *table) expire(g *group, before int64) {
	kept := g.points[:0]
	for _, p := range g.points {
		if p.last >= before || p.metric == mStillRunning && p.sum != 0 {
			kept = append(kept, p)
		}
	}
	removed := len(g.points) - len(kept)
	clear(g.points[len(kept):])
	g.points = kept
	if g != &t.overflow {
		t.series -= removed
	}
	t.expired += int64(removed)
}
