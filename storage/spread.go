package storage

import (
	"maps"
	"math"
	"slices"
)

// spread counts how many lengths lie in which of the logarithmic buckets of the margins, 16 to each doubling; those below zero in negative ones.
type spread map[int16]uint64

func (s spread) plus(other spread) spread {
	sum := maps.Clone(s)
	if sum == nil {
		sum = spread{}
	}
	for slot, times := range other {
		sum[slot] += times
	}
	return sum
}

// quantile is the middle of the bucket in which a share of the lengths ends, in nanoseconds; 0 without any.
func (s spread) quantile(share float64) int64 {
	total := uint64(0)
	for _, times := range s {
		total += times
	}
	rank, passed := uint64(math.Ceil(float64(total)*share)), uint64(0)
	for _, slot := range slices.Sorted(maps.Keys(s)) {
		if passed += s[slot]; passed >= rank {
			return middle(slot)
		}
	}
	return 0
}

// middle is the middle of a bucket, in nanoseconds.
func middle(slot int16) int64 {
	if slot == 0 {
		return 0
	}
	return int64(math.Copysign(math.Exp2((math.Abs(float64(slot))-0.5)/16), float64(slot)))
}

// within is what lies at a part of the way through a bucket, in order of size, in nanoseconds.
func within(slot int16, part float64) float64 {
	if slot == 0 {
		return 0
	}
	size := math.Abs(float64(slot))
	low, high := math.Exp2((size-1)/16), math.Exp2(size/16)
	if slot < 0 {
		low, high = -high, -low
	}
	return low + (high-low)*part
}
