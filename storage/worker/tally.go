package worker

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/storage"
)

// stretches counts the tallies anew of the stretches that what arrived changes. Much is looked through before they are counted: at 20,000
// spans/s a stretch would be counted thirty times in the slices of other steps.
func (p *pass) stretches(ctx context.Context, horizon time.Time) error {
	from, ok := p.progress[storage.StepStretches]
	if !ok {
		from = time.Unix(0, 0)
	}
	for from.Before(horizon) && !p.tired() {
		if err := ctx.Err(); err != nil {
			return err
		}
		due := map[int64]uint64{}
		to := from
		for n := 0; n < tallySlices && to.Before(horizon); n++ {
			slice, err := p.slice(ctx, to, horizon, tallySliceHops)
			if err != nil {
				return err
			}
			var touched []storage.TouchedStretch
			err = p.do("touched stretches", func() (err error) {
				touched, err = p.store.TouchedTally(ctx, slice, p.now.Add(storage.Slack-p.config.KeepHops))
				return err
			})
			if err != nil {
				return err
			}
			for _, s := range touched {
				due[s.At.UnixNano()] += s.Hops
			}
			to = slice.To
		}
		if err := p.rollStretches(ctx, due); err != nil {
			return err
		}
		if err := p.advance(ctx, storage.StepStretches, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// rollStretches counts stretches, of which so many hops arrived, some at a time; those so old that stretches of their hour may be dropped by
// whole hours.
func (p *pass) rollStretches(ctx context.Context, due map[int64]uint64) error {
	whole := p.now.Add(storage.Slack - p.config.KeepMinutes)
	var batch []time.Time
	hops := uint64(0)
	roll := func() error {
		err := p.do("roll stretches", func() error { return p.store.RollStretches(ctx, batch, whole, p.version) })
		p.stats.stretches.Add(int64(len(batch)))
		batch, hops = nil, 0
		return err
	}
	for _, at := range slices.Sorted(maps.Keys(due)) {
		if len(batch) > 0 && (len(batch) == tallyStretches || hops+due[at] > batchHops) {
			if err := roll(); err != nil {
				return err
			}
		}
		batch = append(batch, time.Unix(0, at).UTC())
		hops += due[at]
	}
	if len(batch) == 0 {
		return nil
	}
	return roll()
}

// What is looked through at a time for stretches: hops that arrived, and how often before stretches are counted.
const (
	tallySliceHops = 1_000_000
	tallySlices    = 8
)

// tallyStretches and tallyHours are how many stretches or hours are counted at a time, at most.
const (
	tallyStretches = 24 * 12
	tallyHours     = 24
)

// judged counts the hours anew of which verdicts or accounts were written before the horizon, a day of writing at a time, of time in which nothing
// was judged more.
func (p *pass) judged(ctx context.Context, step storage.Step, origin storage.Origin, horizon time.Time) error {
	from, ok := p.progress[step]
	if oldest := p.now.Add(-p.config.KeepVerdicts - storage.Slack); !ok || from.Before(oldest) {
		from = oldest
	}
	const day = 24 * time.Hour
	long := day
	for from.Before(horizon) && !p.tired() {
		slice := storage.Window{From: from, To: earlier(from.Add(long), horizon)}
		var hours []time.Time
		err := p.do("touched "+string(origin), func() (err error) {
			hours, err = p.store.TouchedJudged(ctx, origin, slice, p.now.Add(storage.Slack-p.config.KeepVerdicts))
			return err
		})
		if err != nil {
			return err
		}
		// Of a new database nearly all days are empty.
		if long = min(2*long, 8*day); len(hours) > 0 {
			long = day
		}
		for batch := range slices.Chunk(hours, tallyHours) {
			if err := p.do("roll "+string(origin), func() error { return p.store.RollJudged(ctx, origin, batch, p.version) }); err != nil {
				return err
			}
			p.stats.buckets.Add(int64(len(batch)))
		}
		if err := p.advance(ctx, step, slice.To); err != nil {
			return err
		}
		from = slice.To
	}
	return nil
}

// maxTallying is how long one pass counts, but for what it has begun: a database that was filled before there were tallies is counted over
// many passes, and judged meanwhile.
const maxTallying = 20 * time.Second

// tired reports whether a pass has counted long enough.
func (p *pass) tired() bool { return !p.until.IsZero() && time.Now().After(p.until) }

// tallies counts what reports need: stretches at their ends, and every so often what was judged, hours and days.
func (p *pass) tallies(ctx context.Context, horizon time.Time, trail time.Duration) error {
	ended := horizon
	if trail > 0 {
		ended = horizon.Truncate(storage.Stretch)
	} else {
		// What this pass has judged belongs to it.
		engine, err := p.store.Engine(ctx)
		if err != nil {
			return err
		}
		horizon = engine.Now.Truncate(time.Millisecond).Add(time.Millisecond)
	}
	if trail > 0 {
		p.until = time.Now().Add(maxTallying)
		defer func() { p.until = time.Time{} }()
	}
	if err := p.stretches(ctx, ended); err != nil {
		return err
	}
	if p.version.Sub(p.progress[storage.StepTallyHours]) < p.config.DaysEvery {
		return nil
	}
	for step, origin := range map[storage.Step]storage.Origin{storage.StepFindings: storage.OfVerdicts, storage.StepAccounts: storage.OfAccounts} {
		if err := p.judged(ctx, step, origin, horizon); err != nil {
			return err
		}
	}
	if err := p.bucketsBy(ctx, storage.StepTallyHours, tallyHours, p.store.RollTally); err != nil {
		return err
	}
	return p.bucketsBy(ctx, storage.StepTallyDays, 7, p.store.RollTally)
}
