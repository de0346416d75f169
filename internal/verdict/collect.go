package verdict

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// collect takes the spans of the trace with most spans, each once.
func (t *tree) collect(spans []span.Span) {
	trace := mainTrace(spans)
	pointers := make([]*span.Span, 0, len(spans))
	for i := range spans {
		if spans[i].Trace == trace {
			pointers = append(pointers, &spans[i])
		}
	}
	slices.SortFunc(pointers, compareRecords)
	pointers = slices.CompactFunc(pointers, func(a, b *span.Span) bool { return a.Identity() == b.Identity() })
	t.nodes = make([]node, len(pointers))
	clocks, services := map[string]int32{}, map[string]int32{}
	for i, s := range pointers {
		n := &t.nodes[i]
		n.Span, n.v = s, JudgeSpan(s)
		n.start, n.length = max(s.Start, 0), int64(length(s))
		n.parent = none
		n.detached = s.Attrs.String(budgetattr.DetachedIDKey) != ""
		if key := clockOf(s); key != "" {
			n.clock = number(clocks, key)
			n.host = n.clock
		} else {
			n.host = -number(services, s.Service)
		}
	}
}

// number gives each name its own number from 1.
func number(names map[string]int32, name string) int32 {
	id, ok := names[name]
	if !ok {
		id = int32(len(names) + 1)
		names[name] = id
	}
	return id
}

func mainTrace(spans []span.Span) span.TraceID {
	counts := map[span.TraceID]int{}
	for i := range spans {
		counts[spans[i].Trace]++
	}
	var best span.TraceID
	for id, n := range counts {
		if n > counts[best] || n == counts[best] && bytes.Compare(id[:], best[:]) < 0 {
			best = id
		}
	}
	return best
}

// compareRecords sorts by identity; of several records of one span the fullest comes first, whatever order they came in.
func compareRecords(a, b *span.Span) int {
	if c := cmp.Or(bytes.Compare(a.ID[:], b.ID[:]), strings.Compare(a.Service, b.Service), cmp.Compare(a.Kind, b.Kind)); c != 0 {
		return c
	}
	if c := cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(a.Start, b.Start), cmp.Compare(len(b.Attrs), len(a.Attrs)),
		cmp.Compare(len(b.Events), len(a.Events)), bytes.Compare(a.Parent[:], b.Parent[:])); c != 0 {
		return c
	}
	if reflect.DeepEqual(a, b) {
		return 0
	}
	return strings.Compare(fmt.Sprint(*a), fmt.Sprint(*b))
}

// clockOf names the clock that timed a span, "" if nothing proves which it was. A service's name proves nothing: replicas
// share it.
func clockOf(s *span.Span) string {
	if id := s.Resource.String("service.instance.id"); id != "" {
		return "instance " + id + " " + s.Service
	}
	host := s.Resource.String("host.id")
	if host == "" {
		host = s.Resource.String("host.name")
	}
	pid := s.Resource.String("process.pid")
	if host == "" || pid == "" {
		return ""
	}
	return "process " + pid + " " + host
}

// sameClock reports whether one machine's clock is proven to have timed both.
func sameClock(a, b *node) bool { return a.clock != 0 && a.clock == b.clock }

// sameProcess reports whether a child was made in its parent's process: proven by the clock, or told by the kinds, because
// a call that crosses processes enters the other one with a SERVER or CONSUMER span.
func sameProcess(p, c *node) bool {
	if sameClock(p, c) {
		return true
	}
	if p.Service != c.Service || p.clock != c.clock {
		return false
	}
	switch c.Kind {
	case span.KindInternal, span.KindClient, span.KindProducer:
		return p.Kind != span.KindUnspecified
	}
	return false
}
