package storage

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// maxTouched bounds the buckets of one answer.
const maxTouched = 2_000_000

// Minute is one minute of which hops arrived, and how many.
type Minute struct {
	At   time.Time
	Hops uint64
}

//go:embed queries/touched_minutes.sql
var touchedMinutesSQL string

// TouchedMinutes answers with the minutes of the entries that arrived in the window, oldest first. Hours that were first
// computed before frozen are left out.
func (db *DB) TouchedMinutes(ctx context.Context, w Window, frozen time.Time) ([]Minute, error) {
	var answer []Minute
	err := db.ask(ctx, touchedMinutesSQL, func(rows driver.Rows) error {
		var at int64
		var m Minute
		err := rows.Scan(&at, &m.Hops)
		m.At = time.Unix(0, at).UTC()
		answer = append(answer, m)
		return err
	}, w.arrival(map[string]any{"frozen": frozen.UnixMilli(), "limit": maxTouched}))
	return answer, question("touched minutes", err)
}

//go:embed queries/roll_minutes.sql
var rollMinutesSQL string

// RollMinutes computes minutes, given in order, anew from hops. Repeated, it changes nothing.
func (db *DB) RollMinutes(ctx context.Context, minutes []time.Time, version time.Time) error {
	if len(minutes) == 0 {
		return nil
	}
	return question("rollup by the minute", db.run(ctx, rollMinutesSQL, map[string]any{
		"from": minutes[0].UnixNano(), "to": minutes[len(minutes)-1].Add(time.Minute).UnixNano(),
		"minutes": starts(minutes), "version": uint64(version.UnixNano()),
	}))
}

//go:embed queries/touched_buckets.sql
var touchedBucketsSQL string

// shorter is what each rollup is made of, and the length of its buckets.
var shorter = map[Step]struct {
	source Step
	width  time.Duration
}{
	StepHours: {StepMinutes, time.Hour}, StepDays: {StepHours, 24 * time.Hour},
	StepTallyHours: {StepStretches, time.Hour}, StepTallyDays: {StepTallyHours, 24 * time.Hour},
}

// TouchedBuckets answers with the hours or days of which the shorter rollup has versions after since, oldest first.
func (db *DB) TouchedBuckets(ctx context.Context, step Step, since time.Time) ([]time.Time, error) {
	var answer []time.Time
	err := db.ask(ctx, touchedBucketsSQL, func(rows driver.Rows) error {
		var at int64
		err := rows.Scan(&at)
		answer = append(answer, time.Unix(0, at).UTC())
		return err
	}, map[string]any{
		"source": string(shorter[step].source), "width": int64(shorter[step].width), "since": uint64(max(since.UnixNano(), 0)), "limit": maxTouched,
	})
	return answer, question("touched buckets of "+string(step), err)
}

//go:embed queries/roll_buckets.sql
var rollBucketsSQL string

// RollBuckets computes hours or days, given in order, anew from the shorter rollup. Repeated, it changes nothing.
func (db *DB) RollBuckets(ctx context.Context, step Step, buckets []time.Time, version time.Time) error {
	if len(buckets) == 0 {
		return nil
	}
	width := shorter[step].width
	return question(string(step), db.run(ctx, rollBucketsSQL, map[string]any{
		"target": string(step), "source": string(shorter[step].source), "width": int64(width),
		"from": buckets[0].UnixNano(), "to": buckets[len(buckets)-1].Add(width).UnixNano(),
		"buckets": starts(buckets), "version": uint64(version.UnixNano()),
	}))
}

func starts(buckets []time.Time) []int64 {
	list := make([]int64, len(buckets))
	for i, at := range buckets {
		list[i] = at.UnixNano()
	}
	return list
}
