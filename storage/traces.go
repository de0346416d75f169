package storage

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strings"

	chcolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"
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

// SpansPerTrace bounds the spans of one trace that are judged and shown: the earliest.
const SpansPerTrace = 50_000

//go:embed queries/spans.sql
var spansSQL string

// Traces answers with the spans of some traces, at most perTrace of each: the raw spans, or where there are none the hops.
// A trace of which nothing is kept is not in the answer.
func (db *DB) Traces(ctx context.Context, ids []span.TraceID, perTrace int) (map[span.TraceID]*Trace, error) {
	return db.traces(ctx, ids, nil, &AnyTime, perTrace)
}

// TracesNear is Traces, but takes hops, where there are no raw spans, only from the window: to look for a trace in all hops takes a second of
// a hundred million.
func (db *DB) TracesNear(ctx context.Context, ids []span.TraceID, w Window, perTrace int) (map[span.TraceID]*Trace, error) {
	return db.traces(ctx, ids, nil, &w, perTrace)
}

// TracesWithin is Traces for many traces whose extents are known: the window holds them.
func (db *DB) TracesWithin(ctx context.Context, ids []span.TraceID, w Window, perTrace int) (map[span.TraceID]*Trace, error) {
	answer, err := db.traces(ctx, ids, &w, &w, perTrace)
	if err != nil {
		return nil, err
	}
	for id, trace := range answer {
		if !trace.Truncated {
			continue
		}
		// Of a trace too long the first spans are wanted, each once; any were read.
		one, err := db.Traces(ctx, []span.TraceID{id}, perTrace)
		if err != nil {
			return nil, err
		}
		if one[id] != nil {
			answer[id] = one[id]
		}
	}
	return answer, nil
}

// traces reads in any order if a window is given, and hops from a window of their own.
func (db *DB) traces(ctx context.Context, ids []span.TraceID, w, hops *Window, perTrace int) (map[span.TraceID]*Trace, error) {
	answer := map[span.TraceID]*Trace{}
	if len(ids) == 0 {
		return answer, nil
	}
	attached, err := db.Attached(ctx)
	if err != nil {
		return nil, err
	}
	own := db.own()
	for _, table := range []*Attached{own, attached} {
		if table == nil || table == own && attached != nil && attached.String() == own.String() {
			continue
		}
		if rest := without(ids, answer); len(rest) > 0 {
			if err := db.rawSpans(ctx, table, rest, w, perTrace, answer); err != nil && !IsMissing(err) {
				return nil, question("raw spans", err)
			}
		}
	}
	if rest := without(ids, answer); len(rest) > 0 {
		if err := db.hopSpans(ctx, rest, *hops, w == nil, perTrace, answer); err != nil {
			return nil, question("hops", err)
		}
	}
	for _, trace := range answer {
		trace.tidy(perTrace)
	}
	return answer, nil
}

// own is our table of raw spans.
func (db *DB) own() *Attached { return &Attached{Database: db.database, Table: string(SourceRaw)} }

// inAnyOrder leaves the lines of a statement out that bring its rows in order.
func inAnyOrder(sql string) string {
	var b strings.Builder
	for line := range strings.Lines(sql) {
		if !strings.HasSuffix(line, " -- in order\n") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// without returns the ids that are not in the answer.
func without(ids []span.TraceID, answer map[span.TraceID]*Trace) []span.TraceID {
	return slices.DeleteFunc(slices.Clone(ids), func(id span.TraceID) bool { return answer[id] != nil })
}

// rawSpans adds what a table of raw spans holds; those of somebody else are annotated first. Where the times are not kept, as in
// tables that somebody else made, every day is searched.
func (db *DB) rawSpans(ctx context.Context, table *Attached, ids []span.TraceID, w *Window, perTrace int, into map[span.TraceID]*Trace) error {
	foreign := !table.Since.IsZero()
	from, to := int64(0), int64(math.MaxUint32)
	if w != nil && !foreign {
		from, to = w.From.Unix(), w.To.Unix()
	} else if extents, err := db.rawExtents(ctx, table, ids); err != nil {
		return err
	} else if len(extents) > 0 {
		from, to = int64(math.MaxInt64), int64(0)
		for _, e := range extents {
			from, to = min(from, e.From.Unix()), max(to, e.To.Unix())
		}
	}
	sql := spansSQL
	if w != nil {
		sql = inAnyOrder(sql)
	}
	reader := newRawReader()
	return db.ask(ctx, sql, func(rows driver.Rows) error {
		s, err := reader.read(rows)
		if err != nil {
			return err
		}
		if foreign {
			table.annotate(&s)
		}
		into[s.Trace] = into[s.Trace].add(s, SourceRaw)
		return nil
	}, map[string]any{"ids": hexIDs(ids), "database": table.Database, "table": table.Table, "from": from, "to": to, "limit": perTrace + 1})
}

func (t *Trace) add(s span.Span, source Source) *Trace {
	if t == nil {
		t = &Trace{ID: s.Trace, Source: source, Spans: make([]span.Span, 0, 16)}
	}
	t.Spans = append(t.Spans, s)
	return t
}

// tidy counts each span once, orders the spans by start and cuts them at the limit. Of rows of one identity the longest
// stays, because a span is written again when more is known.
func (t *Trace) tidy(limit int) {
	// A statement was limited too, rows that are there twice included.
	t.Truncated = len(t.Spans) > limit
	order := make([]*span.Span, len(t.Spans)) // spans are wide, so they are moved once
	for i := range t.Spans {
		order[i] = &t.Spans[i]
	}
	slices.SortFunc(order, func(a, b *span.Span) int {
		return cmp.Or(bytes.Compare(a.ID[:], b.ID[:]), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(b.End-b.Start, a.End-a.Start), cmp.Compare(a.Start, b.Start))
	})
	order = slices.CompactFunc(order, func(a, b *span.Span) bool { return a.Identity() == b.Identity() })
	slices.SortFunc(order, compareSpans)
	spans := make([]span.Span, min(len(order), limit))
	for i := range spans {
		spans[i] = *order[i]
	}
	t.Spans = spans
}

func compareSpans(a, b *span.Span) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), bytes.Compare(a.ID[:], b.ID[:]),
		cmp.Compare(a.Service, b.Service), cmp.Compare(a.Kind, b.Kind))
}

