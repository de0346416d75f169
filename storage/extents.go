package storage

import (
	"context"
	_ "embed"
	"encoding/binary"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/span"
)

//go:embed queries/trace_times.sql
var traceTimesSQL string

//go:embed queries/trace_extents.sql
var traceExtentsSQL string

// Extents answers with windows that hold the starts of all spans of some traces that were noted. A trace that never was is not in the
// answer: nothing of it has been judged.
func (db *DB) Extents(ctx context.Context, ids []span.TraceID) (map[span.TraceID]Window, error) {
	extents := make(map[span.TraceID]Window, len(ids))
	if len(ids) == 0 {
		return extents, nil
	}
	noted := map[uint64]Window{}
	err := db.ask(ctx, traceExtentsSQL, func(rows driver.Rows) error {
		var trace uint64
		var first, last int64
		err := rows.Scan(&trace, &first, &last)
		noted[trace] = Window{From: time.Unix(0, first), To: time.Unix(0, last)}
		return err
	}, map[string]any{"ids": hexIDs(ids)})
	for _, id := range ids {
		if w, ok := noted[tail(id)]; ok {
			extents[id] = w
		}
	}
	return extents, question("extents", err)
}

// tail is the part of an identifier by which extents are kept and shards divide.
func tail(id span.TraceID) uint64 { return binary.LittleEndian.Uint64(id[8:]) }

// NoteExtents notes between which times spans start that arrived.
func (db *DB) NoteExtents(ctx context.Context, touched []Touched) error {
	if len(touched) == 0 {
		return nil
	}
	return question("extents", db.insert(ctx, "trace_extents", []column{
		{"trace", "UInt64", each(touched, func(t *Touched) uint64 { return tail(t.Trace) })},
		{"first_ns", "Int64", each(touched, func(t *Touched) int64 { return t.First })},
		{"last_ns", "Int64", each(touched, func(t *Touched) int64 { return t.Last })},
	}))
}

//go:embed queries/extents_days.sql
var extentsDaysSQL string

//go:embed queries/extents_stored.sql
var extentsStoredSQL string

//go:embed queries/extents_raw.sql
var extentsRawSQL string

// ExtentsDay is one day of a table from which extents can be noted.
type ExtentsDay struct {
	Table string
	Day   int64 // its begin, nanoseconds since 1970
}

// ExtentsDays answers with all there is of which extents can be noted: hops, raw spans and what was judged of them, for they expire apart.
func (db *DB) ExtentsDays(ctx context.Context) ([]ExtentsDay, error) {
	var days []ExtentsDay
	for _, source := range []struct{ table, start string }{{"hops", "ts"}, {"verdicts", "ts"}, {"accounts", "ts"}, {rawTimes, "Start"}} {
		err := db.ask(ctx, extentsDaysSQL, func(rows driver.Rows) error {
			day := ExtentsDay{Table: source.table}
			err := rows.Scan(&day.Day)
			days = append(days, day)
			return err
		}, map[string]any{"table": source.table, "start": source.start})
		if err != nil && !(source.table == rawTimes && IsMissing(err)) {
			return nil, question("extents of what was judged before", err)
		}
	}
	return days, nil
}

const rawTimes = "otel_traces_trace_id_ts"

// FillExtents notes the extents of a day, for a database in which traces were judged before extents were kept. To repeat it is harmless.
func (db *DB) FillExtents(ctx context.Context, day ExtentsDay) error {
	sql, parameters := extentsStoredSQL, map[string]any{"from": day.Day, "to": day.Day + int64(24*time.Hour), "table": day.Table}
	if day.Table == rawTimes {
		sql = extentsRawSQL
		delete(parameters, "table")
	}
	return question("extents of what was judged before", db.run(ctx, sql, parameters))
}

// HasExtents reports whether anything is noted.
func (db *DB) HasExtents(ctx context.Context) (has bool, err error) {
	err = db.ask(ctx, "SELECT 1 FROM trace_extents LIMIT 1", func(driver.Rows) error { has = true; return nil }, nil)
	return has, question("extents", err)
}

// rawExtents answers with windows, in whole seconds, that hold the starts of all spans that a table of raw spans has of some
// traces; of none where their times are not kept.
func (db *DB) rawExtents(ctx context.Context, table *Attached, ids []span.TraceID) (map[span.TraceID]Window, error) {
	extents := map[span.TraceID]Window{}
	err := db.ask(ctx, traceTimesSQL, func(rows driver.Rows) error {
		id, first, last, err := scanTimes(rows)
		extents[id] = Window{From: time.Unix(first, 0), To: time.Unix(last+1, 0)}
		return err
	}, map[string]any{"ids": hexIDs(ids), "database": table.Database, "times": table.Table + "_trace_id_ts"})
	if IsMissing(err) {
		return nil, nil
	}
	return extents, err
}

func scanTimes(rows driver.Rows) (id span.TraceID, first, last int64, err error) {
	var trace string
	if err = rows.Scan(&trace, &first, &last); err == nil {
		id, err = span.ParseTraceID(trace)
	}
	return id, first, last, err
}

// Union is the least window that holds both; the zero window holds nothing.
func (w Window) Union(other Window) Window {
	switch {
	case w == Window{}:
		return other
	case other == Window{}:
		return w
	}
	if other.From.Before(w.From) {
		w.From = other.From
	}
	if other.To.After(w.To) {
		w.To = other.To
	}
	return w
}
