package load

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/storage"
)

//go:embed sql/traces.sql
var tracesSQL string

//go:embed sql/hops.sql
var hopsSQL string

//go:embed sql/accounts.sql
var accountsSQL string

//go:embed sql/verdicts.sql
var verdictsSQL string

//go:embed sql/held.sql
var heldSQL string

// Held is what a database holds.
type Held struct {
	// Filled counts the hops of an earlier fill, Other everything else.
	Filled, Other uint64
	// Last is when the newest hop began.
	Last time.Time
}

// Hold answers with what the database holds.
func Hold(ctx context.Context, store *storage.DB) (held Held, err error) {
	err = store.Query(ctx, heldSQL, nil, func(row storage.Row) error {
		var last int64
		err := row.Scan(&held.Filled, &held.Other, &last)
		held.Last = time.Unix(0, last).UTC()
		return err
	})
	return held, err
}

// Prepare fills a database unless it was filled before, and returns the plan of what it holds: that of an earlier fill ends on an
// earlier day. A database that holds other data is refused unless that is meant.
func Prepare(ctx context.Context, store *storage.DB, plan Plan, intoOther bool, progress io.Writer) (Plan, error) {
	held, err := Hold(ctx, store)
	switch {
	case err != nil:
		return plan, err
	case held.Other > 0 && !intoOther:
		return plan, fmt.Errorf("the database holds %d other hops or raw spans: name another database in the DSN, or say --into-other-data", held.Other)
	case held.Filled == uint64(plan.Hops()):
		fmt.Fprintf(progress, "filled before: %d hops up to %s\n", held.Filled, held.Last.Format(time.DateOnly))
		return NewPlan(plan.Hops(), held.Last.Add(day))
	case held.Filled > 0:
		return plan, fmt.Errorf("the database holds an earlier fill of %d hops, whole or not, not %d: name another database in the DSN", held.Filled, plan.Hops())
	}
	return plan, Fill(ctx, store, plan, progress)
}

// Bounds of one statement: hops that are made, or that minutes are made of. Buckets at once are those of the worker.
const (
	hopsAtOnce    = 1_000_000
	minutesAtOnce = 24 * 60
	hoursAtOnce   = 7 * 24
)

// Fill makes the rows of a plan on the engine itself, some days at a time, then the rollups by the statements of the worker, and notes
// that all of it is worked through. Progress is written as lines.
func Fill(ctx context.Context, store *storage.DB, plan Plan, progress io.Writer) error {
	begin := time.Now()
	atOnce := max(hopsAtOnce/(plan.PerDay*hopsPerTrace), 1)
	for first := 0; first < plan.days(); first += atOnce {
		end := min(first+atOnce, plan.days())
		for _, part := range []struct{ noun, sql string }{{"hops", hopsSQL}, {"accounts", accountsSQL}, {"verdicts", verdictsSQL}} {
			if err := store.Run(ctx, strings.ReplaceAll(part.sql, "@traces", tracesSQL), plan.parameters(first, end)); err != nil {
				return fmt.Errorf("%s from day %d on: %w", part.noun, first, err)
			}
		}
		if err := roll(ctx, store, plan, first, end); err != nil {
			return fmt.Errorf("rollups from day %d on: %w", first, err)
		}
		fmt.Fprintf(progress, "%d of %d days: %d hops after %s\n", end, plan.days(), end*plan.PerDay*hopsPerTrace, time.Since(begin).Round(time.Second))
	}
	return settle(ctx, store)
}

// roll computes the rollups of some days.
func roll(ctx context.Context, store *storage.DB, plan Plan, first, end int) error {
	engine, err := store.Engine(ctx)
	if err != nil {
		return err
	}
	start, days := plan.From.Add(time.Duration(first)*day), end-first
	atOnce := min(max(minutesAtOnce*hopsAtOnce/(plan.PerDay*hopsPerTrace), 1), minutesAtOnce)
	for minutes := range slices.Chunk(series(start, time.Minute, days*24*60), atOnce) {
		if err := store.RollMinutes(ctx, minutes, engine.Now); err != nil {
			return err
		}
	}
	for hours := range slices.Chunk(series(start, time.Hour, days*24), hoursAtOnce) {
		if err := store.RollBuckets(ctx, storage.StepHours, hours, engine.Now); err != nil {
			return err
		}
	}
	if err := store.RollBuckets(ctx, storage.StepDays, series(start, day, days), engine.Now); err != nil {
		return err
	}
	return tally(ctx, store, start, days, engine.Now)
}

// tally counts the tallies of some days, each by itself.
func tally(ctx context.Context, store *storage.DB, start time.Time, days int, now time.Time) error {
	whole := now.Add(storage.Slack - migrations.DefaultMinutes)
	for i := range days {
		begin := start.Add(time.Duration(i) * day)
		stretches, hours := series(begin, storage.Stretch, int(day/storage.Stretch)), series(begin, time.Hour, 24)
		if err := store.RollStretches(ctx, stretches, whole, now); err != nil {
			return err
		}
		for _, origin := range []storage.Origin{storage.OfVerdicts, storage.OfAccounts} {
			if err := store.RollJudged(ctx, origin, hours, now); err != nil {
				return err
			}
		}
		if !begin.Before(whole.Truncate(day)) {
			if err := store.RollTally(ctx, storage.StepTallyHours, recent(hours, whole), now); err != nil {
				return err
			}
		}
		if err := store.RollTally(ctx, storage.StepTallyDays, []time.Time{begin}, now); err != nil {
			return err
		}
	}
	return nil
}

// recent leaves out what begins before a time.
func recent(hours []time.Time, from time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(hours), func(at time.Time) bool { return at.Before(from) })
}

func series(start time.Time, width time.Duration, n int) []time.Time {
	all := make([]time.Time, n)
	for i := range all {
		all[i] = start.Add(time.Duration(i) * width)
	}
	return all
}

// settle notes that the worker has nothing to do. Its watermarks exclude their own millisecond.
func settle(ctx context.Context, store *storage.DB) error {
	engine, err := store.Engine(ctx)
	if err != nil {
		return err
	}
	at := engine.Now.Truncate(time.Millisecond).Add(time.Millisecond)
	for _, step := range []storage.Step{storage.StepVerdicts, storage.StepMinutes, storage.StepHours, storage.StepDays, storage.StepLimits, storage.StepOffsets,
		storage.StepStretches, storage.StepTallyHours, storage.StepTallyDays, storage.StepFindings, storage.StepAccounts} {
		if err := store.SetProgress(ctx, step, at); err != nil {
			return err
		}
	}
	return nil
}
