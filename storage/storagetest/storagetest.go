// Package storagetest gives tests a migrated database on a real engine, and writes spans into it as the collector does.
package storagetest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/storage"
)

// Store is a database of its own with the newest schema.
type Store struct {
	*storage.DB
	Engine   *enginetest.Engine
	Database string
	// Collector is how the collector classifies what Insert writes.
	Collector classify.Config
}

// Open starts an engine until the test ends.
func Open(t testing.TB) *Store {
	t.Helper()
	return OpenOn(t, enginetest.Start(t))
}

// OpenOn makes a database on an engine that runs.
func OpenOn(t testing.TB, engine *enginetest.Engine) *Store {
	t.Helper()
	database := engine.NewDatabase(t)
	dsn := engine.DSN(database)
	if err := migrate(t.Context(), engine, database); err != nil {
		t.Fatal(err)
	}
	// A loaded machine is not what tests look for.
	db, err := storage.Open(storage.Config{DSN: dsn, MaxExecutionTime: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &Store{DB: db, Engine: engine, Database: database}
}

// DSN names the database.
func (s *Store) DSN() string { return s.Engine.DSN(s.Database) }

// Insert annotates spans as the processor does and writes them both raw and as hops.
func (s *Store) Insert(t testing.TB, spans ...span.Span) {
	t.Helper()
	s.InsertHops(t, spans...)
	s.InsertRaw(t, spans...)
}

// InsertHops annotates spans and writes those that are hops.
func (s *Store) InsertHops(t testing.TB, spans ...span.Span) {
	t.Helper()
	var rows []hop.Row
	for _, annotated := range annotate(t, spans, s.Collector) {
		if hop.Is(&annotated) {
			row, _ := hop.FromSpan(&annotated)
			rows = append(rows, row)
		}
	}
	if err := s.DB.InsertHops(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
}

// InsertRaw annotates spans and writes them in the stock layout.
func (s *Store) InsertRaw(t testing.TB, spans ...span.Span) {
	t.Helper()
	insertRaw(t, s.Engine, s.Database+".otel_traces", annotate(t, spans, s.Collector))
}

// Stock is a table in the stock layout that somebody else fills.
type Stock struct {
	Engine *enginetest.Engine
	Table  string // DATABASE.TABLE
}

// Insert writes spans as the contrib exporter does, without a look at them.
func (s *Stock) Insert(t testing.TB, spans ...span.Span) {
	t.Helper()
	insertRaw(t, s.Engine, s.Table, spans)
}

func insertRaw(t testing.TB, engine *enginetest.Engine, table string, spans []span.Span) {
	t.Helper()
	var b strings.Builder
	b.WriteString("INSERT INTO " + table + " FORMAT JSONEachRow\n")
	encoder := json.NewEncoder(&b)
	for i := range spans {
		if err := encoder.Encode(rawRow(&spans[i])); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := engine.Query(b.String()); err != nil {
		t.Fatal(err)
	}
}

func annotate(t testing.TB, spans []span.Span, config classify.Config) []span.Span {
	classifier, err := classify.New(config)
	if err != nil {
		t.Fatal(err)
	}
	annotated := make([]span.Span, len(spans))
	for i, s := range spans {
		attrs := span.Attributes{}
		for key, value := range s.Attrs {
			attrs[key] = value
		}
		s.Attrs = attrs
		classifier.Annotate(&s)
		verdict.JudgeSpan(&s).Annotate(&s)
		annotated[i] = s
	}
	return annotated
}

// rawRow is a span in the columns of otel_traces.
func rawRow(s *span.Span) map[string]any {
	parent := ""
	if !s.Parent.IsZero() {
		parent = s.Parent.String()
	}
	eventTimes, eventNames, eventAttrs := []string{}, []string{}, []map[string]string{}
	for _, e := range s.Events {
		eventTimes, eventNames, eventAttrs = append(eventTimes, clock(e.Time)), append(eventNames, e.Name), append(eventAttrs, texts(e.Attrs))
	}
	linkTraces, linkSpans, linkStates, linkAttrs := []string{}, []string{}, []string{}, []map[string]string{}
	for _, l := range s.Links {
		linkTraces, linkSpans = append(linkTraces, l.Trace.String()), append(linkSpans, l.Span.String())
		linkStates, linkAttrs = append(linkStates, ""), append(linkAttrs, texts(l.Attrs))
	}
	return map[string]any{
		"Timestamp": clock(s.Start), "TraceId": s.Trace.String(), "SpanId": s.ID.String(), "ParentSpanId": parent,
		"TraceState": s.TraceState, "SpanName": s.Name, "SpanKind": s.Kind.String(), "ServiceName": s.Service,
		"ResourceAttributes": texts(s.Resource), "ScopeName": s.Scope, "SpanAttributes": texts(s.Attrs),
		"Duration": s.End - s.Start, "StatusCode": s.Status.String(), "StatusMessage": s.StatusMessage,
		"Events.Timestamp": eventTimes, "Events.Name": eventNames, "Events.Attributes": eventAttrs,
		"Links.TraceId": linkTraces, "Links.SpanId": linkSpans, "Links.TraceState": linkStates, "Links.Attributes": linkAttrs,
	}
}

func clock(nanos int64) string {
	return time.Unix(0, nanos).UTC().Format("2006-01-02 15:04:05.000000000")
}

func texts(attrs span.Attributes) map[string]string {
	all := map[string]string{}
	for key := range attrs {
		all[key] = attrs.String(key)
	}
	return all
}
