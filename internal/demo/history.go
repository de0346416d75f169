package demo

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// MaxBackfill is the largest number of days of sample history.
const MaxBackfill = 90

// historyRoutes are the requests of one day. Trends need 200 answered requests a day.
var historyRoutes = []struct {
	route  string
	perDay int
	budget time.Duration
	work   func(*frame, float64) (time.Duration, bool)
}{
	{routeAnswer, 55, budgetAnswer, drawAnswer},
	{routeSearch, 205, budgetSearch, drawSearch},
	{routeAccount, 205, budgetAccount, drawAccount},
	{routeReport, 205, budgetReport, drawReport},
}

// History draws sample spans of the days before now, oldest first, and hands them to yield trace by trace, until yield
// returns false. A trace has the same ids and start times whenever it is drawn with the same seed, so sending it again
// counts nothing twice.
func History(seed uint64, days int, now time.Time, yield func(day time.Time, spans []*tracepb.ResourceSpans) bool) {
	today := now.UTC().Truncate(24 * time.Hour)
	for age := days - 1; age >= 0; age-- {
		day := today.AddDate(0, 0, -age)
		grown := 1 - float64(age)/float64(days)
		for _, r := range historyRoutes {
			for n := range r.perDay {
				key := sha256.Sum256(fmt.Appendf(nil, "laxity sample %d %s %s %d", seed, day.Format(time.DateOnly), r.route, n))
				t := newTape(key, day)
				rng := rand.New(rand.NewPCG(t.number(), 2))
				t.start = day.Add(time.Duration(rng.Int64N(int64(24 * time.Hour)))).Truncate(time.Microsecond)
				if t.start.After(now.Add(-time.Minute)) {
					continue
				}
				source := budgetattr.SourceDefault
				if rng.Float64() < 0.5 {
					source = budgetattr.SourceCaller
				}
				t.serve("edge", r.route, nil, 0, r.budget, source, func(f *frame) (time.Duration, bool) { return r.work(f, grown) })
				if !yield(day, t.resourceSpans()) {
					return
				}
			}
		}
	}
}

// resourceSpans gives each service its resource.
func (t *tape) resourceSpans() []*tracepb.ResourceSpans {
	var all []*tracepb.ResourceSpans
	for _, service := range slices.Sorted(maps.Keys(t.spans)) {
		all = append(all, &tracepb.ResourceSpans{
			Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
				text("service.name", service), text("service.version", serviceVersion),
				text("service.instance.id", uuid.NewSHA1(uuid.NameSpaceURL, []byte(scopeName+"/history/"+service)).String()),
				text("deployment.environment.name", "demo"), boolean(SampleAttribute, true),
			}},
			ScopeSpans: []*tracepb.ScopeSpans{{
				Scope: &commonpb.InstrumentationScope{Name: scopeName + "/history"},
				Spans: t.spans[service],
			}},
		})
	}
	return all
}

func drawAnswer(f *frame, _ float64) (time.Duration, bool) {
	at := f.spend(f.start, "edge", edgeWork)
	at, ok := f.call(stageAccount, "/account", at, readAccount("/account"))
	if !ok {
		return at, false
	}
	f.call(stageProfile, "/profile", at, readAccount("/profile"))
	at, ok = f.call(stageRetrieval, "/search", at, f.retrieve)
	if !ok {
		return at, false
	}
	at, ok = f.call(stageGenerate, "/stream", at, func(m *frame) (time.Duration, bool) {
		return m.spend(m.spend(m.start, stageGenerate.name, stageGenerate.median), "tokens", tokens*tokenWork), true
	})
	if !ok {
		return at, false
	}
	return f.call(stageValidate, "/validate", at, func(v *frame) (time.Duration, bool) {
		return v.call(stagePolicy, "/policy", v.spend(v.start, stageValidate.name, stageValidate.median), readAccount("/policy"))
	})
}

func drawSearch(f *frame, _ float64) (time.Duration, bool) {
	return f.call(stageRetrieval, "/search", f.spend(f.start, "edge", edgeWork), f.retrieve)
}

func drawAccount(f *frame, _ float64) (time.Duration, bool) {
	return f.call(stageAccount, "/account", f.spend(f.start, "edge", edgeWork), func(a *frame) (time.Duration, bool) {
		at, ok := readAccount("/account")(a)
		if ok {
			at = a.askPoints(at)
		}
		return at, ok
	})
}

