package worker

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/storage"
)

// Bounds of the traces judged together, and of those whose extents are looked up together.
const (
	extentTraces = 50_000
	batchTraces  = 5_000
	batchSpans   = 40_000
	writeRows    = 25_000 // accounts and findings written together
)

// judge judges the traces of which something arrived.
func (p *pass) judge(ctx context.Context, slice storage.Window) error {
	var touched []storage.Touched
	err := p.do("touched traces", func() (err error) {
		touched, err = p.store.TouchedTraces(ctx, p.arrivals(slice), p.config.Shard, sliceTraces)
		return err
	})
	if err != nil {
		return err
	}
	for part := range slices.Chunk(touched, extentTraces) {
		extents, err := p.extents(ctx, part)
		if err != nil {
			return err
		}
		// Noted before they are judged: a trace that is not noted needs no look at what is kept of it.
		if err := p.do("note extents", func() error { return p.store.NoteExtents(ctx, part) }); err != nil {
			return err
		}
		if err := p.judgeTraces(ctx, part, extents); err != nil {
			return err
		}
	}
	return nil
}

// lookAhead is how long after a slice more may arrive of its traces that belongs to what is judged with it.
const lookAhead = 15 * time.Second

// arrivals of a slice. Of raw spans the second is known in which they arrive: one in which a slice ends belongs to the next, but where there may
// be none.
func (p *pass) arrivals(slice storage.Window) storage.Arrivals {
	a := storage.Arrivals{
		Hops:  slice,
		Raw:   storage.Window{From: slice.From.Truncate(time.Second), To: slice.To.Truncate(time.Second)},
		Until: slice.To.Add(min(lookAhead, p.trail)),
	}
	if p.trail == 0 {
		a.Raw.To = a.Raw.To.Add(time.Second)
		a.Until = a.Raw.To
	}
	return a
}

// fillExtents notes the extents of what was judged before they were kept, by a worker of another version perhaps.
func (p *pass) fillExtents(ctx context.Context) error {
	if p.filled.done {
		return nil
	}
	step, judged := p.config.Shard.Extents(), false
	for other := range p.progress {
		judged = judged || strings.HasPrefix(string(other), string(storage.StepVerdicts))
	}
	if _, done := p.progress[step]; done && judged {
		// A table that was made anew is empty.
		err := p.do("has extents", func() (err error) {
			p.filled.done, err = p.store.HasExtents(ctx)
			return err
		})
		if err != nil || p.filled.done {
			return err
		}
	}
	if judged {
		if err := p.fill(ctx); err != nil {
			return err
		}
	}
	if err := p.advance(ctx, step, p.now); err != nil {
		return err
	}
	p.filled.done = true
	return nil
}

