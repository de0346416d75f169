package storage

import (
	"cmp"
	"context"
	_ "embed"
	"maps"
	"math"
	"slices"
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

// FindOffsets learns the offsets of clocks in stretches of time, given in order. However many calls there are, a statement looks at no
// more than it has memory for.
func (db *DB) FindOffsets(ctx context.Context, stretches []time.Time) ([]skew.Offset, error) {
	batches, err := db.batches(ctx, OfHops, stretches, skew.Width)
	if err != nil {
		return nil, err
	}
	var answer []skew.Offset
	for _, b := range batches {
		pairs, err := db.exchanges(ctx, b)
		if err != nil {
			return nil, question("exchanges", err)
		}
		for _, p := range slices.SortedFunc(maps.Keys(pairs), clockPair.compare) {
			exchanges := make([]skew.Exchange, len(pairs[p]))
			for i, e := range pairs[p] {
				exchanges[i] = e.Exchange
			}
			if o, ok := skew.Fit(exchanges); ok {
				o.Pair, o.At = p.Pair, time.Unix(0, p.at).UTC()
				answer = append(answer, o)
			}
		}
	}
	return answer, nil
}

// clockPair is two machines in one stretch of time.
type clockPair struct {
	at int64
	skew.Pair
}

func (p clockPair) compare(q clockPair) int {
	return cmp.Or(cmp.Compare(p.at, q.at), cmp.Compare(p.Caller, q.Caller), cmp.Compare(p.Callee, q.Callee))
}

// hashed is an exchange and a hash of its call.
type hashed struct {
	id uint64
	skew.Exchange
}

func (h hashed) compare(other hashed) int {
	return cmp.Or(cmp.Compare(h.id, other.id), cmp.Compare(h.At, other.At), cmp.Compare(h.Low, other.Low), cmp.Compare(h.High, other.High))
}

// exchanges answers with what calls tell, of pairs of which one shows an offset. In parts, these pairs are found first: of all others,
// which are the most where clocks agree, nothing is kept.
func (db *DB) exchanges(ctx context.Context, b batch) (map[clockPair][]hashed, error) {
	pairs := map[clockPair][]hashed{}
	if b.parts == 1 {
		return pairs, db.eachPair(ctx, b, 0, skew.Least, skew.MinCalls, skew.MaxCalls, func(p clockPair, found []hashed) { pairs[p] = found })
	}
	for part := range b.parts {
		if err := db.eachPair(ctx, b, part, skew.Least, 1, 0, func(p clockPair, _ []hashed) { pairs[p] = nil }); err != nil {
			return nil, err
		}
	}
	for part := uint64(0); part < b.parts && len(pairs) > 0; part++ {
		err := db.eachPair(ctx, b, part, math.MinInt64/2, 1, skew.MaxCalls, func(p clockPair, found []hashed) {
			if known, ok := pairs[p]; ok {
				found = append(known, found...)
				slices.SortFunc(found, hashed.compare)
				pairs[p] = found[:min(len(found), skew.MaxCalls)]
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return pairs, nil
}

// eachPair gives the pairs of one part of the traces that have so few calls at least, one of which shows so much, and so many of the calls.
func (db *DB) eachPair(ctx context.Context, b batch, part uint64, least time.Duration, fewest, calls int, each func(clockPair, []hashed)) error {
	return db.ask(ctx, exchangesSQL, func(rows driver.Rows) error {
		var p clockPair
		var ids []uint64
		var made, lows, highs []int64
		if err := rows.Scan(&p.at, &p.Caller, &p.Callee, &ids, &made, &lows, &highs); err != nil {
			return err
		}
		found := make([]hashed, len(ids))
		for i := range ids {
			found[i] = hashed{ids[i], skew.Exchange{At: made[i], Low: lows[i], High: highs[i]}}
		}
		each(p, found)
		return nil
	}, over(b.buckets, map[string]any{
		"least": int64(least), "fewest": fewest, "calls": calls, "parts": b.parts, "part": part, "limit": maxPairs,
	}))
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
