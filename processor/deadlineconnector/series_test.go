package deadlineconnector

import (
	"math"
	"strings"
	"testing"
	"unsafe"
)

// There are as many as series.
func TestPointsAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(point{}); size > 40 {
		t.Errorf("a point takes %d bytes", size)
	}
}

// Buckets are kept in 32 bits and are exact beyond them, also when series beside them expire.
func TestBucketsBeyond32BitsAreExact(t *testing.T) {
	var bounds [metricCount][]float64
	for i := range bounds {
		bounds[i] = []float64{0, 1, 2}
	}
	table := newTable(&limit{max: 100}, &bounds, 0)
	g := table.at(&place{service: "shop"}, 1)
	const many = math.MaxUint32 - 1
	table.add(g, &value{metric: mOverrun, amount: 1.5}, 7, 0)
	for range 3 {
		table.add(g, &value{metric: mMargin, amount: 0}, many, 100)
		table.add(g, &value{metric: mMargin, amount: 1.5}, many, 100)
	}
	table.expire(g, 50e9)
	if len(g.points) != 1 || len(g.counts) != 4 {
		t.Fatalf("%d points, %d counts", len(g.points), len(g.counts))
	}
	got := table.bucketsOf(g, &g.points[0], nil)
	if got[0] != 3*many || got[1] != 0 || got[2] != 3*many || got[3] != 0 || g.points[0].count != 6*many {
		t.Errorf("buckets %v of %d", got, g.points[0].count)
	}
	table.clear(g, &g.points[0])
	if got := table.bucketsOf(g, &g.points[0], nil); got[0] != 0 || got[2] != 0 {
		t.Errorf("buckets %v after clearing", got)
	}
}

// A label that is no text, and the text that stands for it, are one series; so are labels that differ beyond what is kept.
func TestLabelsAreCleanedOnce(t *testing.T) {
	r := newRig(t, nil)
	long := strings.Repeat("r", maxText)
	for _, route := range []string{"/pay\xff", "/pay\uFFFD", long, long + "x"} {
		r.entry("shop", route, 1, 0.5)
		r.entry("shop", route, 1, 0.5)
	}
	got := r.flush()
	got.want(t, "deadline.requests{outcome=done,route=/pay\uFFFD,service=shop}", 4)
	got.want(t, "deadline.requests{outcome=done,route="+long+",service=shop}", 4)
	if n := got.total("deadline.requests"); n != 8 {
		t.Errorf("%g requests", n)
	}
}
