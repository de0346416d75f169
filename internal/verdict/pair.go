package verdict

import (
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Orphan is what a span did for a caller that did not wait any more.
type Orphan struct {
	Time  time.Duration
	Cause budgetattr.Cause
	Grade Evidence
}

// JudgePair finds the orphan work of a span as far as the span itself and its caller tell; caller is nil where it is not known.
// The rest of the trace may tell more.
func JudgePair(caller, called *span.Span, opts Options) (Orphan, bool) {
	spans := []span.Span{*called}
	if caller != nil {
		spans = append(spans, *caller)
	}
	t := newTree(spans, opts)
	for _, o := range t.searchOutliving().orphans {
		if n := &t.nodes[o.node]; n.ID == called.ID && n.Kind == called.Kind && n.Service == called.Service {
			return Orphan{Time: time.Duration(o.amount), Cause: o.cut.cause, Grade: o.grade}, true
		}
	}
	return Orphan{}, false
}

// ClockOf names the clock that timed a span by what its resource says, "" if nothing proves which it was.
func ClockOf(s *span.Span) string { return clockOf(s) }
