// Package skew learns by how much the clocks of pairs of machines differ, from many calls: what was called well began after
// the call was made and ended before it returned, so each call bounds the offset from both sides, as an exchange of NTP does.
// It is pure.
package skew

import (
	"cmp"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/internal/verdict"
)

// How offsets are learned.
const (
	// Width of the stretches of time for which one offset is learned.
	Width = 10 * time.Minute
	// MinCalls of a pair in one stretch, of which at least the share minAgreeing must have an offset in common.
	MinCalls, minAgreeing = 5, 0.9
	// Least is the smallest offset that is told.
	Least = time.Millisecond
	// MaxCalls of a pair in one stretch are looked at.
	MaxCalls = 2000
)

// drifts are the rates of two clocks against each other that are tried, the smallest that explains the calls is taken.
var drifts = [...]float64{0, 20e-6, 200e-6}

// Pair is two machines, named as by verdict.MachineOf.
type Pair struct{ Caller, Callee string }

// Exchange is what one call tells: the offset of the callee's clock lies between Low and High, in nanoseconds. At is when the
// call was made, by the caller's clock.
type Exchange struct{ At, Low, High int64 }

// Offset is by how much the callee's clock runs ahead of the caller's in one stretch of time, negative for behind.
type Offset struct {
	Pair
	// At is the begin of the stretch.
	At        time.Time
	Low, High time.Duration
	// Calls were looked at, Agreeing of them have the offset in common.
	Calls, Agreeing int
}

// Table holds offsets. It is safe for concurrent use once it is made.
type Table struct {
	offsets map[key]Offset
}

type key struct {
	Pair
	at int64
}

func stretch(at int64) int64 { return at - at%int64(Width) }

// NewTable makes a table of offsets.
func NewTable(offsets []Offset) *Table {
	t := &Table{offsets: make(map[key]Offset, len(offsets))}
	for _, o := range offsets {
		t.offsets[key{o.Pair, o.At.UnixNano()}] = o
	}
	return t
}

// Learn learns from the calls of many traces. Calls that were cut, also by the limits given, tell nothing.
func Learn(calls []verdict.Call, cut map[verdict.Edge]verdict.HiddenLimit) *Table {
	exchanges := map[key][]Exchange{}
	for i := range calls {
		c := &calls[i]
		limit, limited := cut[c.Edge]
		if limited && c.Length >= int64(limit.From) || !Tells(c) {
			continue
		}
		k := key{Pair{c.Caller, c.Callee}, stretch(c.Start)}
		exchanges[k] = append(exchanges[k], ExchangeOf(c))
	}
	var offsets []Offset
	for k, list := range exchanges {
		if o, ok := Fit(list); ok {
			o.Pair, o.At = k.Pair, time.Unix(0, k.at).UTC()
			offsets = append(offsets, o)
		}
	}
	return NewTable(offsets)
}

// Tells: a call that ended well and whose callee fits into it.
func Tells(c *verdict.Call) bool {
	return c.HasCallee && c.Caller != c.Callee && c.CalleeLength <= c.Length && !c.TimedOut && !c.EndedAbove
}

// ExchangeOf is what a call tells.
func ExchangeOf(c *verdict.Call) Exchange {
	return Exchange{At: c.Start, Low: c.CalleeStart + c.CalleeLength - c.Start - c.Length, High: c.CalleeStart - c.Start}
}

// Fit finds the offset that most exchanges of one stretch of time have in common, by Marzullo's algorithm. ok is false with too
// few of them, where too many disagree, and where they need no offset.
func Fit(exchanges []Exchange) (o Offset, ok bool) {
	if len(exchanges) < MinCalls {
		return Offset{}, false
	}
	first, last, against := exchanges[0].At, exchanges[0].At, 0
	for _, e := range exchanges {
		first, last = min(first, e.At), max(last, e.At)
		if e.Low > int64(Least) || e.High < -int64(Least) {
			against++
		}
	}
	if float64(len(exchanges)-against) >= minAgreeing*float64(len(exchanges)) {
		return Offset{}, false // clocks that agree explain the calls as well
	}
	middle := first + (last-first)/2
	for _, drift := range drifts {
		o = overlap(exchanges, middle, drift)
		if float64(o.Agreeing) >= minAgreeing*float64(o.Calls) {
			return o, o.Low > Least || o.High < -Least
		}
	}
	return Offset{}, false
}

// overlap finds the range that lies in most of the exchanges, each widened by what the clocks drifted since the middle.
func overlap(exchanges []Exchange, middle int64, drift float64) Offset {
	type edge struct {
		at   int64
		open int // 1 where an exchange begins, -1 where one ends
	}
	edges := make([]edge, 0, 2*len(exchanges))
	for _, e := range exchanges {
		slack := int64(drift * float64(max(e.At-middle, middle-e.At)))
		edges = append(edges, edge{e.Low - slack, 1}, edge{e.High + slack, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.open, a.open)) })
	o := Offset{Calls: len(exchanges)}
	open := 0
	for i, e := range edges {
		open += e.open
		if open > o.Agreeing {
			o.Agreeing, o.Low, o.High = open, time.Duration(e.at), time.Duration(edges[i+1].at)
		}
	}
	return o
}

// Between implements verdict.Offsets. Calls in the other direction tell as much.
func (t *Table) Between(caller, callee string, at int64) (low, high time.Duration, calls int, ok bool) {
	if o, ok := t.offsets[key{Pair{caller, callee}, stretch(at)}]; ok {
		return o.Low, o.High, verdict.AtLeast(o.Agreeing), true
	}
	if o, ok := t.offsets[key{Pair{callee, caller}, stretch(at)}]; ok {
		return -o.High, -o.Low, verdict.AtLeast(o.Agreeing), true
	}
	return 0, 0, 0, false
}

// Offsets lists what the table holds, in order of pairs and time.
func (t *Table) Offsets() []Offset {
	list := make([]Offset, 0, len(t.offsets))
	for _, o := range t.offsets {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b Offset) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee), a.At.Compare(b.At))
	})
	return list
}
