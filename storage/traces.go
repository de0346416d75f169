package storage

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"math"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/span"
)

// Source is the table that the spans of a trace came from.
type Source string

// The sources of spans.
const (
	SourceRaw  Source = "otel_traces"
	SourceHops Source = "hops"
)

// Trace is what is kept of one trace, each span once, by start.
type Trace struct {
	ID     span.TraceID
	Source Source
	Spans  []span.Span
	// Truncated: the trace has more spans than were asked for.
	Truncated bool
}

//go:embed queries/trace_times.sql
var traceTimesSQL string

//go:embed queries/spans.sql
var spansSQL string

// Traces answers with the spans of some traces, at most perTrace of each: the raw spans, or where there are none the hops.
// A trace of which nothing is kept is not in the answer.
func (db *DB) Traces(ctx context.Context, ids []span.TraceID, perTrace int) (map[span.TraceID]*Trace, error) {
	answer := map[span.TraceID]*Trace{}
	if len(ids) == 0 {
		return answer, nil
	}
	attached, err := db.Attached(ctx)
	if err != nil {
		return nil, err
	}
	own := &Attached{Database: db.database, Table: string(SourceRaw)}
	for _, table := range []*Attached{own, attached} {
		if table == nil || table == own && attached != nil && attached.String() == own.String() {
			continue
		}
		if rest := without(ids, answer); len(rest) > 0 {
			if err := db.rawSpans(ctx, table, rest, perTrace, answer); err != nil && !IsMissing(err) {
				return nil, question("raw spans", err)
			}
		}
	}
	if rest := without(ids, answer); len(rest) > 0 {
		if err := db.hopSpans(ctx, rest, perTrace, answer); err != nil {
			return nil, question("hops", err)
		}
	}
	for _, trace := range answer {
		trace.tidy(perTrace)
	}
	return answer, nil
}

// without returns the ids that are not in the answer.
func without(ids []span.TraceID, answer map[span.TraceID]*Trace) []span.TraceID {
	return slices.DeleteFunc(slices.Clone(ids), func(id span.TraceID) bool { return answer[id] != nil })
}

// rawSpans adds what a table of raw spans holds; those of somebody else are annotated first. Where the times are not kept, as in
// tables that somebody else made, every day is searched.
func (db *DB) rawSpans(ctx context.Context, table *Attached, ids []span.TraceID, perTrace int, into map[span.TraceID]*Trace) error {
	hex := hexIDs(ids)
	foreign := !table.Since.IsZero()
	var known uint64
	var from, to uint32
	err := db.ask(ctx, traceTimesSQL, func(rows driver.Rows) error { return rows.Scan(&known, &from, &to) }, map[string]any{"ids": hex, "database": table.Database, "times": table.Table + "_trace_id_ts"})
	if err != nil && !IsMissing(err) {
		return err
	}
	if known == 0 {
		from, to = 0, math.MaxUint32
	}
	return db.ask(ctx, spansSQL, func(rows driver.Rows) error {
		s, err := scanRawSpan(rows)
		if err != nil {
			return err
		}
		if foreign {
			table.annotate(&s)
		}
		into[s.Trace] = into[s.Trace].add(s, SourceRaw)
		return nil
	}, map[string]any{"ids": hex, "database": table.Database, "table": table.Table, "from": int64(from), "to": int64(to), "limit": perTrace + 1})
}

func (t *Trace) add(s span.Span, source Source) *Trace {
	if t == nil {
		t = &Trace{ID: s.Trace, Source: source}
	}
	t.Spans = append(t.Spans, s)
	return t
}

// tidy counts each span once, orders the spans by start and cuts them at the limit. Of rows of one identity the longest
// stays, because a span is written again when more is known.
func (t *Trace) tidy(limit int) {
	slices.SortFunc(t.Spans, func(a, b span.Span) int { return compareSpans(&a, &b) })
	seen := map[span.Identity]bool{}
	t.Spans = slices.DeleteFunc(t.Spans, func(s span.Span) bool {
		again := seen[s.Identity()]
		seen[s.Identity()] = true
		return again
	})
	if len(t.Spans) > limit {
		t.Spans, t.Truncated = t.Spans[:limit], true
	}
}

func compareSpans(a, b *span.Span) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), bytes.Compare(a.ID[:], b.ID[:]),
		cmp.Compare(a.Service, b.Service), cmp.Compare(a.Kind, b.Kind))
}

// scanRawSpan reads one row of spans.sql. Attributes come as text, because the layout keeps text.
func scanRawSpan(rows driver.Rows) (span.Span, error) {
	var (
		s                     span.Span
		trace, id, parent     string
		kind, status          string
		duration              uint64
		attrs, resource       map[string]string
		eventTimes            []int64
		eventNames            []string
		eventAttrs, linkAttrs []map[string]string
		linkTraces, linkSpans []string
	)
	if err := rows.Scan(&trace, &id, &parent, &s.TraceState, &s.Service, &s.Name, &s.Scope, &kind, &status, &s.StatusMessage,
		&s.Start, &duration, &attrs, &resource, &eventTimes, &eventNames, &eventAttrs, &linkTraces, &linkSpans, &linkAttrs); err != nil {
		return s, err
	}
	// Identifiers that are not hexadecimal cannot come from OTLP; such a span stays, as one that nothing refers to.
	s.Trace, _ = span.ParseTraceID(trace)
	s.ID, _ = span.ParseID(id)
	s.Parent, _ = span.ParseID(parent)
	s.Kind, s.Status = span.ParseKind(kind), span.ParseStatus(status)
	s.End = s.Start + int64(duration)
	s.Attrs, s.Resource = attributes(attrs), attributes(resource)
	for i, at := range eventTimes {
		s.Events = append(s.Events, span.Event{Name: eventNames[i], Time: at, Attrs: attributes(eventAttrs[i])})
	}
	for i := range linkTraces {
		link := span.Link{Attrs: attributes(linkAttrs[i])}
		link.Trace, _ = span.ParseTraceID(linkTraces[i])
		link.Span, _ = span.ParseID(linkSpans[i])
		s.Links = append(s.Links, link)
	}
	return s, nil
}

func attributes(texts map[string]string) span.Attributes {
	a := make(span.Attributes, len(texts))
	for key, text := range texts {
		a[key] = text
	}
	return a
}

func hexIDs(ids []span.TraceID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return texts
}
