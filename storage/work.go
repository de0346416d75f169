package storage

import (
	"context"
	_ "embed"
	"maps"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/span"
)

// Step is one step of the worker.
type Step string

// The steps: findings per trace, and the rollups by the length of their buckets.
const (
	StepVerdicts Step = "verdicts"
	StepMinutes  Step = "rollup_1m"
	StepHours    Step = "rollup_1h"
	StepDays     Step = "rollup_1d"
	// The tallies: their buckets, and by arrival what hours have of verdicts and accounts.
	StepStretches  Step = "tally_5m"
	StepTallyHours Step = "tally_1h"
	StepTallyDays  Step = "tally_1d"
	StepFindings   Step = "tally_verdicts"
	StepAccounts   Step = "tally_accounts"
	// StepExtents is when the extents of traces began to be kept.
	StepExtents Step = "extents"
	// StepLimits is when hidden limits were last looked for; StepOffsets up to where calls told of clocks.
	StepLimits  Step = "limits"
	StepOffsets Step = "offsets"
)

//go:embed queries/progress.sql
var progressSQL string

// Progress answers with the watermark of each step that has one. For verdicts and minutes everything that was ingested before
// it is done, as for stretches; for findings and accounts everything that was judged before it; for hours and days everything that the
// shorter rollup held in versions up to it. That of verdicts is what all
// shards of some division have done.
func (db *DB) Progress(ctx context.Context) (map[Step]time.Time, error) {
	answer := map[Step]time.Time{}
	err := db.ask(ctx, progressSQL, func(rows driver.Rows) error {
		var step string
		var at int64
		err := rows.Scan(&step, &at)
		answer[Step(step)] = time.Unix(0, at).UTC()
		return err
	}, nil)
	if at, ok := judgedByAll(answer); ok {
		answer[StepVerdicts] = at
	}
	return answer, question("progress of the worker", err)
}

// SetProgress notes the watermark of a step.
func (db *DB) SetProgress(ctx context.Context, step Step, at time.Time) error {
	return question("progress of the worker", db.insert(ctx, "worker_progress", []column{
		{"step", "String", []string{string(step)}},
		{"at", "Int64", []int64{at.UnixNano()}},
	}))
}

// Arrival is one second in which hops arrived.
type Arrival struct {
	Second time.Time
	Hops   uint64
}

//go:embed queries/arrivals.sql
var arrivalsSQL string

// Arrivals answers with the seconds in which hops arrived, oldest first, at most limit of them. The window is one of arrival.
func (db *DB) Arrivals(ctx context.Context, w Window, limit int) ([]Arrival, error) {
	var answer []Arrival
	err := db.ask(ctx, arrivalsSQL, func(rows driver.Rows) error {
		var second int64
		var a Arrival
		err := rows.Scan(&second, &a.Hops)
		a.Second = time.Unix(second, 0).UTC()
		answer = append(answer, a)
		return err
	}, w.arrival(map[string]any{"limit": limit}))
	return answer, question("arrivals", err)
}

// arrival gives the window in milliseconds, as arrivals are stamped.
func (w Window) arrival(more map[string]any) map[string]any {
	parameters := map[string]any{"from": w.From.UnixMilli(), "to": w.To.UnixMilli()}
	maps.Copy(parameters, more)
	return parameters
}

// Touched is a trace of which something arrived: how much, and when the first and the last of it starts, nanoseconds since 1970.
type Touched struct {
	Trace       span.TraceID
	Spans       uint64
	First, Last int64
}

// Window is when the spans start.
func (t *Touched) Window() Window {
	return Window{From: time.Unix(0, t.First), To: time.Unix(0, t.Last)}
}

//go:embed queries/touched_traces.sql
var touchedTracesSQL string

//go:embed queries/touched_raw.sql
var touchedRawSQL string

// Arrivals says what of traces arrived: hops in one window, raw spans in another, of whole seconds, for so their arrival is kept. What arrived
// later, until a time, touches no trace, but tells where the spans lie of one that is touched.
type Arrivals struct {
	Hops, Raw Window
	Until     time.Time
}

// TouchedTraces answers with the traces of the shard of which something arrived, neighbours in time together. Raw spans in a table that
// somebody else made do not say when they arrived; their hops do.
func (db *DB) TouchedTraces(ctx context.Context, arrived Arrivals, shard Shard, limit int) ([]Touched, error) {
	var answer []Touched
	seen := map[span.TraceID]int{}
	scan := func(rows driver.Rows) error {
		var id string
		var t Touched
		if err := rows.Scan(&id, &t.Spans, &t.First, &t.Last); err != nil {
			return err
		}
		var err error
		if t.Trace, err = span.ParseTraceID(id); err != nil {
			return nil // not from OTLP: no hop and no statement has it either
		}
		at, known := seen[t.Trace]
		if !known && t.Spans == 0 {
			return nil
		}
		if !known {
			seen[t.Trace] = len(answer)
			answer = append(answer, t)
			return nil
		}
		a := &answer[at]
		a.Spans, a.First, a.Last = max(a.Spans, t.Spans), min(a.First, t.First), max(a.Last, t.Last)
		return nil
	}
	parameters := arrived.Hops.arrival(map[string]any{"until": arrived.Until.UnixMilli(), "shard": shard.Number - 1, "shards": shard.Of, "limit": limit})
	if err := db.ask(ctx, touchedTracesSQL, scan, parameters); err != nil {
		return nil, question("touched traces", err)
	}
	parameters["from"], parameters["to"], parameters["until"] = arrived.Raw.From.Unix(), arrived.Raw.To.Unix(), arrived.Until.Unix()+1
	if err := db.ask(ctx, touchedRawSQL, scan, parameters); err != nil && !IsMissing(err) && !lacksColumn(err) {
		return nil, question("touched raw spans", err)
	}
	return answer, nil
}

// run executes one statement that writes, with more settings if there are any.
func (db *DB) run(ctx context.Context, sql string, parameters map[string]any, more ...clickhouse.Settings) error {
	sql, args, settings := bind(sql, parameters, db.guards())
	settings["max_partitions_per_insert_block"] = 0
	for _, m := range more {
		maps.Copy(settings, m)
	}
	return db.conn.Exec(db.limited(ctx, settings), sql, args...)
}
