package deadlineconnector

import (
	"math"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"pgregory.net/rapid"
)

// Whatever values come in whatever order, each is within the bounds of a bucket that counts it, no more buckets are used than
// allowed, and they are as fine as that allows.
func TestExponentialBucketsHoldTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(2, 40).Draw(t, "most")
		amounts := rapid.SliceOfN(rapid.OneOf(
			rapid.Float64Range(0, 10),
			rapid.SampledFrom([]float64{0, 0.25, 0.5, 1, 2, 1024, math.SmallestNonzeroFloat64, math.MaxFloat64}),
			rapid.Float64Range(0.1, 0.1001),
		), 1, 60).Draw(t, "amounts")
		var e exponential
		for _, a := range amounts {
			e.add(a, 2, most)
		}
		want := make([]uint64, len(e.counts))
		zero, low, high := uint64(0), math.Inf(1), 0.0
		for _, a := range amounts {
			if a == 0 {
				zero += 2
				continue
			}
			low, high = min(low, a), max(high, a)
			found := false
			for i := range e.counts {
				// In logarithms, for the bounds of the widest buckets are no floats.
				lower := math.Ldexp(float64(e.first+int32(i)), -int(e.scale))
				upper := math.Ldexp(float64(e.first+int32(i)+1), -int(e.scale))
				if l, slack := math.Log2(a), 1e-9; l > lower-slack && l <= upper+slack && bucketAt(a, e.scale) == e.first+int32(i) {
					want[i] += 2
					found = true
				}
			}
			if !found {
				t.Fatalf("%g is in no bucket of %+v", a, e)
			}
		}
		if e.zero != zero {
			t.Fatalf("%d zeros, want %d", e.zero, zero)
		}
		for i, n := range e.counts {
			if n != want[i] {
				t.Fatalf("bucket %d counts %d, want %d", i, n, want[i])
			}
		}
		if len(e.counts) > most {
			t.Fatalf("%d buckets of %d", len(e.counts), most)
		}
		if len(e.counts) > 0 && e.scale < maxScale && int(bucketAt(high, e.scale+1)-bucketAt(low, e.scale+1)) < most {
			t.Fatalf("scale %d is coarser than need be", e.scale)
		}
	})
}

func TestPowersOfTwoAreUpperBounds(t *testing.T) {
	for scale := int32(minScale); scale <= maxScale; scale++ {
		for _, a := range []float64{0.125, 0.5, 1, 2, 1 << 20} {
			at, above := bucketAt(a, scale), bucketAt(math.Nextafter(a, 2*a), scale)
			if exact := math.Ldexp(math.Log2(a), int(scale)); exact == math.Trunc(exact) && (at != int32(exact)-1 || scale <= 0 && above != at+1) {
				t.Errorf("scale %d: %g is in bucket %d, what is above it in %d", scale, a, at, above)
			}
		}
	}
}

func TestExponentialHistogramsAreExported(t *testing.T) {
	for _, temporality := range []Temporality{Cumulative, Delta} {
		r := newRig(t, func(c *Config) { c.Exponential.Enabled, c.Temporality = true, temporality })
		r.entry("shop", "/pay", 1, 0.5)
		r.entry("shop", "/pay", 1, 1.5)
		dp := r.overruns()
		if dp.Count() != 2 || dp.ZeroCount() != 1 || dp.Sum() != 0.5 || dp.Positive().BucketCounts().Len() != 1 || dp.Exemplars().Len() != 1 {
			t.Errorf("%s: %d in all, %d zero, %v", temporality, dp.Count(), dp.ZeroCount(), dp.Positive().BucketCounts().AsRaw())
		}
		r.entry("shop", "/pay", 1, 1.25)
		want := map[Temporality]uint64{Cumulative: 3, Delta: 1}[temporality]
		if dp = r.overruns(); dp.Count() != want || dp.ZeroCount() != want/3 {
			t.Errorf("%s: then %d in all, %d zero", temporality, dp.Count(), dp.ZeroCount())
		}
	}
}

// overruns flushes and returns the first point of the histogram of overruns.
func (r *rig) overruns() pmetric.ExponentialHistogramDataPoint {
	r.t.Helper()
	r.flush()
	for _, md := range r.sink.AllMetrics() {
		for _, m := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
			if m.Name() == "deadline.overrun" {
				return m.ExponentialHistogram().DataPoints().At(0)
			}
		}
	}
	r.t.Fatal("no overruns")
	return pmetric.ExponentialHistogramDataPoint{}
}
