package worker

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/storage"
)

// An attached table does not say when its rows arrived, so the worker counts: ten seconds that hold another number of spans than
// were read are read again as a whole. Recent ones are counted in each pass, all of them from time to time.
const (
	settled     = 10 * time.Second // ten seconds are read when they have been over for so long
	recent      = 2 * time.Hour
	countDays   = 24 * time.Hour // counted in one statement
	pullSpans   = 20_000         // read in one statement, but at least one bucket
	pullBuckets = 4_000          // and no more of them than a statement takes
	pullRows    = 20_000         // hops written in one insert
	pullFor     = 30 * time.Second
)

// pulls is what the worker tells about an attached table.
type pulls struct {
	spans, quarantined, due atomic.Int64
}

// pull reads what is due of the attached table, the newest first, and writes its hops. What it does not get through in its time
// is left to the next pass, so that new spans do not wait for old ones, unless all of it is wanted.
func (w *Worker) pull(ctx context.Context, all bool) error {
	var table *storage.Attached
	var engine storage.Engine
	err := w.do("attached table", func() (err error) {
		if table, err = w.store.Attached(ctx); err == nil && table != nil {
			engine, err = w.store.Engine(ctx)
		}
		return err
	})
	if err != nil || table == nil {
		return err
	}
	p := &pull{Worker: w, table: table, began: time.Now(), all: all}
	return p.run(ctx, engine.Now)
}

// pull is one reading of an attached table.
type pull struct {
	*Worker
	table *storage.Attached
	began time.Time
	all   bool
}

func (p *pull) run(ctx context.Context, now time.Time) error {
	to := now.Add(-settled).Truncate(storage.BucketWidth)
	oldest := later(p.table.Since, now.Add(storage.Slack-p.config.KeepHops)).Truncate(storage.BucketWidth)
	full := now.Sub(p.counted) >= p.config.CountEvery
	from := oldest
	if !full {
		from = later(oldest, to.Add(-recent))
	}
	for end := to; end.After(from); end = end.Add(-countDays) {
		w := storage.Window{From: later(from, end.Add(-countDays)), To: end}
		done, err := p.window(ctx, w)
		if err != nil {
			return err
		}
		if !done {
			p.config.Logger.Info("reading the attached table", "table", p.table, "spans", p.pulls.spans.Load(), "at", w.From, "since", oldest)
			return nil
		}
	}
	p.pulls.due.Store(0)
	if full {
		if p.counted.IsZero() {
			p.config.Logger.Info("attached table is read", "table", p.table, "spans", p.pulls.spans.Load(), "since", oldest)
		}
		p.counted = now
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// window reads what is due of a window. What arrives meanwhile is found at the next count.
func (p *pull) window(ctx context.Context, w storage.Window) (done bool, err error) {
	var due []storage.AttachedBucket
	err = p.do("attached spans due", func() error {
		due, err = p.store.AttachedDue(ctx, p.table, w, p.config.Shard)
		return err
	})
	for err == nil && len(due) > 0 {
		p.pulls.due.Store(int64(len(due)))
		if !p.all && time.Since(p.began) > pullFor {
			return false, nil
		}
		n, spans := 0, uint64(0)
		for n < min(len(due), pullBuckets) && (n == 0 || spans+due[n].Spans <= pullSpans) {
			spans += due[n].Spans
			n++
		}
		err = p.buckets(ctx, due[:n])
		due = due[n:]
	}
	return err == nil, err
}

// buckets reads some buckets as a whole. A worker that ends in the middle reads them again.
func (p *pull) buckets(ctx context.Context, due []storage.AttachedBucket) error {
	starts := make([]int64, len(due))
	read := make(map[int64]uint64, len(due))
	for i, b := range due {
		starts[i], read[b.At] = b.At, 0
	}
	var rows []hop.Row
	var total int64
	traces := map[span.TraceID]*pulled{}
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		err := p.do("write hops", func() error { return p.store.InsertHops(ctx, rows) })
		rows = rows[:0]
		return err
	}
	err := p.do("attached spans", func() error {
		return p.store.AttachedSpans(ctx, p.table, starts, func(s *span.Span) error {
			width := int64(storage.BucketWidth.Seconds())
			read[s.Start/1e9/width*width]++
			total++
			if hop.Check(s.Trace, s.ID, uint64(s.Start), uint64(s.End)) != hop.ReasonNone {
				p.pulls.quarantined.Add(1)
				return nil
			}
			of := traces[s.Trace]
			if of == nil {
				of = &pulled{first: s.Start, last: s.Start}
				traces[s.Trace] = of
			}
			of.first, of.last = min(of.first, s.Start), max(of.last, s.Start)
			if !hop.Is(s) {
				return nil
			}
			of.hops = true
			row, _ := hop.FromSpan(s)
			if rows = append(rows, row); len(rows) >= pullRows {
				return flush()
			}
			return nil
		})
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = p.judgeHopless(ctx, traces)
	}
	if err != nil {
		return err
	}
	p.pulls.spans.Add(total)
	return p.do("attached progress", func() error { return p.store.SetAttached(ctx, p.table, read) })
}

// pulled is what was read of one trace: when it starts, and whether there are hops among it.
type pulled struct {
	first, last int64
	hops        bool
}

// judgeHopless judges traces of which no hop was read: no arrival of theirs tells the worker that they changed.
func (p *pull) judgeHopless(ctx context.Context, traces map[span.TraceID]*pulled) error {
	var alone []storage.Touched
	for id, of := range traces {
		if !of.hops {
			alone = append(alone, storage.Touched{Trace: id, Spans: 1, First: of.first, Last: of.last})
		}
	}
	if len(alone) == 0 {
		return nil
	}
	kept, err := p.kept(ctx)
	if err != nil {
		return err
	}
	known := &learned{hidden: hidden(kept)}
	extents, err := p.extents(ctx, alone)
	if err != nil {
		return err
	}
	if err := p.do("note extents", func() error { return p.store.NoteExtents(ctx, alone) }); err != nil {
		return err
	}
	for id, e := range extents { // they may have been judged by a worker that noted nothing
		extents[id] = extent{e.Window, true}
	}
	for batch := range slices.Chunk(alone, batchTraces/4) {
		found, err := p.judgeBatch(ctx, batch, extents, known)
		if err == nil {
			err = p.write(ctx, *found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
