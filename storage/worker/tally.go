package worker

import (
	"context"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/storage"
)

// stretches counts the tallies anew of the stretches that what arrived changes; those so old that stretches of their hour may be dropped by
// whole hours.
func (p *pass) stretches(ctx context.Context, slice storage.Window) error {
	var touched []storage.TouchedStretch
	err := p.do("touched stretches", func() (err error) {
		touched, err = p.store.TouchedTally(ctx, slice, p.now.Add(storage.Slack-p.config.KeepHops))
		return err
	})
	if err != nil {
		return err
	}
	whole := p.now.Add(storage.Slack - p.config.KeepMinutes)
	for len(touched) > 0 {
		n, hops := 0, uint64(0)
		for n < len(touched) && n < tallyStretches && (n == 0 || hops+touched[n].Hops <= batchHops) {
			hops += touched[n].Hops
			n++
		}
		batch := make([]time.Time, n)
		for i, s := range touched[:n] {
			batch[i] = s.At
		}
		if err := p.do("roll stretches", func() error { return p.store.RollStretches(ctx, batch, whole, p.version) }); err != nil {
			return err
		}
		p.stats.stretches.Add(int64(n))
		touched = touched[n:]
	}
	return nil
}

// tallyStretches and tallyHours are how many stretches or hours are counted at a time, at most.
const (
	tallyStretches = 24 * 12
	tallyHours     = 24
)

// judged counts the hours anew of which verdicts or accounts were written before the horizon, a day of writing at a time.
func (p *pass) judged(ctx context.Context, step storage.Step, origin storage.Origin, horizon time.Time) error {
	from, ok := p.progress[step]
	if oldest := p.now.Add(-p.config.KeepVerdicts - storage.Slack); !ok || from.Before(oldest) {
		from = oldest
	}
	for from.Before(horizon) && !p.tired() {
		slice := storage.Window{From: from, To: earlier(from.Add(24*time.Hour), horizon)}
		var hours []time.Time
		err := p.do("touched "+string(origin), func() (err error) {
			hours, err = p.store.TouchedJudged(ctx, origin, slice, p.now.Add(storage.Slack-p.config.KeepVerdicts))
			return err
		})
		if err != nil {
			return err
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
	if err := p.slices(ctx, storage.StepStretches, ended, p.stretches); err != nil {
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
