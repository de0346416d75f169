package verdict

import "github.com/laxity-dev/laxity/internal/span"

// Judge judges one trace by its spans, in any order, duplicated or incomplete. The spans are read, never changed. If they
// are of several traces, the one with most spans is judged; see Group. Without spans the statement is nil.
func Judge(spans []span.Span, opts Options) *Statement {
	return nil
}

// Group sorts spans by trace, in order of first appearance.
func Group(spans []span.Span) [][]span.Span {
	index := map[span.TraceID]int{}
	var groups [][]span.Span
	for i := range spans {
		g, ok := index[spans[i].Trace]
		if !ok {
			g = len(groups)
			index[spans[i].Trace] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], spans[i])
	}
	return groups
}
