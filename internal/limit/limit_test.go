package limit

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/verdict"
)

// seeds is how many random draws a property is tried on.
func seeds() uint64 {
	if os.Getenv("LAXITY_SOAK") != "" {
		return 200
	}
	return 4
}

var edge = verdict.Edge{Caller: "shop", Peer: "store", Operation: "load"}

// lengthsBy are ways in which the durations of calls are spread when nothing limits them.
var lengthsBy = map[string]func(*rand.Rand) float64{
	"log normal":  func(r *rand.Rand) float64 { return 40e6 * math.Exp(0.6*r.NormFloat64()) },
	"narrow":      func(r *rand.Rand) float64 { return 120e6 * math.Exp(0.02*r.NormFloat64()) },
	"exponential": func(r *rand.Rand) float64 { return 1e6 + 50e6*r.ExpFloat64() },
	"uniform":     func(r *rand.Rand) float64 { return 1e6 + 999e6*r.Float64() },
	"heavy tail":  func(r *rand.Rand) float64 { return 10e6 / math.Pow(1-r.Float64(), 1/1.5) },
	"constant":    func(r *rand.Rand) float64 { return 50e6 + 50e3*r.Float64() },
	"fast":        func(r *rand.Rand) float64 { return 300e3 + 20e3*r.Float64() },
	"poll of 1 s": func(r *rand.Rand) float64 { return 1000e6 + 300e3*r.Float64() },
	"two modes": func(r *rand.Rand) float64 {
		return []float64{20e6, 1000e6}[r.IntN(2)] * math.Exp(0.001*r.NormFloat64())
	},
	"steps of ten": func(r *rand.Rand) float64 { return float64(1+r.IntN(10)) * 100e6 },
}

// noise makes n calls that nothing limits: their callees fit into them, some fail without lasting longer, some callees outlive
// them by a little or belong to spans that were never recorded.
func noise(random *rand.Rand, n int, length func(*rand.Rand) float64, grid time.Duration) []verdict.Call {
	made := make([]verdict.Call, n)
	for i := range made {
		c := verdict.Call{Edge: edge, Start: int64(i) * 1e9, Length: int64(length(random)), Failed: random.IntN(20) == 0}
		c.Trace[14], c.Trace[15] = byte(i>>8), byte(i)
		if grid > 0 {
			c.Length = max(c.Length/int64(grid), 1) * int64(grid)
		}
		c.HasCallee, c.CalleeStart, c.CalleeLength = random.IntN(50) > 0, c.Start+c.Length/20, c.Length*9/10
		switch random.IntN(40) {
		case 0: // clocks: it seems to begin late
			c.CalleeStart += c.Length
		case 1: // it logs after its answer
			c.CalleeLength = c.Length + int64(random.IntN(3_000_000))
		}
		made[i] = c
	}
	return made
}

var grids = []time.Duration{0, time.Microsecond, time.Millisecond, 10 * time.Millisecond}

// Ordinary modes of a latency distribution are no limits: whatever their shape, how many calls there are and how coarsely they
// are recorded.
func TestNoiseHasNoLimit(t *testing.T) {
	for name, length := range lengthsBy {
		for seed := range seeds() {
			for _, grid := range grids {
				random := rand.New(rand.NewPCG(seed, uint64(grid)))
				for _, n := range []int{3, 20, 200, 3000} {
					if found := Find(noise(random, n, length, grid)); len(found) > 0 {
						t.Fatalf("%s, seed %d, %d calls in steps of %s: %+v", name, seed, n, grid, found)
					}
				}
			}
		}
	}
}

// cutAt cuts calls at a limit as a timer does it: a moment late. What their callees and they themselves show of it is one of
// the kinds of evidence.
func cutAt(random *rand.Rand, calls []verdict.Call, limit time.Duration, evidence string) (cut int) {
	for i := range calls {
		c := &calls[i]
		if c.Length <= int64(limit) {
			continue
		}
		cut++
		needed := c.Length
		c.Length = int64(limit) + int64(50_000*random.ExpFloat64())
		c.HasCallee = evidence == "outlived"
		c.CalleeStart, c.CalleeLength, c.Failed = c.Start+1_000_000, max(needed-2_000_000, 0), evidence != "outlived"
		c.TimedOut = evidence == "timed out"
	}
	return cut
}

