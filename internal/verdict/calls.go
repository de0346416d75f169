package verdict

import (
	"cmp"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Call is one call of a trace with what the called side tells of it: what is learned over many traces is learned from these.
// Times are nanoseconds, each on the clock of its own machine.
type Call struct {
	Trace         span.TraceID
	Edge          Edge
	Start, Length int64
	// Failed by its status. TimedOut: its own facts, or the called side's, say that the caller's wait ended by time.
	Failed, TimedOut bool
	// EndedAbove: what ended it came from above or from beside, so that its length says nothing about a limit of its own.
	EndedAbove bool
	// Granted: the sdk recorded how long it might take, so that no limit of it is hidden.
	Granted bool
	// HasCallee: the span of the called side is here; Callee… are about it.
	HasCallee                 bool
	CalleeStart, CalleeLength int64
	// Caller and Callee name the machines whose clocks timed both sides; see MachineOf.
	Caller, Callee string
}

// Outlived is by how much the called side worked longer than the caller waited: a difference of two lengths, which no clock
// can fake. It is 0 within the tolerance of an excess.
func (c *Call) Outlived() int64 {
	if by := c.CalleeLength - c.Length; c.HasCallee && defaultThresholds.excess(by, c.Length) {
		return by
	}
	return 0
}

// Past is by how much the called side ended after the caller's wait by the clocks of both, at most its own length. 0 within the
// tolerance of an excess.
func (c *Call) Past() int64 {
	if by := add(add(c.CalleeStart, c.CalleeLength), -add(c.Start, c.Length)); c.HasCallee && defaultThresholds.excess(by, c.Length) {
		return min(by, c.CalleeLength)
	}
	return 0
}

var defaultThresholds = Thresholds{}.withDefaults()

// Calls lists the calls of one trace, parents first.
func Calls(spans []span.Span) []Call {
	if len(spans) == 0 {
		return nil
	}
	t := newTree(spans, Options{})
	var calls []Call
	for _, i := range t.order {
		n := &t.nodes[i]
		if !n.call || n.Kind == span.KindProducer {
			continue
		}
		c := Call{
			Trace: n.Trace, Edge: Edge{Caller: n.Service, Peer: t.peer(i), Operation: StageOf(n.Span)}, Start: n.start, Length: n.length,
			Failed: n.Status == span.StatusError, Caller: MachineOf(n.Span),
			Granted: n.Attrs.Has(budgetattr.AllowanceKey) || n.Attrs.Has(budgetattr.RemainingBeforeKey),
		}
		c.EndedAbove = n.v.Cause != "" && !ownLimit(n.v.Cause)
		c.TimedOut = !c.EndedAbove && (n.v.Cause != "" || n.v.Phase != "")
		if k := t.calledSide(i); k != none {
			called := &t.nodes[k]
			c.HasCallee, c.CalleeStart, c.CalleeLength, c.Callee = true, called.start, called.length, MachineOf(called.Span)
			c.TimedOut = c.TimedOut || !c.EndedAbove && callerGone(called)
		}
		calls = append(calls, c)
	}
	return calls
}

// ownLimit: causes that a limit of the call itself leaves.
func ownLimit(c budgetattr.Cause) bool {
	return c == budgetattr.CauseLocalDeadline || c == budgetattr.CauseStreamIdle
}

// calledSide is the longest span on the other side of a call, or none. What is not waited for is not the other side.
func (t *tree) calledSide(i int32) int32 {
	longest := none
	for _, k := range t.kidsOf(i) {
		n := &t.nodes[k]
		if !n.async && !sameProcess(&t.nodes[i], n) && (longest == none || n.length > t.nodes[longest].length) {
			longest = k
		}
	}
	return longest
}

// MachineOf names the machine whose clock timed a span: its host, else the instance of its service, else the service, which
// several machines may share.
func MachineOf(s *span.Span) string {
	if host := cmp.Or(s.Resource.String("host.name"), s.Resource.String("host.id")); host != "" {
		return "host " + host
	}
	if instance := s.Resource.String("service.instance.id"); instance != "" {
		return "instance " + instance + " of " + s.Service
	}
	return "service " + s.Service
}

// AtLeast rounds a count down to 1, 2 or 5 times a power of ten, so that what is said of it stays true while it grows.
func AtLeast(n int) int {
	for power := 1; ; power *= 10 {
		for _, next := range [...]int{2, 5, 10} {
			if n < next*power {
				return map[int]int{2: 1, 5: 2, 10: 5}[next] * power
			}
		}
	}
}