// fill notes the extents of one day after the other. Where it fails it goes on in the next pass.
func (p *pass) fill(ctx context.Context) error {
	began := time.Now()
	var days []storage.ExtentsDay
	err := p.do("days of extents", func() (err error) {
		days, err = p.store.ExtentsDays(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if p.filled.days == nil {
		p.filled.days = map[storage.ExtentsDay]bool{}
	}
	for i, day := range days {
		if p.filled.days[day] {
			continue
		}
		if err := p.do("fill extents", func() error { return p.store.FillExtents(ctx, day) }); err != nil {
			return err
		}
		p.filled.days[day] = true
		if i%10 == 9 || i == len(days)-1 {
			p.config.Logger.Info("noting when the traces that are there begin; this is done once", "table", day.Table, "days", i+1, "of", len(days),
				"took", time.Since(began).Round(time.Millisecond))
		}
	}
	return nil
}

// extent is when the spans of a trace start, and whether it was judged before.
type extent struct {
	storage.Window
	known bool
}

// extents of traces, of those that were judged and of what arrived.
func (w *Worker) extents(ctx context.Context, touched []storage.Touched) (map[span.TraceID]extent, error) {
	var noted map[span.TraceID]storage.Window
	err := w.do("extents", func() (err error) {
		noted, err = w.store.Extents(ctx, traceIDs(touched))
		return err
	})
	extents := make(map[span.TraceID]extent, len(touched))
	for i := range touched {
		t := &touched[i]
		before, known := noted[t.Trace]
		if t.Last > 0 {
			before = before.Union(t.Window())
		}
		extents[t.Trace] = extent{before, known}
	}
	return extents, err
}

// judgeTraces judges traces in batches, some at a time.
func (p *pass) judgeTraces(ctx context.Context, touched []storage.Touched, extents map[span.TraceID]extent) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(p.config.Parallel)
	var found outcomes
	for rest := neighbours(touched, extents); len(rest) > 0 && within.Err() == nil; {
		n, spans := 0, uint64(0)
		for n < len(rest) && n < batchTraces && (n == 0 || spans+rest[n].Spans <= batchSpans) {
			spans += rest[n].Spans
			n++
		}
		batch := rest[:n]
		group.Go(func() error {
			o, err := p.judgeBatch(within, batch, extents, &p.learned)
			if err != nil {
				return err
			}
			return p.write(within, found.add(o))
		})
		rest = rest[n:]
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return p.write(ctx, found.take())
}

func traceIDs(touched []storage.Touched) []span.TraceID {
	ids := make([]span.TraceID, len(touched))
	for i, t := range touched {
		ids[i] = t.Trace
	}
	return ids
}

// longTrace: traces that last longer are read apart, or what lies between their ends would be read with those of every batch.
const longTrace = 5 * time.Minute

// neighbours orders traces such that those which follow each other lie close in time.
func neighbours(touched []storage.Touched, extents map[span.TraceID]extent) []storage.Touched {
	long := func(w extent) int {
		if w.To.Sub(w.From) > longTrace {
			return 1
		}
		return 0
	}
	touched = slices.Clone(touched)
	slices.SortStableFunc(touched, func(a, b storage.Touched) int {
		x, y := extents[a.Trace], extents[b.Trace]
		return cmp.Or(long(x)-long(y), x.From.Compare(y.From))
	})
	return touched
}

// judgeBatch judges some traces by all that is stored of them and what was learned.
func (w *Worker) judgeBatch(ctx context.Context, batch []storage.Touched, extents map[span.TraceID]extent, known *learned) (*outcome, error) {
	var traces map[span.TraceID]*storage.Trace
	var kept []storage.Verdict
	ids := traceIDs(batch)
	var around storage.Window
	for _, id := range ids {
		around = around.Union(extents[id].Window)
	}
	err := w.do("traces", func() (err error) {
		traces, err = w.store.TracesWithin(ctx, ids, around, storage.SpansPerTrace)
		return err
	})
	if err != nil {
		return nil, err
	}
	var drawn []storage.AccountKey
	before := slices.DeleteFunc(slices.Clone(ids), func(id span.TraceID) bool { return !extents[id].known && traces[id] != nil })
	if len(before) > 0 {
		err = w.do("verdicts of traces", func() (err error) {
			if kept, err = w.store.Verdicts(ctx, before); err == nil {
				drawn, err = w.drawn(ctx, before, traces)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	opts, err := w.optionsFor(ctx, traces, known)
	if err != nil {
		return nil, err
	}
	found, books := map[storage.VerdictKey]storage.Verdict{}, []storage.Account{}
	for _, trace := range traces {
		verdicts, accounts := judged(trace, w.store.Classifier(), opts)
		for _, v := range verdicts {
			if other, ok := found[v.VerdictKey]; !ok || v.Amount > other.Amount {
				found[v.VerdictKey] = v
			}
		}
		books = append(books, accounts...)
	}
	o := &outcome{traces: len(ids), kept: kept, books: books, gone: gone(drawn, books)}
	o.hold, o.taken = changes(found, kept)
	return o, nil
}

// outcome is what has to be written of some traces, and what was known of them.
type outcome struct {
	traces      int
	hold, taken []storage.Verdict
	kept        []storage.Verdict
	books       []storage.Account
	gone        []storage.AccountKey
}

func (o *outcome) add(other *outcome) {
	o.traces += other.traces
	o.hold, o.taken, o.kept = append(o.hold, other.hold...), append(o.taken, other.taken...), append(o.kept, other.kept...)
	o.books, o.gone = append(o.books, other.books...), append(o.gone, other.gone...)
}

// outcomes gathers what many batches found, because few large inserts cost less than many small ones, merges above all.
type outcomes struct {
	mu  sync.Mutex
	all outcome
}

// add returns what there is to write if it is enough.
func (o *outcomes) add(more *outcome) outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all.add(more)
	if len(o.all.books)+len(o.all.hold) < writeRows {
		return outcome{}
	}
	return o.take()
}

func (o *outcomes) take() outcome {
	all := o.all
	o.all = outcome{}
	return all
}

// write writes what was found.
func (w *Worker) write(ctx context.Context, o outcome) error {
	if err := w.do("write verdicts", func() error { return w.store.WriteVerdicts(ctx, o.hold, o.taken) }); err != nil {
		return err
	}
	if err := w.do("write accounts", func() error { return w.store.WriteAccounts(ctx, o.books, o.gone) }); err != nil {
		return err
	}
	w.stats.traces.Add(int64(o.traces))
	w.stats.findings.Add(int64(len(o.hold)))
	w.stats.taken.Add(int64(len(o.taken)))
	w.stats.orphans.add(o.hold, o.taken, o.kept)
	w.stats.found.add(o.hold, o.kept)
	return nil
}

// changes compares what was found with what is kept: what has to be written, and what has to be taken back.
func changes(found map[storage.VerdictKey]storage.Verdict, kept []storage.Verdict) (hold, taken []storage.Verdict) {
	same := map[storage.VerdictKey]bool{}
	for _, k := range kept {
		v, ok := found[k.VerdictKey]
		switch {
		case v == k:
			same[k.VerdictKey] = true
		case !ok || month(v.Start) != month(k.Start): // rows of two partitions do not replace each other
			taken = append(taken, k)
		}
	}
	for key, v := range found {
		if !same[key] {
			hold = append(hold, v)
		}
	}
	slices.SortFunc(hold, func(a, b storage.Verdict) int {
		return cmp.Or(bytes.Compare(a.Trace[:], b.Trace[:]), bytes.Compare(a.Span[:], b.Span[:]), strings.Compare(a.Rule, b.Rule))
	})
	return hold, taken
}

// around is how far the start of an entry may have moved, in nanoseconds.
const around = int64(time.Hour)

// drawn returns the accounts that are kept of some traces. What is still there of a trace tells when its entries start; of a
// trace that is gone they are looked for everywhere.
func (w *Worker) drawn(ctx context.Context, ids []span.TraceID, traces map[span.TraceID]*storage.Trace) ([]storage.AccountKey, error) {
	var there, away []span.TraceID
	first, last := int64(math.MaxInt64), int64(0)
	for _, id := range ids {
		trace := traces[id]
		if trace == nil {
			away = append(away, id)
			continue
		}
		there = append(there, id)
		for i := range trace.Spans {
			first, last = min(first, trace.Spans[i].Start), max(last, trace.Spans[i].Start)
		}
	}
	keys, err := w.store.AccountKeys(ctx, there, storage.Window{From: time.Unix(0, max(first-around, 0)), To: time.Unix(0, last+around)})
	if err != nil {
		return nil, err
	}
	more, err := w.store.AccountKeys(ctx, away, storage.AnyTime)
	return append(keys, more...), err
}

// gone returns the accounts that are kept but no longer drawn.
func gone(kept []storage.AccountKey, drawn []storage.Account) []storage.AccountKey {
	still := make(map[storage.AccountKey]bool, len(drawn))
	for i := range drawn {
		still[drawn[i].AccountKey] = true
	}
	return slices.DeleteFunc(kept, func(k storage.AccountKey) bool { return still[k] })
}

func month(nanoseconds int64) [2]int {
	at := time.Unix(0, nanoseconds).UTC()
	return [2]int{at.Year(), int(at.Month())}
}

// judged returns the findings and accounts of one trace as rows.
func judged(trace *storage.Trace, classifier *classify.Classifier, opts verdict.Options) ([]storage.Verdict, []storage.Account) {
	starts, weights := make(map[string]int64, len(trace.Spans)), make(map[string]float64, len(trace.Spans))
	for i := range trace.Spans {
		s := &trace.Spans[i]
		classifier.Annotate(s) // on spans that our collector wrote it changes nothing
		starts[s.ID.String()], weights[s.ID.String()] = s.Start, hop.Weight(s.TraceState)
	}
	c := verdict.Open(trace.Spans, opts)
	if c == nil {
		return nil, nil
	}
	statement := c.Statement(opts.Entry)
	rows := make([]storage.Verdict, 0, len(statement.Findings))
	for i := range statement.Findings {
		f := &statement.Findings[i]
		start, ok := starts[f.SpanID]
		if !ok {
			start = starts[f.ParentSpanID] // of a span that never arrived the caller is known
		}
		weight := cmp.Or(weights[f.SpanID], weights[f.ParentSpanID], 1)
		v := storage.Verdict{
			VerdictKey: storage.VerdictKey{Trace: trace.ID, Service: hop.Name(f.Service), Kind: f.Kind, Rule: string(f.Rule)},
			Start:      start, Severity: string(f.Severity), EntryService: hop.Name(statement.Service), Route: hop.Name(statement.Route),
			Stage: hop.Name(f.Stage), Peer: hop.Name(f.Peer), Amount: int64(f.Amount), Evidence: string(f.Evidence), Cause: string(f.Cause),
			Inferred: f.Evidence != verdict.EvidenceMeasured, Weight: weight, Text: f.Text,
		}
		// The texts come from identifiers; one that cannot be read, of a span that only an event names, stays zero.
		v.Span, _ = span.ParseID(f.SpanID)
		v.Entry, _ = span.ParseID(statement.EntrySpanID)
		v.IncludedIn, _ = span.ParseID(f.IncludedIn)
		rows = append(rows, v)
	}
	return rows, accounts(trace, statement, c)
}