// pointsLimit is how long account waits for its points. It stands in no span, only in the lengths of the calls.
const pointsLimit = 250 * time.Millisecond

// askPoints draws a call as services make it that have no budgets: from account to one of them that every twelfth time is slow, and then
// works on after account has gone on without an answer. It returns when account goes on.
func (f *frame) askPoints(at time.Duration) time.Duration {
	work := f.spend(0, "points", 8*time.Millisecond)
	if n := f.number() / 64; n%12 == 0 {
		work = 400*time.Millisecond + time.Duration(n/12%300)*time.Millisecond
	}
	end := at + min(work+2*network, pointsLimit+time.Duration(f.number()%400)*time.Microsecond)
	call := f.tape.span(f.service, "POST /points", tracepb.Span_SPAN_KIND_CLIENT, f.span.SpanId, at)
	call.EndTimeUnixNano = f.nanos(end)
	set(call, text("http.request.method", "POST"), text("peer.service", "points"))
	served := f.tape.span("points", "POST /points", tracepb.Span_SPAN_KIND_SERVER, call.SpanId, at+network)
	served.EndTimeUnixNano = f.nanos(at + network + work)
	set(served, text("http.request.method", "POST"), text("http.route", "/points"), integer("http.response.status_code", 200))
	return end
}

// drawReport is the route whose margin shrinks: what it collects has grown to the given share of what it is today.
func drawReport(f *frame, grown float64) (time.Duration, bool) {
	return f.call(stageCollect, "/collect", f.spend(f.start, "edge", edgeWork), func(r *frame) (time.Duration, bool) {
		at := r.spend(r.start, stageCollect.name, stageCollect.median)
		return at + time.Duration(grown*float64(collectGrowth(r.number()))), true
	})
}

// retrieve is retrieval at work for the edge f. One request in fifty meets a slow rerank and goes on without it.
func (f *frame) retrieve(r *frame) (time.Duration, bool) {
	at := r.spend(r.start, stageRetrieval.name, stageRetrieval.median)
	at, ok := r.call(stageRerank, "/order", at, func(k *frame) (time.Duration, bool) {
		median := stageRerank.median
		if k.number()%50 == 0 {
			median *= 10
		}
		return k.spend(k.start, stageRerank.name, median), true
	})
	if !ok {
		r.degraded, f.degraded = true, true
	}
	return at, true
}

func readAccount(path string) func(*frame) (time.Duration, bool) {
	return func(a *frame) (time.Duration, bool) {
		at := a.spend(a.start, stageAccount.name+path, stageAccount.median)
		return a.hop(stageQuery, at, func(span *tracepb.Span, _ time.Duration) (time.Duration, bool) {
			set(span, text("db.system.name", "sqlite"))
			return a.spend(at, stageQuery.name+path, stageQuery.median), true
		})
	}
}

// batchSpans is how many spans go into one message.
const batchSpans = 2000

// sendHistory sends the sample history and says how much it was.
func sendHistory(ctx context.Context, s Settings, p *printer) error {
	spans := &sink{client: newClient(s.OTLP)}
	if err := spans.client.Start(ctx); err != nil {
		return fmt.Errorf("span export: %w", err)
	}
	defer spans.client.Stop(context.WithoutCancel(ctx))
	var (
		batch []*tracepb.ResourceSpans
		held  int64
		last  time.Time
		err   error
	)
	flush := func() bool {
		if held > 0 {
			err = spans.UploadTraces(ctx, batch)
		}
		batch, held = nil, 0
		return err == nil
	}
	History(s.Load.Seed, s.Backfill, time.Now(), func(day time.Time, trace []*tracepb.ResourceSpans) bool {
		if day != last && !last.IsZero() {
			p.printf("history: %s sent, %d spans so far\n", last.Format(time.DateOnly), spans.sent.Load()+held)
		}
		last = day
		n := countSpans(trace)
		spans.made.Add(n)
		batch, held = append(batch, trace...), held+n
		return held < batchSpans || flush()
	})
	if err == nil {
		flush()
	}
	if err != nil {
		return fmt.Errorf("sample history: %w", err)
	}
	p.printf("history: %d days, spans: %s\n", s.Backfill, spans.counts())
	return spans.counts().Lost()
}
