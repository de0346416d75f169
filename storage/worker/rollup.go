package worker

import (
	"context"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/storage"
)

// Bounds of the minutes computed in one statement: their number, the hops that arrived in them, and how far they reach.
const (
	batchMinutes = 1440
	batchHops    = 500_000
	batchReach   = 31 * 24 * time.Hour
)

// minutes computes the minutes anew in which something arrived. Of an hour so old that some of its minutes may be dropped
// already, all of them are computed, because the hour is made of them; hours whose hops may be dropped stay as they are.
func (p *pass) minutes(ctx context.Context, slice storage.Window) error {
	var touched []storage.Minute
	err := p.do("touched minutes", func() (err error) {
		touched, err = p.store.TouchedMinutes(ctx, slice, p.now.Add(storage.Slack-p.config.KeepHops))
		return err
	})
	if err != nil {
		return err
	}
	touched = wholeHours(touched, p.now.Add(storage.Slack-p.config.KeepMinutes))
	for len(touched) > 0 {
		n, hops := 0, uint64(0)
		for n < len(touched) && n < batchMinutes && touched[n].At.Sub(touched[0].At) < batchReach && (n == 0 || hops+touched[n].Hops <= batchHops) {
			hops += touched[n].Hops
			n++
		}
		batch := make([]time.Time, n)
		for i, m := range touched[:n] {
			batch[i] = m.At
		}
		if err := p.do("roll minutes", func() error { return p.store.RollMinutes(ctx, batch, p.version) }); err != nil {
			return err
		}
		p.stats.minutes.Add(int64(n))
		touched = touched[n:]
	}
	return nil
}

// wholeHours replaces minutes before a time by all minutes of their hours. Minutes come in order.
func wholeHours(minutes []storage.Minute, before time.Time) []storage.Minute {
	var all []storage.Minute
	var last time.Time
	for _, m := range minutes {
		hour := m.At.Truncate(time.Hour)
		if !m.At.Before(before) {
			if m.At.After(last) || len(all) == 0 {
				all = append(all, m)
				last = m.At
			}
			continue
		}
		if len(all) > 0 && !hour.After(last) {
			continue // done with an earlier minute of it
		}
		for at := hour; at.Before(hour.Add(time.Hour)); at = at.Add(time.Minute) {
			all = append(all, storage.Minute{At: at, Hops: m.Hops})
			last = at
		}
	}
	return all
}

// buckets computes the hours or days anew of which a shorter bucket was written since the last time.
func (p *pass) buckets(ctx context.Context, step storage.Step, atOnce int) error {
	return p.bucketsBy(ctx, step, atOnce, p.store.RollBuckets)
}

func (p *pass) bucketsBy(ctx context.Context, step storage.Step, atOnce int, roll func(context.Context, storage.Step, []time.Time, time.Time) error) error {
	var touched []time.Time
	err := p.do("touched "+string(step), func() (err error) {
		touched, err = p.store.TouchedBuckets(ctx, step, p.progress[step])
		return err
	})
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(touched, atOnce) {
		if err := p.do("roll "+string(step), func() error { return roll(ctx, step, batch, p.version) }); err != nil {
			return err
		}
		p.stats.buckets.Add(int64(len(batch)))
	}
	return p.advance(ctx, step, p.version)
}
