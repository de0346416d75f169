package deadlineconnector

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// exponential is a histogram whose buckets grow by 2^(2^-scale): bucket i holds what is above that base to the power of i and
// not above its next power. The scale falls as the values spread, so that no more buckets are needed than are allowed.
// https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram
type exponential struct {
	scale  int32
	first  int32 // the bucket of counts[0]
	counts []uint64
	zero   uint64
}

const (
	maxScale = 20
	minScale = -11 // all numbers are in three buckets then
)

// add counts a value that is not negative.
func (e *exponential) add(amount float64, n uint64, most int) {
	if amount == 0 {
		e.zero += n
		return
	}
	if len(e.counts) == 0 {
		e.scale = maxScale
		e.first = bucketAt(amount, e.scale)
		e.counts = append(e.counts, n)
		return
	}
	at := bucketAt(amount, e.scale)
	low, high := min(e.first, at), max(e.first+int32(len(e.counts))-1, at)
	by := int32(0)
	for int(high>>by)-int(low>>by) >= most && e.scale-by > minScale {
		by++
	}
	e.coarsen(by)
	at >>= by
	e.reach(at)
	e.counts[at-e.first] += n
}

// bucketAt returns the bucket of a positive value.
func bucketAt(amount float64, scale int32) int32 {
	fraction, exponent := math.Frexp(amount)
	power := int32(exponent) - 1 // 2^power ≤ amount
	if fraction == 0.5 {
		power-- // a power of two is the upper bound of its bucket
		if scale > 0 {
			return (power+1)<<scale - 1
		}
	}
	if scale <= 0 {
		return power >> -scale
	}
	return (power+1)<<scale + int32(math.Log2(fraction)*float64(int32(1)<<scale)) - 1
}

// coarsen halves the number of buckets so many times.
func (e *exponential) coarsen(by int32) {
	if by == 0 {
		return
	}
	first := e.first >> by
	last := 0
	for i, n := range e.counts {
		to := int((e.first+int32(i))>>by - first)
		if to != i {
			e.counts[i] = 0
			e.counts[to] += n
		}
		last = to
	}
	e.first, e.scale, e.counts = first, e.scale-by, e.counts[:last+1]
}

// reach makes room for a bucket.
func (e *exponential) reach(at int32) {
	if below := int(e.first - at); below > 0 {
		e.counts = append(make([]uint64, below), e.counts...)
		e.first = at
	}
	for int(at-e.first) >= len(e.counts) {
		e.counts = append(e.counts, 0)
	}
}

func (e *exponential) write(dp pmetric.ExponentialHistogramDataPoint) {
	dp.SetScale(e.scale)
	dp.SetZeroCount(e.zero)
	dp.Positive().SetOffset(e.first)
	dp.Positive().BucketCounts().FromRaw(e.counts)
}

// exponential returns the histogram of a point.
func (g *group) exponential(p *point) *exponential {
	r := g.uncommon()
	if p.buckets == 0 {
		r.exponentials = append(r.exponentials, exponential{})
		p.buckets = uint32(len(r.exponentials))
	}
	return &r.exponentials[p.buckets-1]
}
