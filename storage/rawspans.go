package storage

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	chcolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"

	"github.com/laxity-dev/laxity/internal/span"
)

// RawSpan is one span as the layout of otel_traces keeps it.
type RawSpan struct {
	Trace                   span.TraceID
	Span, Parent            span.ID
	State                   string
	Name, Kind, Service     string
	Resource                *Texts // shared by the spans of a resource
	ScopeName, ScopeVersion string
	Attrs                   *Texts
	Start                   time.Time
	Duration                uint64 // nanoseconds
	Status, StatusMessage   string
	Events                  []RawEvent
	Links                   []RawLink
}

// RawEvent is one event of a raw span.
type RawEvent struct {
	At    time.Time
	Name  string
	Attrs *Texts
}

// RawLink is one link of a raw span.
type RawLink struct {
	Trace span.TraceID
	Span  span.ID
	State string
	Attrs *Texts
}

// Texts are attributes, written in the order of their keys. One goroutine at a time may write them.
type Texts struct {
	list [][2]string // key and value
	at   int
}

// NewTexts returns attributes with room for so many.
func NewTexts(room int) *Texts { return &Texts{list: make([][2]string, 0, room)} }

// Add adds one attribute.
func (t *Texts) Add(key, value string) { t.list = append(t.list, [2]string{key, value}) }

// Put is for reading only.
func (t *Texts) Put(_, _ any) {}

// Iterator begins at the least key. The client asks for it while it lays out columns, and for one at a time.
func (t *Texts) Iterator() chcolumn.MapIterator {
	slices.SortStableFunc(t.list, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	t.at = -1
	return t
}

// Next goes to the next attribute.
func (t *Texts) Next() bool {
	t.at++
	return t.at < len(t.list)
}

// Key is a pointer, which costs nothing to pass on.
func (t *Texts) Key() any { return &t.list[t.at][0] }

// Value is a pointer too.
func (t *Texts) Value() any { return &t.list[t.at][1] }

// InsertRawSpans writes raw spans in one insert. Repeated, it writes them twice.
func (db *DB) InsertRawSpans(ctx context.Context, rows []RawSpan) error {
	if len(rows) == 0 {
		return nil
	}
	if err := db.insert(ctx, string(SourceRaw), rawColumns(rows)); err != nil {
		return fmt.Errorf("insert of %d raw spans: %w", len(rows), err)
	}
	return nil
}

const textMap = "Map(String, String)"

func rawColumns(rows []RawSpan) []column {
	text := func(f func(*RawSpan) string) []string { return each(rows, f) }
	maps := func(f func(*RawSpan) *Texts) []chcolumn.IterableOrderedMap {
		return each(rows, func(r *RawSpan) chcolumn.IterableOrderedMap { return f(r) })
	}
	columns := []column{
		{"Timestamp", "DateTime64(9, 'UTC')", each(rows, func(r *RawSpan) time.Time { return r.Start })},
		{"TraceId", "String", text(func(r *RawSpan) string { return digits(r.Trace[:]) })},
		{"SpanId", "String", text(func(r *RawSpan) string { return digits(r.Span[:]) })},
		{"ParentSpanId", "String", text(func(r *RawSpan) string { return digits(r.Parent[:]) })},
		{"TraceState", "String", text(func(r *RawSpan) string { return r.State })},
		{"SpanName", "String", text(func(r *RawSpan) string { return r.Name })},
		{"SpanKind", "String", text(func(r *RawSpan) string { return r.Kind })},
		{"ServiceName", "String", text(func(r *RawSpan) string { return r.Service })},
		{"ResourceAttributes", textMap, maps(func(r *RawSpan) *Texts { return r.Resource })},
		{"ScopeName", "String", text(func(r *RawSpan) string { return r.ScopeName })},
		{"ScopeVersion", "String", text(func(r *RawSpan) string { return r.ScopeVersion })},
		{"SpanAttributes", textMap, maps(func(r *RawSpan) *Texts { return r.Attrs })},
		{"Duration", "UInt64", each(rows, func(r *RawSpan) uint64 { return r.Duration })},
		{"StatusCode", "String", text(func(r *RawSpan) string { return r.Status })},
		{"StatusMessage", "String", text(func(r *RawSpan) string { return r.StatusMessage })},
	}
	return append(columns, rawPartColumns(rows)...)
}

// rawPartColumns holds events and links, where any span has some.
func rawPartColumns(rows []RawSpan) []column {
	var events, links bool
	for i := range rows {
		events = events || len(rows[i].Events) > 0
		links = links || len(rows[i].Links) > 0
	}
	var columns []column
	if events {
		columns = append(columns,
			column{"Events.Timestamp", "Array(DateTime64(9, 'UTC'))", parts(rows, eventsOf, func(e *RawEvent) time.Time { return e.At })},
			column{"Events.Name", "Array(String)", parts(rows, eventsOf, func(e *RawEvent) string { return e.Name })},
			column{"Events.Attributes", "Array(" + textMap + ")", parts(rows, eventsOf, func(e *RawEvent) chcolumn.IterableOrderedMap { return e.Attrs })})
	}
	if links {
		columns = append(columns,
			column{"Links.TraceId", "Array(String)", parts(rows, linksOf, func(l *RawLink) string { return digits(l.Trace[:]) })},
			column{"Links.SpanId", "Array(String)", parts(rows, linksOf, func(l *RawLink) string { return digits(l.Span[:]) })},
			column{"Links.TraceState", "Array(String)", parts(rows, linksOf, func(l *RawLink) string { return l.State })},
			column{"Links.Attributes", "Array(" + textMap + ")", parts(rows, linksOf, func(l *RawLink) chcolumn.IterableOrderedMap { return l.Attrs })})
	}
	return columns
}

func eventsOf(r *RawSpan) []RawEvent { return r.Events }
func linksOf(r *RawSpan) []RawLink   { return r.Links }

// parts maps what each row has many of to one column.
func parts[P, V any](rows []RawSpan, of func(*RawSpan) []P, f func(*P) V) [][]V {
	return each(rows, func(r *RawSpan) []V { return each(of(r), f) })
}

// digits writes an identifier as hexadecimal digits; one of zeros is empty.
func digits(id []byte) string {
	for _, b := range id {
		if b != 0 {
			return hex.EncodeToString(id)
		}
	}
	return ""
}
