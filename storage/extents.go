package storage

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/span"
)

//go:embed queries/trace_times.sql
var traceTimesSQL string

//go:embed queries/hop_times.sql
var hopTimesSQL string

// Extents answers with windows that hold the starts of all hops, and of all raw spans in our own table, of some traces. A trace of
// which neither has anything is not in the answer. It costs a look at every hop there is, whether asked for one trace or many.
func (db *DB) Extents(ctx context.Context, ids []span.TraceID) (map[span.TraceID]Window, error) {
	extents := map[span.TraceID]Window{}
	if len(ids) == 0 {
		return extents, nil
	}
	err := db.ask(ctx, hopTimesSQL, func(rows driver.Rows) error {
		id, first, last, err := scanTimes(rows)
		extents[id] = Window{From: time.Unix(0, first), To: time.Unix(0, last)}
		return err
	}, map[string]any{"ids": hexIDs(ids)})
	if err != nil {
		return nil, question("times of hops", err)
	}
	raw, err := db.rawExtents(ctx, db.own(), ids)
	if err != nil {
		return nil, question("times of raw spans", err)
	}
	for id, w := range raw {
		extents[id] = extents[id].Union(w)
	}
	return extents, nil
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