// A limit that cuts enough calls is found, at its value, by any of the kinds of evidence.
func TestLimitsAreFound(t *testing.T) {
	for seed := range seeds() {
		random := rand.New(rand.NewPCG(seed, 77))
		for _, limit := range []time.Duration{100 * time.Millisecond, 250 * time.Millisecond, time.Second, 3 * time.Second, 30 * time.Second} {
			for _, evidence := range []string{"outlived", "timed out", "failed"} {
				for _, grid := range []time.Duration{0, time.Millisecond} {
					calls := noise(random, 400, func(r *rand.Rand) float64 { return float64(limit) * 0.4 * math.Exp(r.NormFloat64()) }, grid)
					cut := cutAt(random, calls, limit, evidence)
					if grid > 0 {
						for i := range calls {
							calls[i].Length = calls[i].Length / int64(grid) * int64(grid)
						}
					}
					found := Find(calls)
					if len(found) != 1 || found[0].At != limit || found[0].Cut < cut || found[0].Cut > cut+cut/5 || found[0].Confidence < minCut {
						t.Fatalf("seed %d, %s, %s, steps of %s, %d cut: %+v", seed, limit, evidence, grid, cut, found)
					}
				}
			}
		}
	}
}

// An odd limit is told too where callees outlive it, and the order of calls makes no difference.
func TestOddLimitInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 5))
	calls := noise(random, 300, lengthsBy["exponential"], 0)
	cutAt(random, calls, 67*time.Millisecond, "outlived")
	first := Find(calls)
	if len(first) != 1 || first[0].Round || (first[0].At-67*time.Millisecond).Abs() > time.Millisecond {
		t.Fatalf("%+v", first)
	}
	random.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	if again := Find(calls); len(again) != 1 || again[0].At != first[0].At || again[0].After != first[0].After || again[0].Confidence != first[0].Confidence {
		t.Errorf("in another order: %+v, before %+v", again, first)
	}
}

// The work after cuts is no greater where the callees' clock is ahead or behind.
func TestEstimateStandsClocks(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	calls := noise(random, 400, lengthsBy["exponential"], 0)
	cutAt(random, calls, 100*time.Millisecond, "outlived")
	first := Find(calls)
	for _, ahead := range []time.Duration{5 * time.Minute, -90 * time.Second} {
		moved := slices.Clone(calls)
		for i := range moved {
			moved[i].CalleeStart += int64(ahead)
		}
		found := Find(moved)
		if len(found) != 1 || found[0].After != first[0].After || (found[0].Estimate-first[0].Estimate).Abs() > time.Duration(found[0].Past+1)*2*time.Millisecond {
			t.Errorf("clock off by %s: %+v, else %+v", ahead, found, first)
		}
	}
}

// Whoever answers early and works on, failing calls that were answered, what others cancelled, and what the sdk granted time
// for, show no hidden limit.
func TestWhatLooksLikeALimit(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 7))
	constant := func(change func(*verdict.Call)) []verdict.Call {
		calls := noise(random, 300, lengthsBy["constant"], 0)
		for i := range calls {
			calls[i].HasCallee = true
			change(&calls[i])
		}
		return calls
	}
	for name, calls := range map[string][]verdict.Call{
		"answers early":    constant(func(c *verdict.Call) { c.CalleeLength = c.Length + 100e6 }),
		"fails when asked": constant(func(c *verdict.Call) { c.Failed = true }),
		"cancelled above":  constant(func(c *verdict.Call) { c.EndedAbove, c.CalleeLength = true, c.Length+100e6 }),
		"granted":          constant(func(c *verdict.Call) { c.Granted, c.TimedOut = true, true }),
	} {
		if found := Find(calls); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestNominal(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{
		1000160 * time.Microsecond: time.Second, 999500 * time.Microsecond: time.Second, 3001 * time.Millisecond: 3 * time.Second,
		15001 * time.Millisecond: 15 * time.Second, 30 * time.Second: 30 * time.Second, 250300 * time.Microsecond: 250 * time.Millisecond,
		100 * time.Millisecond: 100 * time.Millisecond, 101500 * time.Microsecond: 100 * time.Millisecond,
		137 * time.Millisecond: 0, 50 * time.Millisecond: 0, 1070 * time.Millisecond: 0, 60_050 * time.Millisecond: time.Minute,
	} {
		if got, _ := nominal(length); got != want {
			t.Errorf("%s: %s, want %s", length, got, want)
		}
	}
}