// rawReader scans rows of spans.sql. Spans of one statement share texts and resources.
type rawReader struct {
	texts           map[string]any
	attrs, resource pairs
	resources       map[string]span.Attributes // the last of each service
}

// Bounds of what a reader shares: texts, and their length.
const (
	maxTexts = 10_000
	maxText  = 64
)

func newRawReader() *rawReader {
	r := &rawReader{texts: map[string]any{}, resources: map[string]span.Attributes{}}
	r.attrs.reader, r.resource.reader = r, r
	r.resource.to = span.Attributes{}
	return r
}

// share returns a text that is equal, the same for all.
func (r *rawReader) share(value any) (text string, shared any) {
	text, _ = value.(string)
	if len(text) > maxText {
		return text, value
	}
	if known, ok := r.texts[text]; ok {
		return known.(string), known
	}
	if len(r.texts) >= maxTexts {
		clear(r.texts)
	}
	r.texts[text] = value
	return text, value
}

// pairs takes the pairs of a map as they come: a map of texts in between would cost more than all the rest.
type pairs struct {
	reader *rawReader
	to     span.Attributes
}

// Put adds one pair.
func (p *pairs) Put(key, value any) {
	name, _ := p.reader.share(key)
	_, p.to[name] = p.reader.share(value)
}

// Iterator is for writing only.
func (p *pairs) Iterator() chcolumn.MapIterator { return nil }

// read returns the current row. Attributes come as text, because the layout keeps text.
func (r *rawReader) read(rows driver.Rows) (span.Span, error) {
	var (
		s                     span.Span
		trace, id, parent     string
		kind, status          string
		duration              uint64
		eventTimes            []int64
		eventNames            []string
		eventAttrs, linkAttrs []map[string]string
		linkTraces, linkSpans []string
	)
	s.Attrs = span.Attributes{}
	r.attrs.to = s.Attrs
	clear(r.resource.to)
	if err := rows.Scan(&trace, &id, &parent, &s.TraceState, &s.Service, &s.Name, &s.Scope, &kind, &status, &s.StatusMessage,
		&s.Start, &duration, &r.attrs, &r.resource, &eventTimes, &eventNames, &eventAttrs, &linkTraces, &linkSpans, &linkAttrs); err != nil {
		return s, err
	}
	// Identifiers that are not hexadecimal cannot come from OTLP; such a span stays, as one that nothing refers to.
	s.Trace, _ = span.ParseTraceID(trace)
	s.ID, _ = span.ParseID(id)
	s.Parent, _ = span.ParseID(parent)
	s.Kind, s.Status = span.ParseKind(kind), span.ParseStatus(status)
	s.End = s.Start + int64(duration)
	if s.Resource = r.resources[s.Service]; !maps.Equal(s.Resource, r.resource.to) {
		s.Resource = maps.Clone(r.resource.to)
		r.resources[s.Service] = s.Resource
	}
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

// hexIDs is the text of identifiers, one after the other: a list of texts is twice as long.
func hexIDs(ids []span.TraceID) string {
	text := make([]byte, 0, 2*len(span.TraceID{})*len(ids))
	for i := range ids {
		text = hex.AppendEncode(text, ids[i][:])
	}
	return string(text)
}
