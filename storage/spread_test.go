package storage

import (
	"math"
	"testing"
)

func TestSpreadTellsWhereAShareOfTheLengthsEnds(t *testing.T) {
	s := spread{-16: 1, 0: 1, 16: 1, 320: 1}
	for share, want := range map[float64]int64{0.25: middle(-16), 0.5: 0, 0.75: middle(16), 0.99: middle(320)} {
		if got := s.quantile(share); got != want {
			t.Errorf("%v of the lengths: %d, want %d", share, got, want)
		}
	}
	if got := (spread)(nil).quantile(0.5); got != 0 {
		t.Errorf("of none: %d", got)
	}
	if sum := s.plus(spread{0: 6}); sum.quantile(0.5) != 0 || sum[0] != 7 || s[0] != 1 {
		t.Errorf("a sum is %v, of %v", sum, s)
	}
	// 16 buckets to each doubling: the middle of bucket 320 lies half a bucket below 2^20.
	if got := middle(320); got < 1<<20*95/100 || got > 1<<20 {
		t.Errorf("the middle of bucket 320 is %d", got)
	}
}

func TestWithinABucket(t *testing.T) {
	for _, slot := range []int16{-321, -17, 17, 321} {
		low, middling, high := within(slot, 0), within(slot, 0.5), within(slot, 1)
		if !(low < middling && middling < high) || float64(middle(slot)) < low-1 || float64(middle(slot)) > high+1 {
			t.Errorf("bucket %d: %v, %v, %v", slot, low, middling, high)
		}
		if next := within(slot+1, 0); math.Abs(next-high) > 1e-9*math.Abs(high) {
			t.Errorf("bucket %d ends at %v, the next begins at %v", slot, high, next)
		}
	}
	if within(0, 0.5) != 0 || within(17, 0) != 2 || within(17+15, 1) != 4 {
		t.Errorf("%v, %v, %v", within(0, 0.5), within(17, 0), within(17+15, 1))
	}
}
