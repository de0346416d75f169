package worker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// start is when the traces begin: some minutes of two days.
var start = time.Now().UTC().Add(-48 * time.Hour).Truncate(24 * time.Hour).Add(23 * time.Hour)

func on(t *testing.T, store *storagetest.Store) *Worker {
	t.Helper()
	w, err := New(Config{Store: store.DB, DaysEvery: 1, CountEvery: 1})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func passes(t *testing.T, w *Worker) {
	t.Helper()
	if err := w.PassNow(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// traceOf makes one trace: an entry, its call cut by a deadline, and the callee that goes on.
func traceOf(n int) []span.Span {
	began := start.Add(time.Duration(n%2000) * 97 * time.Second).UnixNano()
	id := span.TraceID{5, 14: byte(n >> 8), 15: byte(n)}
	made := func(number byte, parent byte, service, name string, kind span.Kind, after, lasts time.Duration, attrs span.Attributes) span.Span {
		s := span.Span{
			Trace: id, ID: span.ID{byte(n), byte(n >> 8), 7: number}, Service: service, Name: name, Kind: kind,
			Start: began + int64(after), End: began + int64(after+lasts), Attrs: attrs,
			Resource: span.Attributes{"service.name": service, "service.instance.id": service + "-1"},
		}
		if parent > 0 {
			s.Parent = span.ID{byte(n), byte(n >> 8), 7: parent}
		}
		return s
	}
	lasts := 700*time.Millisecond + time.Duration(n%7)*100*time.Millisecond // from the fifth on late
	return []span.Span{
		made(1, 0, "edge", "POST /answer", span.KindServer, 0, lasts, span.Attributes{"http.route": []string{"/answer", "/ask"}[n%2], budgetattr.BudgetReceivedKey: 1.0}),
		made(2, 1, "edge", "generate", span.KindClient, 100*time.Millisecond, 500*time.Millisecond, span.Attributes{
			budgetattr.StageKey: "generate", budgetattr.CancelCauseKey: "local_deadline", budgetattr.RemainingBeforeKey: 0.9, "peer.service": "model"}),
		made(3, 2, "model", "POST /v1", span.KindServer, 110*time.Millisecond, 2*time.Second, span.Attributes{"http.route": "/v1", budgetattr.BudgetReceivedKey: 3.0}),
		// An entry without a budget, and one with none left.
		made(4, 3, "cache", "GET", span.KindServer, 120*time.Millisecond, time.Millisecond, span.Attributes{"http.route": "/get"}),
		made(5, 3, "index", "GET", span.KindServer, 120*time.Millisecond, time.Millisecond, span.Attributes{"http.route": "/get", budgetattr.BudgetReceivedKey: 0.0}),
	}
}

func manyTraces(n int) []span.Span { return manyTracesFrom(0, n) }

func manyTracesFrom(first, n int) []span.Span {
	var all []span.Span
	for i := range n {
		all = append(all, traceOf(first+i)...)
	}
	return all
}

// dump is everything the worker wrote, but for when.
func dump(t *testing.T, store *storagetest.Store) string {
	t.Helper()
	var all strings.Builder
	for table, but := range map[string]string{"verdicts": "version, ingested_at", "accounts": "version, ingested_at", "rollup_1m": "version, ingested_at, first_at",
		"rollup_1h": "version, ingested_at, first_at", "rollup_1d": "version, ingested_at, first_at",
		"tally_5m": "version, ingested_at, first_at", "tally_1h": "version, ingested_at, first_at", "tally_1d": "version, ingested_at, first_at"} {
		out, err := store.Engine.Query(fmt.Sprintf("SELECT '%s', * EXCEPT (%s) FROM %s.%s FINAL ORDER BY ALL", table, but, store.Database, table))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(out)
	}
	lines := strings.Split(all.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func count(t *testing.T, store *storagetest.Store, sql string) string {
	t.Helper()
	out, err := store.Engine.Query(strings.ReplaceAll(sql, "FROM ", "FROM "+store.Database+"."))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// However spans arrive, and wherever a worker ends, the same rows are left.
func TestSameRowsHoweverSpansArrive(t *testing.T) {
	engine := enginetest.Start(t)
	spans := manyTraces(60)
	reference := storagetest.OpenOn(t, engine)
	reference.Insert(t, spans...)
	passes(t, on(t, reference))
	want := dump(t, reference)
	for _, c := range []struct{ sql, want string }{
		{"SELECT countIf(rule = 'orphan_work'), countIf(rule = 'renewed_clock'), countIf(rule = 'late' AND service = 'edge') FROM verdicts FINAL", "60\t60\t24"},
		{"SELECT sum(requests), sum(late), sum(margins_below), sum(length(margin) > 0) > 0 FROM rollup_1m FINAL WHERE service = 'edge'", "60\t24\t24\t1"},
		{"SELECT sum(requests), sum(late), count() FROM rollup_1h FINAL WHERE service = 'edge'", "60\t24\t4"},
		{"SELECT sum(requests), sum(late), count(), sum(arraySum(mapValues(margin))) FROM rollup_1d FINAL WHERE service = 'edge'", "60\t24\t4\t60"},
	} {
		if got := count(t, reference, c.sql); got != c.want {
			t.Fatalf("%s: %s, want %s", c.sql, got, c.want)
		}
	}

	t.Run("twice", func(t *testing.T) {
		store := storagetest.OpenOn(t, engine)
		w := on(t, store)
		store.Insert(t, spans...)
		passes(t, w)
		store.Insert(t, spans...)
		passes(t, w)
		same(t, store, want)
	})
	t.Run("in other batches, out of order, with late parents", func(t *testing.T) {
		store := storagetest.OpenOn(t, engine)
		w := on(t, store)
		mixed := slices.Clone(spans)
		random := rand.New(rand.NewPCG(1, 2))
		random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for batch := range slices.Chunk(mixed, 61) {
			store.Insert(t, batch...)
			passes(t, w)
		}
		same(t, store, want)
	})
	t.Run("hops before raw spans", func(t *testing.T) {
		store := storagetest.OpenOn(t, engine)
		w := on(t, store)
		store.InsertHops(t, spans...)
		passes(t, w)
		store.InsertRaw(t, spans...)
		passes(t, w)
		same(t, store, want)
	})
	t.Run("a worker that ends at any statement", func(t *testing.T) {
		store := storagetest.OpenOn(t, engine)
		errKilled := errors.New("killed")
		random := rand.New(rand.NewPCG(3, 4))
		kills := 0
		for half := range slices.Chunk(spans, len(spans)/2) {
			store.Insert(t, half...)
			for n := 0; ; n++ {
				w := on(t, store) // a new process knows nothing but what is stored
				left := min(n, 2+random.IntN(16))
				if n > 14 {
					left = 1000
				}
				w.before = func(string) error {
					if left--; left < 0 {
						return errKilled
					}
					return nil
				}
				err := w.PassNow(t.Context())
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				kills++
			}
		}
		if kills < 10 {
			t.Errorf("only %d kills", kills)
		}
		same(t, store, want)
	})
	t.Run("an hour late", func(t *testing.T) {
		store := storagetest.OpenOn(t, engine)
		for n := 0; n < len(spans); n += 2 {
			store.Insert(t, spans[n])
		}
		if _, err := engine.Query("ALTER TABLE " + store.Database + ".hops UPDATE ingested_at = ingested_at - INTERVAL 1 HOUR WHERE 1 SETTINGS mutations_sync = 1"); err != nil {
			t.Fatal(err)
		}
		if err := on(t, store).Pass(t.Context()); err != nil { // by the trailing watermark
			t.Fatal(err)
		}
		if got := count(t, store, "SELECT sum(requests) > 0 FROM rollup_1d FINAL"); got != "1" {
			t.Fatal("nothing is done before the late half arrives")
		}
		for n := 1; n < len(spans); n += 2 {
			store.Insert(t, spans[n])
		}
		passes(t, on(t, store))
		same(t, store, want)
	})
	t.Run("nothing new", func(t *testing.T) {
		w := on(t, reference)
		passes(t, w)
		if n := w.stats.findings.Load() + w.stats.taken.Load() + w.stats.minutes.Load(); n != 0 {
			t.Errorf("%d findings and minutes written, although nothing arrived", n)
		}
	})
	t.Run("a deleted trace", func(t *testing.T) {
		less := storagetest.OpenOn(t, engine)
		less.Insert(t, spans[len(traceOf(0)):]...)
		passes(t, on(t, less))
		if err := reference.DeleteTrace(t.Context(), spans[0].Trace); err != nil {
			t.Fatal(err)
		}
		if left, err := reference.Traces(t.Context(), []span.TraceID{spans[0].Trace}, 10); err != nil || len(left) != 0 {
			t.Errorf("what is left: %v, %v", left, err)
		}
		passes(t, on(t, reference))
		same(t, reference, dump(t, less))
	})
}

func same(t *testing.T, store *storagetest.Store, want string) {
	t.Helper()
	if got := dump(t, store); got != want {
		g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range g {
			if i >= len(w) || g[i] != w[i] {
				t.Errorf("%d rows, want %d; the first that differs:\n%s\nwant\n%s", len(g), len(w), g[i], w[min(i, len(w)-1)])
				return
			}
		}
		t.Errorf("%d rows, want %d", len(g), len(w))
	}
}

// A parent that arrives late takes the finding back that it was missing.
func TestLateParentClearsIncompleteTrace(t *testing.T) {
	store := storagetest.Open(t)
	w := on(t, store)
	spans := traceOf(1)
	store.Insert(t, spans[1:]...)
	passes(t, w)
	const incomplete = "SELECT count() FROM verdicts FINAL WHERE rule = 'incomplete_trace'"
	if got := count(t, store, incomplete); got != "1" {
		t.Fatalf("%s findings without the parent", got)
	}
	store.Insert(t, spans[0])
	passes(t, w)
	if got := count(t, store, incomplete); got != "0" {
		t.Errorf("%s findings with the parent", got)
	}
	if got := count(t, store, "SELECT count(), max(is_deleted) FROM verdicts WHERE rule = 'incomplete_trace'"); got == "0\t0" {
		t.Error("the finding was never written")
	}
	var metrics strings.Builder
	if err := w.WriteMetrics(&metrics); err != nil || !strings.Contains(metrics.String(), "laxity_worker_passes_total 2\n") {
		t.Errorf("%v\n%s", err, metrics.String())
	}
}

// What may be committed after it was stamped waits for the trail.
func TestWatermarkTrails(t *testing.T) {
	store := storagetest.Open(t)
	w, err := New(Config{Store: store.DB})
	if err != nil {
		t.Fatal(err)
	}
	store.Insert(t, traceOf(1)...)
	if err := w.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	progress, err := store.Progress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	age := time.Since(progress[storage.StepMinutes])
	if age < 59*time.Second || age > 2*time.Minute || count(t, store, "SELECT count() FROM rollup_1m") != "0" {
		t.Errorf("watermark %s old, %s rows", age, count(t, store, "SELECT count() FROM rollup_1m"))
	}
	if _, err := New(Config{Store: store.DB, Trail: time.Second}); err == nil {
		t.Error("a trail that loses rows was taken")
	}
}

// A late span in an hour whose minutes may have expired brings all of them back first.
func TestWholeHours(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	at := func(minutes ...int) (all []storage.Minute) {
		for _, m := range minutes {
			all = append(all, storage.Minute{At: noon.Add(time.Duration(m) * time.Minute), Hops: 1})
		}
		return all
	}
	var both []int
	for m := range 120 {
		both = append(both, m)
	}
	for name, c := range map[string]struct{ touched, want []storage.Minute }{
		"young":       {at(60, 61, 130), at(60, 61, 130)},
		"old":         {at(3, 59), at(both[:60]...)},
		"two hours":   {at(3, 59, 61), at(append(slices.Clone(both[:60]), 61)...)},
		"none at all": {nil, nil},
	} {
		if got := wholeHours(c.touched, noon.Add(time.Hour)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := wholeHours(at(70, 110), noon.Add(80*time.Minute)); !slices.Equal(got, at(both[60:]...)) {
		t.Errorf("an hour that is partly old: %v", got)
	}
}

func TestCut(t *testing.T) {
	end := time.Unix(1000, 0)
	for _, c := range []struct {
		hops []uint64
		want int64
	}{
		{nil, 1000},
		{[]uint64{sliceHops - 1}, 1000},
		{[]uint64{10, sliceHops, 10}, 2},
		{[]uint64{sliceHops}, 1},
	} {
		var arrivals []storage.Arrival
		for i, n := range c.hops {
			arrivals = append(arrivals, storage.Arrival{Second: time.Unix(int64(i), 0), Hops: n})
		}
		if got := cut(arrivals, end, sliceHops).Unix(); got != c.want {
			t.Errorf("%v: %d, want %d", c.hops, got, c.want)
		}
	}
}
