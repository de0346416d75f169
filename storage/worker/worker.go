// Package worker judges what arrived: traces touched since the watermark into verdicts, time buckets touched into rollups.
// Whatever it does can be repeated: what it writes follows from what is stored, never from what it wrote before, so that
// duplicates, late spans, and a worker that ended in the middle leave the same rows.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/laxity-dev/laxity/storage"
)

// Config says what to work on. Zero fields but Store take their defaults.
type Config struct {
	Store *storage.DB
	// Trail is how far the watermark stays behind the server's clock, because a row that is stamped earlier may be committed
	// later. 60 s; less loses rows.
	Trail time.Duration
	// Every is the time between the starts of two passes. 10 s.
	Every time.Duration
	// DaysEvery is the least time between two computations of days, and of the longer buckets of tallies. 10 min.
	DaysEvery time.Duration
	// CountEvery is the least time between two counts of all of an attached table. 10 min.
	CountEvery time.Duration
	// LearnEvery is the least time between two searches for hidden limits and offsets of clocks, and 20 times what the last one
	// took is the least too; LearnFrom is how long what arrived is searched for limits. 1 min, 24 h.
	LearnEvery, LearnFrom time.Duration
	// KeepHops, KeepVerdicts and KeepMinutes are the retentions of hops, of what was judged and of rollups by minutes. 30 d, 90 d, 7 d.
	KeepHops, KeepVerdicts, KeepMinutes time.Duration
	// Shard is the part of the traces that this worker judges. The whole.
	Shard storage.Shard
	// Parallel is how many batches of traces are judged at a time. One for each processor, at most 4.
	Parallel int
	Logger   *slog.Logger
}

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.Store == nil {
		errs = append(errs, errors.New("worker: no storage"))
	}
	for name, d := range map[string]time.Duration{"trail": c.Trail, "every": c.Every, "days-every": c.DaysEvery, "count-every": c.CountEvery,
		"learn-every": c.LearnEvery, "learn-from": c.LearnFrom} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("worker: %s is %s; it must not be negative", name, d))
		}
	}
	if c.Trail != 0 && c.Trail < DefaultTrail {
		errs = append(errs, fmt.Errorf("worker: trail is %s; less than %s loses rows that are committed late", c.Trail, DefaultTrail))
	}
	if c.Parallel < 0 {
		errs = append(errs, fmt.Errorf("worker: parallel is %d; it must not be negative", c.Parallel))
	}
	return errors.Join(append(errs, c.Shard.Validate())...)
}

// DefaultTrail is the least time by which the watermark stays behind.
const DefaultTrail = 60 * time.Second

// Bounds of what is held at a time.
const (
	sliceHops   = 200_000 // arrivals taken at a time, but at least one second of them
	sliceTraces = 2_000_000
	maxSeconds  = 10_000
)

// Worker does the work. One goroutine at a time may use it; Stats may be called by any.
type Worker struct {
	store  *storage.DB
	config Config
	stats  stats
	began  time.Time
	// learning is how long the last search for limits and offsets took, which ended at learnedAt, well or not.
	learning  time.Duration
	learnedAt time.Time
	pulls     pulls
	filled    filled
	// counted is when all of an attached table was counted last.
	counted time.Time

	// before, in tests, ends a pass at the statement it fails. It is called by one goroutine at a time.
	before  func(statement string) error
	beforeM sync.Mutex
}

// filled is what is noted of what was judged before extents were kept.
type filled struct {
	done bool
	days map[storage.ExtentsDay]bool
}

// New returns a worker.
func New(config Config) (*Worker, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	const day = 24 * time.Hour
	config.Trail = cmp.Or(config.Trail, DefaultTrail)
	config.Every = cmp.Or(config.Every, 10*time.Second)
	config.DaysEvery = cmp.Or(config.DaysEvery, 10*time.Minute)
	config.CountEvery = cmp.Or(config.CountEvery, 10*time.Minute)
	config.LearnEvery, config.LearnFrom = cmp.Or(config.LearnEvery, time.Minute), cmp.Or(config.LearnFrom, day)
	config.KeepHops, config.KeepVerdicts, config.KeepMinutes = cmp.Or(config.KeepHops, 30*day), cmp.Or(config.KeepVerdicts, 90*day), cmp.Or(config.KeepMinutes, 7*day)
	config.Shard = cmp.Or(config.Shard, storage.Shard{Number: 1, Of: 1})
	config.Parallel = cmp.Or(config.Parallel, min(4, runtime.GOMAXPROCS(0)))
	config.Logger = cmp.Or(config.Logger, slog.Default())
	return &Worker{store: config.Store, config: config, began: time.Now()}, nil
}

