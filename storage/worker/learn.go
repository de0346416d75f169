package worker

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/internal/limit"
	"github.com/laxity-dev/laxity/internal/skew"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/storage"
)

// Bounds of what is learned at a time, and of the traces that are judged again because of it.
const (
	batchStretches = int(24 * time.Hour / skew.Width)
	maxAgain       = 50_000
	// learnShare is how many times as long as learning takes the worker does other things.
	learnShare = 20
)

// learned is what many traces told.
type learned struct {
	hidden map[verdict.Edge]verdict.HiddenLimit
	// stretches were learned in this pass and are not written yet; offsets are those of them.
	stretches map[int64]bool
	offsets   []skew.Offset
}

// kept are the limits that are known.
func (w *Worker) kept(ctx context.Context) (limits []storage.FoundLimit, err error) {
	err = w.do("limits", func() (err error) {
		limits, err = w.store.KeptLimits(ctx)
		return err
	})
	return limits, err
}

// learn brings hidden limits and offsets of clocks up to date, starting from the limits kept. Traces that are judged otherwise
// because of it are judged again before it is written, so that a worker that ends between the two does both again. One shard
// learns for all.
func (p *pass) learn(ctx context.Context, kept []storage.FoundLimit, horizon time.Time) error {
	if p.config.Shard.Number > 1 || p.version.Sub(p.progress[storage.StepLimits]) < p.config.LearnEvery ||
		time.Since(p.learnedAt) < learnShare*p.learning {
		return nil
	}
	began := time.Now()
	defer func() { p.learning, p.learnedAt = time.Since(began), time.Now() }()
	if err := p.limits(ctx, kept, horizon); err != nil {
		return err
	}
	if err := p.slices(ctx, storage.StepOffsets, horizon, p.offsets); err != nil {
		return err
	}
	return p.advance(ctx, storage.StepLimits, p.version)
}

// limits looks for hidden limits in what arrived lately. A limit that the calls no longer show is taken back; where there are
// too few to tell, it stays.
func (p *pass) limits(ctx context.Context, kept []storage.FoundLimit, horizon time.Time) error {
	var found []storage.FoundLimit
	var looked map[verdict.Edge]bool
	err := p.do("find limits", func() (err error) {
		found, looked, err = p.store.FindLimits(ctx, storage.Window{From: horizon.Add(-p.config.LearnFrom), To: horizon})
		return err
	})
	if err != nil {
		return err
	}
	before, now := byKey(kept), byKey(found)
	var hold, taken []storage.FoundLimit
	for key, l := range now {
		if old, ok := before[key]; !ok || !reflect.DeepEqual(old, l) {
			hold = append(hold, l)
		}
	}
	for key, old := range before {
		if _, ok := now[key]; ok {
			continue
		}
		if looked[key] {
			taken = append(taken, old)
		} else {
			now[key] = old
		}
	}
	known := hidden(slices.Collect(maps.Values(now)))
	var again []storage.Touched
	for _, l := range slices.Concat(hold, taken) {
		if p.learned.hidden[l.Edge] == known[l.Edge] {
			continue // what judgement sees of it is the same
		}
		err := p.do("traces at a limit", func() error {
			traces, err := p.store.LimitTraces(ctx, l, maxAgain)
			again = append(again, traces...)
			return err
		})
		if err != nil {
			return err
		}
	}
	p.learned.hidden = known
	if err := p.judgeAgain(ctx, again); err != nil {
		return err
	}
	sortLimits(hold)
	sortLimits(taken)
	return p.do("write limits", func() error { return p.store.WriteLimits(ctx, hold, taken) })
}

func hidden(found []storage.FoundLimit) map[verdict.Edge]verdict.HiddenLimit {
	limits := make([]limit.Limit, len(found))
	for i := range found {
		limits[i] = found[i].Limit
	}
	limit.Sort(limits)
	return limit.Hidden(limits)
}

// byKey sorts limits by their edges as calls name them, as a table does.
func byKey(limits []storage.FoundLimit) map[verdict.Edge]storage.FoundLimit {
	keyed := make(map[verdict.Edge]storage.FoundLimit, len(limits))
	for _, l := range limits {
		keyed[l.Key] = l
	}
	return keyed
}

func sortLimits(limits []storage.FoundLimit) {
	slices.SortFunc(limits, func(a, b storage.FoundLimit) int { return limit.Compare(a.Edge, b.Edge) })
}

