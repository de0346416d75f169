// Package limit finds timeouts that nobody recorded: calls of one edge that pile up at one duration, with next to nothing
// beyond it, and of which enough were cut there. An ordinary mode of a latency distribution is no limit: its calls were
// answered, and others took longer. It is pure.
package limit

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/internal/verdict"
)

// What a pile must show. docs/learning.md explains each.
const (
	// MinCalls in the pile, and as many times more than an even spread of the calls before it would put there.
	MinCalls, minSpike = 5, 5
	// Least is the shortest limit that is told from ordinary noise, leastRound the shortest where roundness counts.
	Least, leastRound = 10 * time.Millisecond, 100 * time.Millisecond
	// maxBeyond is the share of calls beyond the pile, of those in it.
	maxBeyond = 0.1
	// flank is where the spread before a pile is taken from, as a share of its begin.
	flank = 0.7
	// minCut is the least share of calls cut, 95 % sure, among those that reached the pile; minFailed the same where the only
	// evidence is that they failed.
	minCut, minFailed = 0.3, 0.6
	// minAfter is the least median of the work that went on, as a share of the limit, to be evidence by itself.
	minAfter = 0.05
	// minShorter calls that ended well before a limit show that calls of the edge need not last as long.
	minShorter = 3
)

// Limit is a hidden limit with its evidence.
type Limit struct {
	Edge verdict.Edge
	// Address is what the calls themselves say of their peer where the callee's span names it better.
	Address string
	// At is the limit: a round number where the pile is at one, else the median of the pile. From and To are the shortest and
	// the longest call in it.
	At, From, To time.Duration
	Round        bool
	// Calls of the edge, Cut those that ended at the limit, Beyond those that took longer.
	Calls, Cut, Beyond int
	// Outlived, TimedOut and Failed say of how many that were cut it is known: the callee worked on, the end by time is
	// recorded, or all that is known is that they failed. Each is counted once, by the best.
	Outlived, TimedOut, Failed int
	// After is work that went on after cuts, by lengths, which is a lower bound; Estimate the same by the clocks of both sides,
	// over Past calls.
	After, Estimate time.Duration
	Past            int
	// Confidence is the share of calls reaching the limit that were cut there: at least so many, 95 % sure.
	Confidence float64
	Examples   []string
}

// maxExamples bounds the ids of traces that a limit names.
const maxExamples = 5

// Find finds the hidden limits in the calls of many traces, in order of edges. The order of calls makes no difference.
func Find(calls []verdict.Call) []Limit {
	edges := map[verdict.Edge][]verdict.Call{}
	for _, c := range calls {
		if Eligible(&c) {
			edges[c.Edge] = append(edges[c.Edge], c)
		}
	}
	var found []Limit
	for edge, calls := range edges {
		pile, ok := PileOf(lengthsOf(calls))
		if !ok {
			continue
		}
		reaching := slices.DeleteFunc(calls, func(c verdict.Call) bool { return c.Length < pile.From })
		if l, ok := Judge(edge, pile, reaching); ok {
			found = append(found, l)
		}
	}
	Sort(found)
	return found
}

// Eligible: a call whose length can tell of a hidden limit.
func Eligible(c *verdict.Call) bool { return !c.Granted && !c.EndedAbove && c.Length > 0 }

// Sort orders limits by edge.
func Sort(limits []Limit) {
	slices.SortFunc(limits, func(a, b Limit) int { return Compare(a.Edge, b.Edge) })
}

// Compare orders edges by caller, peer and operation.
func Compare(a, b verdict.Edge) int {
	return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Operation, b.Operation))
}

