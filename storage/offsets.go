package storage

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/limit"
	"github.com/laxity-dev/laxity/internal/skew"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
)

// maxPairs bounds the pairs of machines in one answer, over stretches of time.
const maxPairs = 200_000

//go:embed queries/touched_stretches.sql
var touchedStretchesSQL string

// TouchedStretches answers with the stretches of time for which clocks are compared and of which calls arrived in the window,
// oldest first.
func (db *DB) TouchedStretches(ctx context.Context, w Window) ([]Minute, error) {
	var answer []Minute
	err := db.ask(ctx, touchedStretchesSQL, func(rows driver.Rows) error {
		var at int64
		var m Minute
		err := rows.Scan(&at, &m.Hops)
		m.At = time.Unix(0, at).UTC()
		answer = append(answer, m)
		return err
	}, w.arrival(map[string]any{"width": int64(skew.Width), "limit": maxTouched}))
	return answer, question("touched stretches", err)
}

// over gives stretches, given in order, as parameters.
func over(stretches []time.Time, more map[string]any) map[string]any {
	parameters := map[string]any{
		"from": stretches[0].UnixNano(), "to": stretches[len(stretches)-1].Add(skew.Width).UnixNano(), "stretches": starts(stretches),
		"width": int64(skew.Width),
	}
	for name, value := range more {
		parameters[name] = value
	}
	return parameters
}

//go:embed queries/exchanges.sql
var exchangesSQL string

// FindOffsets learns the offsets of clocks in stretches of time, given in order.
func (db *DB) FindOffsets(ctx context.Context, stretches []time.Time) ([]skew.Offset, error) {
	if len(stretches) == 0 {
		return nil, nil
	}
	var answer []skew.Offset
	err := db.ask(ctx, exchangesSQL, func(rows driver.Rows) error {
		var at int64
		var pair skew.Pair
		var made, lows, highs []int64
		if err := rows.Scan(&at, &pair.Caller, &pair.Callee, &made, &lows, &highs); err != nil {
			return err
		}
		exchanges := make([]skew.Exchange, len(made))
		for i := range made {
			exchanges[i] = skew.Exchange{At: made[i], Low: lows[i], High: highs[i]}
		}
		if o, ok := skew.Fit(exchanges); ok {
			o.Pair, o.At = pair, time.Unix(0, at).UTC()
			answer = append(answer, o)
		}
		return nil
	}, over(stretches, map[string]any{"least": int64(skew.Least), "calls": skew.MaxCalls, "limit": maxPairs}))
	return answer, question("exchanges", err)
}

//go:embed queries/offsets.sql
var offsetsSQL string

// Offsets answers with the offsets that are kept of the time from one instant to another.
func (db *DB) Offsets(ctx context.Context, from, to time.Time) ([]skew.Offset, error) {
	var answer []skew.Offset
	err := db.ask(ctx, offsetsSQL, func(rows driver.Rows) error {
		var o skew.Offset
		var at, low, high int64
		var calls, agreeing uint64
		err := rows.Scan(&at, &o.Caller, &o.Callee, &low, &high, &calls, &agreeing)
		o.At, o.Low, o.High, o.Calls, o.Agreeing = time.Unix(0, at).UTC(), time.Duration(low), time.Duration(high), int(calls), int(agreeing)
		answer = append(answer, o)
		return err
	}, map[string]any{"from": from.Truncate(skew.Width).UnixNano(), "to": to.UnixNano(), "limit": maxPairs})
	return answer, question("offsets", err)
}

// WriteOffsets writes offsets that were learned and takes back those that no longer hold.
func (db *DB) WriteOffsets(ctx context.Context, found, taken []skew.Offset) error {
	rows := append(append(make([]skew.Offset, 0, len(found)+len(taken)), taken...), found...)
	if len(rows) == 0 {
		return nil
	}
	deleted := make([]uint8, len(rows))
	for i := range taken {
		deleted[i] = 1
	}
	return question("offsets", db.insert(ctx, "offsets", []column{
		{"at", "DateTime('UTC')", each(rows, func(o *skew.Offset) time.Time { return o.At })},
		{"caller", "String", each(rows, func(o *skew.Offset) string { return o.Caller })},
		{"callee", "String", each(rows, func(o *skew.Offset) string { return o.Callee })},
		{"low_ns", "Int64", each(rows, func(o *skew.Offset) int64 { return int64(o.Low) })},
		{"high_ns", "Int64", each(rows, func(o *skew.Offset) int64 { return int64(o.High) })},
		{"calls", "UInt64", each(rows, func(o *skew.Offset) uint64 { return uint64(o.Calls) })},
		{"agreeing", "UInt64", each(rows, func(o *skew.Offset) uint64 { return uint64(o.Agreeing) })},
		{"is_deleted", "UInt8", deleted},
	}))
}

//go:embed queries/offset_traces.sql
var offsetTracesSQL string

// OffsetTraces answers with the newest traces with calls in some stretches of time, given in order, that were cut.
func (db *DB) OffsetTraces(ctx context.Context, stretches []time.Time, limit int) ([]Touched, error) {
	if len(stretches) == 0 {
		return nil, nil
	}
	return db.touched(ctx, "traces with cut calls", offsetTracesSQL, over(stretches, map[string]any{"limit": limit}))
}

// Learned adds to options what was learned from many traces and helps to judge these spans.
func (db *DB) Learned(ctx context.Context, spans []span.Span, opts verdict.Options) (verdict.Options, error) {
	kept, err := db.KeptLimits(ctx)
	if err != nil {
		return opts, err
	}
	limits := make([]limit.Limit, len(kept))
	for i := range kept {
		limits[i] = kept[i].Limit
	}
	opts.Hidden = limit.Hidden(limits)
	from, to, ok := reach(spans)
	if !ok {
		return opts, nil
	}
	offsets, err := db.Offsets(ctx, from, to)
	opts.Offsets = skew.NewTable(offsets)
	return opts, err
}

// reach is the time in which spans start.
func reach(spans []span.Span) (from, to time.Time, ok bool) {
	for i := range spans {
		at := time.Unix(0, max(spans[i].Start, 0)).UTC()
		if i == 0 || at.Before(from) {
			from = at
		}
		if i == 0 || at.After(to) {
			to = at
		}
	}
	return from, to, len(spans) > 0
}