// offsets learns the offsets of clocks anew for the stretches of time of which calls arrived.
func (p *pass) offsets(ctx context.Context, slice storage.Window) error {
	var touched []storage.Minute
	err := p.do("touched stretches", func() (err error) {
		touched, err = p.store.TouchedStretches(ctx, slice)
		return err
	})
	if err != nil {
		return err
	}
	for len(touched) > 0 {
		n, hops := 0, uint64(0)
		for n < len(touched) && n < batchStretches && touched[n].At.Sub(touched[0].At) < batchReach && (n == 0 || hops+touched[n].Hops <= batchHops) {
			hops += touched[n].Hops
			n++
		}
		stretches := make([]time.Time, n)
		for i, m := range touched[:n] {
			stretches[i] = m.At
		}
		if err := p.offsetsOf(ctx, stretches); err != nil {
			return err
		}
		touched = touched[n:]
	}
	return nil
}

func (p *pass) offsetsOf(ctx context.Context, stretches []time.Time) error {
	var found, kept []skew.Offset
	err := p.do("exchanges", func() (err error) {
		found, err = p.store.FindOffsets(ctx, stretches)
		return err
	})
	if err != nil {
		return err
	}
	err = p.do("offsets", func() (err error) {
		kept, err = p.store.Offsets(ctx, stretches[0], stretches[len(stretches)-1])
		return err
	})
	if err != nil {
		return err
	}
	p.learned.stretches, p.learned.offsets = map[int64]bool{}, found
	for _, at := range stretches {
		p.learned.stretches[at.UnixNano()] = true
	}
	defer func() { p.learned.stretches, p.learned.offsets = nil, nil }()
	hold, taken, changed := p.learned.changes(kept)
	if len(changed) == 0 {
		return nil
	}
	var again []storage.Touched
	err = p.do("traces with cut calls", func() (err error) {
		again, err = p.store.OffsetTraces(ctx, changed, maxAgain)
		return err
	})
	if err != nil {
		return err
	}
	if err := p.judgeAgain(ctx, again); err != nil {
		return err
	}
	return p.do("write offsets", func() error { return p.store.WriteOffsets(ctx, hold, taken) })
}

// changes compares what was learned with what is kept, and says in which stretches of time they differ.
func (l *learned) changes(kept []skew.Offset) (hold, taken []skew.Offset, stretches []time.Time) {
	type key struct {
		skew.Pair
		at int64
	}
	before := map[key]skew.Offset{}
	for _, o := range kept {
		if l.stretches[o.At.UnixNano()] {
			before[key{o.Pair, o.At.UnixNano()}] = o
		}
	}
	changed := map[time.Time]bool{}
	for _, o := range l.offsets {
		k := key{o.Pair, o.At.UnixNano()}
		if before[k] != o {
			hold = append(hold, o)
			changed[o.At] = true
		}
		delete(before, k)
	}
	for _, o := range kept {
		if _, gone := before[key{o.Pair, o.At.UnixNano()}]; gone {
			taken = append(taken, o)
			changed[o.At] = true
		}
	}
	return hold, taken, slices.SortedFunc(maps.Keys(changed), time.Time.Compare)
}

// judgeAgain judges traces of which nothing arrived. Those that were not judged yet are left to what judges arrivals.
func (p *pass) judgeAgain(ctx context.Context, touched []storage.Touched) error {
	seen := map[span.TraceID]bool{}
	touched = slices.DeleteFunc(touched, func(t storage.Touched) bool {
		again := seen[t.Trace]
		seen[t.Trace] = true
		return again
	})
	for part := range slices.Chunk(touched, extentTraces) {
		extents, err := p.extents(ctx, part)
		if err != nil {
			return err
		}
		part = slices.DeleteFunc(part, func(t storage.Touched) bool { return !extents[t.Trace].known })
		if err := p.judgeTraces(ctx, part, extents); err != nil {
			return err
		}
	}
	return nil
}

// optionsFor gives what was learned to the judgement of some traces.
func (w *Worker) optionsFor(ctx context.Context, traces map[span.TraceID]*storage.Trace, known *learned) (verdict.Options, error) {
	opts := verdict.Options{Hidden: known.hidden}
	var from, to time.Time
	for _, trace := range traces {
		for i := range trace.Spans {
			at := time.Unix(0, max(trace.Spans[i].Start, 0)).UTC()
			if from.IsZero() || at.Before(from) {
				from = at
			}
			if at.After(to) {
				to = at
			}
		}
	}
	if from.IsZero() {
		return opts, nil
	}
	var kept []skew.Offset
	err := w.do("offsets", func() (err error) {
		kept, err = w.store.Offsets(ctx, from, to)
		return err
	})
	kept = slices.DeleteFunc(kept, func(o skew.Offset) bool { return known.stretches[o.At.UnixNano()] })
	opts.Offsets = skew.NewTable(append(kept, known.offsets...))
	return opts, err
}
