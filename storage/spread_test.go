package storage

import "testing"

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