// Judge decides whether a pile is a limit, by the calls that reached it. They may be a sample of those the pile counts.
func Judge(edge verdict.Edge, pile Pile, reaching []verdict.Call) (Limit, bool) {
	l := Limit{Edge: edge, Calls: pile.Calls, Beyond: pile.Beyond}
	var lengths, after []int64
	answered := 0
	slices.SortFunc(reaching, func(a, b verdict.Call) int {
		return cmp.Or(cmp.Compare(b.Outlived(), a.Outlived()), cmp.Compare(a.Trace.String(), b.Trace.String()), cmp.Compare(a.Start, b.Start))
	})
	off := apart(reaching)
	for i := range reaching {
		c := reaching[i]
		if c.Length > pile.To {
			answered++
			continue
		}
		lengths = append(lengths, c.Length)
		evident := true
		switch by := c.Outlived(); {
		case by > 0:
			l.Outlived, l.After = l.Outlived+1, l.After+time.Duration(by)
			after = append(after, by)
		case c.TimedOut:
			l.TimedOut++
		case c.Failed && !c.HasCallee:
			l.Failed++
		default:
			evident = false
		}
		c.CalleeStart -= off
		if past := max(c.Past(), c.Outlived()); past > 0 {
			l.Past, l.Estimate = l.Past+1, l.Estimate+time.Duration(past)
		}
		if evident && len(l.Examples) < maxExamples && !slices.Contains(l.Examples, c.Trace.String()) {
			l.Examples = append(l.Examples, c.Trace.String())
		}
	}
	if len(lengths) < MinCalls {
		return Limit{}, false
	}
	slices.Sort(lengths)
	slices.Sort(after)
	l.Cut, l.From, l.To = max(len(lengths), pile.Cut), time.Duration(lengths[0]), time.Duration(lengths[len(lengths)-1])
	l.At = time.Duration(lengths[len(lengths)/2])
	if round, ok := nominal(l.At); ok {
		l.At, l.Round = round, true
	}
	// Whoever answers before its work is done also outlives its callers, but not at a round length that others stay below.
	outlived := l.Outlived
	if outlived > 0 && (float64(after[len(after)/2]) < minAfter*float64(l.At) || !l.Round && pile.Shorter < minShorter) {
		outlived = 0
	}
	reached := len(lengths) + answered
	if l.Confidence = atLeast(outlived+l.TimedOut, reached); l.Confidence >= minCut {
		return l, true
	}
	l.Confidence = atLeast(outlived+l.TimedOut+l.Failed, reached)
	return l, l.Confidence >= minFailed && l.Round
}

// apart is by how much the clocks of callees run ahead, as far as the calls themselves show it: 0 where some callee began in the
// first tenth of its call and none before it. The least time from call to callee is taken, so that no work is made of it.
func apart(calls []verdict.Call) int64 {
	least, length := int64(math.MaxInt64), int64(0)
	for i := range calls {
		if c := &calls[i]; c.HasCallee && c.CalleeStart-c.Start < least {
			least, length = c.CalleeStart-c.Start, c.Length
		}
	}
	if length == 0 || least > -int64(time.Millisecond) && least <= length/10 {
		return 0
	}
	return least
}

// atLeast is the lower end of Wilson's interval of 95 % for a share.
func atLeast(some, of int) float64 {
	if of == 0 {
		return 0
	}
	const z = 1.959964
	n, p := float64(of), float64(some)/float64(of)
	low := (p + z*z/(2*n) - z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))) / (1 + z*z/n)
	return math.Round(max(low, 0)*1e6) / 1e6
}

// steps are the numbers that people write as limits, times a power of ten.
var steps = [...]float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 8}

// nominal is the round number at which a length lies, or which it passed by as little as a timer takes to fire.
func nominal(length time.Duration) (time.Duration, bool) {
	if length < leastRound {
		return 0, false
	}
	power := math.Pow(10, math.Floor(math.Log10(float64(length)*1.001)))
	for _, step := range [...]float64{1, 10} {
		for _, s := range steps {
			round := time.Duration(s * step * power)
			late, early := max(2*time.Millisecond, round/200), max(time.Millisecond, round/1000)
			if length <= round+late && length >= round-early {
				return round, true
			}
		}
	}
	return 0, false
}

// Hidden gives limits to verdict.Options. What it says changes little when more calls arrive: lengths are rounded outwards to
// 0.2 % of the limit, counts down to 5, 10, 20, 50 and so on, so that traces judged at different times agree.
func Hidden(limits []Limit) map[verdict.Edge]verdict.HiddenLimit {
	known := make(map[verdict.Edge]verdict.HiddenLimit, len(limits))
	for _, l := range limits {
		step := max(l.At/500, 1)
		h := verdict.HiddenLimit{At: l.At, From: l.From / step * step, To: (l.To + step - 1) / step * step, Calls: verdict.AtLeast(l.Cut)}
		known[l.Edge] = h
		if l.Address != "" {
			// Where the callee left no span, its address names it.
			known[verdict.Edge{Caller: l.Edge.Caller, Peer: l.Address, Operation: l.Edge.Operation}] = h
		}
	}
	return known
}