// Run works until the context ends. What fails is logged, counted and tried again.
func (w *Worker) Run(ctx context.Context) {
	ticker := time.NewTicker(w.config.Every)
	defer ticker.Stop()
	for {
		if err := w.Pass(ctx); err != nil && ctx.Err() == nil {
			w.stats.failures.Add(1)
			w.config.Logger.Error("pass failed; it is tried again", "error", err, "every", w.config.Every)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// pass is one pass while it runs.
type pass struct {
	*Worker
	progress map[storage.Step]time.Time
	now      time.Time // by the server's clock
	trail    time.Duration
	// version of the rows that are written: later than those of every earlier pass.
	version time.Time
	learned learned
	// until is when counting tallies stops for this pass, if it is set.
	until time.Time
}

// Pass brings verdicts and rollups up to the trailing watermark.
func (w *Worker) Pass(ctx context.Context) error { return w.pass(ctx, w.config.Trail) }

// PassNow brings verdicts and rollups up to now. Rows that are being inserted meanwhile may be missed for good, so it is for
// databases of which nobody else knows.
func (w *Worker) PassNow(ctx context.Context) error { return w.pass(ctx, 0) }

func (w *Worker) pass(ctx context.Context, trail time.Duration) error {
	// What is read of an attached table arrives now, before the horizon of this pass.
	if err := w.pull(ctx, trail == 0); err != nil {
		return err
	}
	var engine storage.Engine
	var progress map[storage.Step]time.Time
	err := w.do("state", func() (err error) {
		if engine, err = w.store.Engine(ctx); err == nil {
			progress, err = w.store.Progress(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	p := &pass{Worker: w, progress: progress, now: engine.Now, trail: trail, version: engine.Now}
	for _, step := range []storage.Step{storage.StepHours, storage.StepDays, storage.StepLimits, storage.StepTallyHours, storage.StepTallyDays} {
		if last := progress[step]; !p.version.After(last) { // the clock went back
			p.version = last.Add(1)
		}
	}
	// The horizon is exclusive, hence the millisecond.
	horizon := engine.Now.Add(-trail).Truncate(time.Millisecond).Add(time.Millisecond)
	w.stats.watermark(progress, w.config.Shard)
	if err := p.fillExtents(ctx); err != nil {
		return err
	}
	kept, err := p.kept(ctx)
	if err != nil {
		return err
	}
	p.learned.hidden = hidden(kept)
	// What cannot be learned this time does not keep traces from being judged.
	unlearned := p.learn(ctx, kept, horizon)
	if err := p.slices(ctx, w.config.Shard.Step(), horizon, p.judge); err != nil {
		return err
	}
	if w.config.Shard.Number > 1 {
		// Buckets hold hops of every shard; the first computes them.
		w.stats.watermark(p.progress, w.config.Shard)
		w.stats.passes.Add(1)
		return unlearned
	}
	if err := p.slices(ctx, storage.StepMinutes, horizon, p.minutes); err != nil {
		return err
	}
	if err := p.buckets(ctx, storage.StepHours, 7*24); err != nil {
		return err
	}
	if p.version.Sub(progress[storage.StepDays]) >= w.config.DaysEvery {
		if err := p.buckets(ctx, storage.StepDays, 31); err != nil {
			return err
		}
	}
	if err := p.tallies(ctx, horizon, trail); err != nil {
		return err
	}
	w.stats.watermark(p.progress, w.config.Shard)
	w.stats.passes.Add(1)
	return unlearned
}

// do runs one statement.
func (w *Worker) do(statement string, run func() error) error {
	if w.before != nil {
		w.beforeM.Lock()
		err := w.before(statement)
		w.beforeM.Unlock()
		if err != nil {
			return err
		}
	}
	return run()
}

// slices cuts what arrived since the watermark into slices of bounded size, and moves the watermark behind each that is done.
func (p *pass) slices(ctx context.Context, step storage.Step, horizon time.Time, work func(context.Context, storage.Window) error) error {
	from, ok := p.progress[step]
	if step == p.config.Shard.Step() {
		// What all shards of another division have done need not be done again.
		if all, known := p.progress[storage.StepVerdicts]; known && all.After(from) {
			from, ok = all, true
		}
	}
	if !ok {
		from = time.Unix(0, 0)
	}
	for from.Before(horizon) {
		if err := ctx.Err(); err != nil {
			return err
		}
		slice, err := p.slice(ctx, from, horizon, sliceHops)
		if err != nil {
			return err
		}
		if err := work(ctx, slice); err != nil {
			return err
		}
		if err := p.advance(ctx, step, slice.To); err != nil {
			return err
		}
		from = slice.To
		if p.tired() {
			return nil
		}
	}
	return nil
}

// slice is what arrived from a time on, about so many hops of it.
func (p *pass) slice(ctx context.Context, from, horizon time.Time, most uint64) (storage.Window, error) {
	slice := storage.Window{From: from, To: horizon}
	err := p.do("arrivals", func() error {
		arrivals, err := p.store.Arrivals(ctx, slice, maxSeconds)
		slice.To = cut(arrivals, horizon, most)
		return err
	})
	return slice, err
}

// cut returns where a slice ends that begins with these arrivals.
func cut(arrivals []storage.Arrival, horizon time.Time, most uint64) time.Time {
	var hops uint64
	for _, a := range arrivals {
		if hops += a.Hops; hops >= most {
			return earlier(a.Second.Add(time.Second), horizon)
		}
	}
	if len(arrivals) == maxSeconds {
		return earlier(arrivals[maxSeconds-1].Second.Add(time.Second), horizon)
	}
	return horizon
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (p *pass) advance(ctx context.Context, step storage.Step, to time.Time) error {
	err := p.do("progress", func() error { return p.store.SetProgress(ctx, step, to) })
	if err == nil {
		p.progress[step] = to
	}
	return err
}
