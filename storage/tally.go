package storage

import (
	"context"
	"embed"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Tallies are the rollups of every report but margins: what each subject counts and measures, in stretches of five minutes, hours and
// days. A fact is one value of one span or trace; the facts of a subject come from one statement, which the worker makes buckets of,
// and reports read the time of which no bucket is ready.

//go:embed queries/facts_*.sql queries/tally_*.sql queries/roll_tally.sql
var tallyFiles embed.FS

func tallyFile(name string) string {
	text, err := tallyFiles.ReadFile("queries/" + name + ".sql")
	if err != nil {
		panic(err) // names are those of the folder
	}
	return string(text)
}

// Origin is the table that the facts of a subject come from.
type Origin string

// The origins. What is judged is counted by the hour at least: it is known later than hops.
const (
	OfHops     Origin = "hops"
	OfVerdicts Origin = "verdicts"
	OfAccounts Origin = "accounts"
)

// subjects of the tallies by what their facts come from.
var subjects = map[Origin][]string{
	OfHops:     {"calls", "entries", "attempts", "phases", "stops", "edges", "services"},
	OfVerdicts: {"findings"},
	OfAccounts: {"facets", "spending"},
}

// judged reports whether the facts of a subject come from what a worker judged.
func judged(subject string) bool { return !slices.Contains(subjects[OfHops], subject) }

// Stretch is the shortest bucket of a tally.
const Stretch = 5 * time.Minute

// factsOf is the statement of a subject's facts by buckets, of spans for which a condition on ts holds; near is the same condition an hour
// wider.
func factsOf(subject, when, near string) string {
	facts := strings.NewReplacer("@when", "("+when+")", "@near", "("+near+")").Replace(tallyFile("facts_" + subject))
	return strings.NewReplacer("@facts", facts, "@kept", keptSums).Replace(tallyFile("tally_facts"))
}

// keptSums keeps sums that are not whole to 41 bits, so that they are the same in whatever order facts were read.
const keptSums = "x -> if(x = round(x), x, reinterpretAsFloat64(bitAnd(reinterpretAsUInt64(x) + 2048, bitNot(toUInt64(4095))))) AS kept"

// What is rolled is read by hours, which the sort key can find, also where buckets lie far apart, and by parts of the traces.
const (
	rolledPart = " AND cityHash64(trace_id) % {parts:UInt64} = {part:UInt64}"
	rolledWhen = "ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')" +
		" AND toStartOfHour(ts) IN {hours:Array(DateTime('UTC'))} AND toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {width:Int64} IN {buckets:Array(Int64)}" + rolledPart
	rolledNear = "ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1) AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC') + toIntervalHour(1)" +
		" AND toStartOfHour(ts) IN {near_hours:Array(DateTime('UTC'))}" + rolledPart
)

// hoursOf are the hours of buckets, and so many around each.
func hoursOf(buckets []time.Time, around int) []string {
	var hours []string
	for _, at := range buckets {
		for i := -around; i <= around; i++ {
			if hour := at.Truncate(time.Hour).Add(time.Duration(i) * time.Hour); hour.Unix() >= 0 {
				hours = append(hours, hour.UTC().Format(time.DateTime))
			}
		}
	}
	slices.Sort(hours)
	return slices.Compact(hours)
}

// Bounds of one statement that counts: rows that facts come from, and in how many parts of the traces a bucket with more is counted.
const (
	tallyRows  = 1_000_000
	tallyParts = 200
)

// Rows of tallies with the scheme 1 are whole; parts are kept in others, which no report reads, until they are put together.
const (
	wholeScheme = 1
	partScheme  = 2
)

// rollTally counts buckets, given in order, of an origin's subjects anew. Repeated, it changes nothing. However much a bucket holds, a
// statement counts no more than it has memory for.
func (db *DB) rollTally(ctx context.Context, origin Origin, target Step, buckets []time.Time, width time.Duration, version time.Time) error {
	batches, err := db.batches(ctx, origin, buckets, width)
	if err != nil {
		return err
	}
	for _, b := range batches {
		for _, subject := range subjects[origin] {
			if err := db.rollSubject(ctx, subject, target, b.buckets, width, version, b.parts); err != nil {
				return question("tally of "+subject, err)
			}
		}
	}
	return nil
}

// batch is buckets that one statement has memory for, or one bucket to look at in parts of the traces.
type batch struct {
	buckets []time.Time
	parts   uint64
}

// batches divides buckets, given in order, by how many rows of an origin they hold.
func (db *DB) batches(ctx context.Context, origin Origin, buckets []time.Time, width time.Duration) (all []batch, err error) {
	if len(buckets) == 0 {
		return nil, nil
	}
	held, err := db.heldIn(ctx, origin, buckets, width)
	if err != nil {
		return nil, err
	}
	for len(buckets) > 0 {
		n, rows := 0, uint64(0)
		for n < len(buckets) && (n == 0 || rows+held[buckets[n].UnixNano()] <= db.tallyRows) {
			rows += held[buckets[n].UnixNano()]
			n++
		}
		all = append(all, batch{buckets[:n], min(max((rows+db.tallyRows-1)/db.tallyRows, 1), tallyParts)})
		buckets = buckets[n:]
	}
	return all, nil
}

//go:embed queries/tally_held.sql
var tallyHeldSQL string

// heldIn answers with how many rows the facts of each bucket come from.
func (db *DB) heldIn(ctx context.Context, origin Origin, buckets []time.Time, width time.Duration) (map[int64]uint64, error) {
	held := map[int64]uint64{}
	parameters := bucketParameters(buckets, width)
	parameters["source"] = string(origin)
	err := db.ask(ctx, tallyHeldSQL, func(rows driver.Rows) error {
		var at int64
		var n uint64
		err := rows.Scan(&at, &n)
		held[at] = n
		return err
	}, parameters)
	return held, question("size of buckets", err)
}

func bucketParameters(buckets []time.Time, width time.Duration) map[string]any {
	return map[string]any{
		"width": int64(width), "from": buckets[0].UnixNano(), "to": buckets[len(buckets)-1].Add(width).UnixNano(),
		"buckets": starts(buckets), "hours": hoursOf(buckets, 0), "near_hours": hoursOf(buckets, 1),
	}
}

//go:embed queries/roll_tally_parts.sql
var rollTallyPartsSQL string

// inMemory keeps groups in memory, because they are few: what joins hold, which counts too, would send each block of them to disk.
var inMemory = clickhouse.Settings{"max_bytes_before_external_group_by": 0}

// rollSubject counts buckets of a subject in one statement, or one bucket in parts, which are then put together.
func (db *DB) rollSubject(ctx context.Context, subject string, target Step, buckets []time.Time, width time.Duration, version time.Time, parts uint64) error {
	sql := strings.Replace(tallyFile("roll_tally"), "@tally", factsOf(subject, rolledWhen, rolledNear), 1)
	parameters := bucketParameters(buckets, width)
	parameters["target"], parameters["subject"], parameters["version"] = string(target), subject, uint64(version.UnixNano())
	if parts <= 1 {
		parameters["parts"], parameters["part"], parameters["scheme"] = 1, 0, wholeScheme
		return db.run(ctx, sql, parameters, inMemory)
	}
	parameters["version"] = uint64(version.UnixNano() - 1)
	for part := range parts {
		parameters["parts"], parameters["part"], parameters["scheme"] = parts, part, partScheme+part
		if err := db.run(ctx, sql, parameters, inMemory); err != nil {
			return err
		}
	}
	parameters["version"] = uint64(version.UnixNano())
	return db.run(ctx, strings.Replace(rollTallyPartsSQL, "@kept", keptSums, 1), parameters)
}

// RollStretches counts stretches, given in order, anew from hops. Those that begin before a time are counted by whole hours, because
// their hours cannot be made of stretches any more.
func (db *DB) RollStretches(ctx context.Context, stretches []time.Time, before, version time.Time) error {
	n, _ := slices.BinarySearchFunc(stretches, before, func(at, before time.Time) int { return at.Truncate(time.Hour).Compare(before) })
	var hours []time.Time
	for _, at := range stretches[:n] {
		hours = append(hours, at.Truncate(time.Hour))
	}
	if err := db.rollTally(ctx, OfHops, StepTallyHours, slices.Compact(hours), time.Hour, version); err != nil {
		return err
	}
	return db.rollTally(ctx, OfHops, StepStretches, stretches[n:], Stretch, version)
}

// RollJudged counts hours, given in order, anew from verdicts or accounts.
func (db *DB) RollJudged(ctx context.Context, origin Origin, hours []time.Time, version time.Time) error {
	return db.rollTally(ctx, origin, StepTallyHours, hours, time.Hour, version)
}

//go:embed queries/touched_tally.sql
var touchedTallySQL string

// TouchedStretch is one stretch of which hops have to be counted anew, and how many.
type TouchedStretch struct {
	At   time.Time
	Hops uint64
}

// TouchedTally answers with the stretches that what arrived in the window changes, oldest first. Hours that were first computed before
// frozen are left out.
func (db *DB) TouchedTally(ctx context.Context, w Window, frozen time.Time) ([]TouchedStretch, error) {
	var answer []TouchedStretch
	err := db.ask(ctx, touchedTallySQL, func(rows driver.Rows) error {
		var s TouchedStretch
		err := rows.Scan(instant{&s.At}, &s.Hops)
		answer = append(answer, s)
		return err
	}, w.arrival(map[string]any{"width": int64(Stretch), "frozen": frozen.UnixMilli(), "limit": maxTouched}))
	return answer, question("touched stretches", err)
}

//go:embed queries/touched_judged.sql
var touchedJudgedSQL string

// TouchedJudged answers with the hours of which verdicts or accounts were written in the window, oldest first.
func (db *DB) TouchedJudged(ctx context.Context, origin Origin, w Window, frozen time.Time) ([]time.Time, error) {
	reach := time.Duration(0)
	if origin == OfVerdicts {
		reach = time.Hour
	}
	var answer []time.Time
	err := db.ask(ctx, touchedJudgedSQL, func(rows driver.Rows) error {
		var at time.Time
		err := rows.Scan(instant{&at})
		answer = append(answer, at)
		return err
	}, w.arrival(map[string]any{
		"source": string(origin), "reach": int64(reach), "frozen": frozen.UnixMilli(), "subject": subjects[origin][0], "limit": maxTouched,
	}))
	return answer, question("touched hours of "+string(origin), err)
}

//go:embed queries/roll_tally_buckets.sql
var rollTallyBucketsSQL string

// RollTally counts hours or days, given in order, anew from the shorter tally: hours of what comes from hops, days of all.
func (db *DB) RollTally(ctx context.Context, step Step, buckets []time.Time, version time.Time) error {
	if len(buckets) == 0 {
		return nil
	}
	made := slices.Clone(subjects[OfHops])
	if step == StepTallyDays {
		made = slices.Concat(made, subjects[OfVerdicts], subjects[OfAccounts])
	}
	width := shorter[step].width
	return question(string(step), db.run(ctx, strings.Replace(rollTallyBucketsSQL, "@kept", keptSums, 1), map[string]any{
		"target": string(step), "source": string(shorter[step].source), "width": int64(width), "subjects": made,
		"from": buckets[0].UnixNano(), "to": buckets[len(buckets)-1].Add(width).UnixNano(),
		"buckets": starts(buckets), "version": uint64(version.UnixNano()),
	}))
}
