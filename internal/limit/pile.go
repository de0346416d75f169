package limit

import (
	"math"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/internal/verdict"
)

// Lengths are the lengths of the calls of one edge, counted in buckets.
type Lengths struct {
	// Buckets maps Bucket(length) to a count.
	Buckets map[int32]int
	// Grid is the step of which next to all lengths are multiples, as where durations are recorded in milliseconds; 0 for none.
	Grid time.Duration
}

// bucketBase makes buckets 0.1 % wide.
const bucketBase = 1.001

// Bucket numbers a length in nanoseconds. queries/limit_lengths.sql computes the same.
func Bucket(length int64) int32 {
	return int32(math.Floor(math.Log(float64(max(length, 1))) / math.Log(bucketBase)))
}

// begin is the shortest length in a bucket.
func begin(bucket int32) float64 { return math.Pow(bucketBase, float64(bucket)) }

// Grids are the steps looked for, and OnGrid the share of lengths that must be multiples.
var Grids = [...]time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond}

// OnGrid returns the coarsest grid on which next to all of n lengths lie; on counts them per grid.
func OnGrid(on [len(Grids)]int, n int) time.Duration {
	for i, grid := range Grids {
		if float64(on[i]) >= 0.99*float64(n) {
			return grid
		}
	}
	return 0
}

func lengthsOf(calls []verdict.Call) Lengths {
	l := Lengths{Buckets: map[int32]int{}}
	var on [len(Grids)]int
	for i := range calls {
		l.Buckets[Bucket(calls[i].Length)]++
		for g, grid := range Grids {
			if calls[i].Length%int64(grid) == 0 {
				on[g]++
			}
		}
	}
	l.Grid = OnGrid(on, len(calls))
	return l
}

// Pile is where calls of one edge pile up: their lengths from From to To, and how many.
type Pile struct {
	From, To                    int64
	Calls, Cut, Beyond, Shorter int
}

// PileOf finds the pile at the upper end of the lengths of one edge, if there is one.
func PileOf(l Lengths) (Pile, bool) {
	buckets := make([]int32, 0, len(l.Buckets))
	total := 0
	for b, n := range l.Buckets {
		buckets = append(buckets, b)
		total += n
	}
	slices.Sort(buckets)
	if total < MinCalls {
		return Pile{}, false
	}
	var best Pile
	beyond, last := 0, len(buckets)
	for at := len(buckets) - 1; at >= 0; at-- {
		low := begin(buckets[at])
		if low < float64(Least)*0.99 {
			break
		}
		width := max(0.006*low, float64(2*time.Millisecond), float64(l.Grid))
		if width > 0.05*low {
			width = 0.05 * low
			if float64(l.Grid) > width {
				break // no length on so coarse a grid is narrow
			}
		}
		// The window begins at this bucket; what ends above it is beyond.
		for last > 0 && begin(buckets[last-1]+1) > low+width+low*(bucketBase-1) {
			last--
			beyond += l.Buckets[buckets[last]]
		}
		if float64(beyond) > maxBeyond*float64(total) {
			break // so many that no pile below is at the upper end
		}
		if last <= at {
			continue
		}
		p := Pile{From: int64(low), To: int64(math.Ceil(begin(buckets[last-1] + 1))), Calls: total, Beyond: beyond}
		for _, b := range buckets[at:last] {
			p.Cut += l.Buckets[b]
		}
		before := 0
		for _, b := range buckets[:at] {
			if n := l.Buckets[b]; begin(b) >= flank*low {
				before += n
			} else {
				p.Shorter += n
			}
		}
		expected := float64(before) * width / ((1 - flank) * low)
		if p.Cut >= MinCalls && float64(p.Beyond) <= maxBeyond*float64(p.Cut) && float64(p.Cut) >= minSpike*(expected+1) && p.Cut > best.Cut {
			best = p
		}
	}
	return best, best.Cut > 0
}
