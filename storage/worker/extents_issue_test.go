package worker

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

const incompleteFindings = "SELECT count() FROM verdicts FINAL WHERE rule = 'incomplete_trace'"

// Of a trace whose inner spans are read first, by themselves, the finding that their parent is missing is taken back when its hops are read.
func TestIssueAttachedInnerSpansFirst(t *testing.T) {
	engine := enginetest.Start(t)
	table := stock(t, engine)
	store := storagetest.OpenOn(t, engine)
	attachTo(t, store, table.Table)
	trace := theirs(traceOf(1))
	inner := innerOf(trace[0], time.Minute)
	inner.End = inner.Start + int64(time.Second)
	table.Insert(t, inner)
	w := on(t, store)
	passes(t, w)
	if got := count(t, store, incompleteFindings); got != "1" {
		t.Fatal(got)
	}
	table.Insert(t, trace...)
	passes(t, w)
	if got := count(t, store, incompleteFindings); got != "0" {
		t.Errorf("%s findings that spans are missing, though all are there", got)
	}
	want := storagetest.OpenOn(t, engine)
	table2 := stock(t, engine)
	attachTo(t, want, table2.Table)
	table2.Insert(t, append(trace, inner)...)
	passes(t, on(t, want))
	same(t, store, dump(t, want))
}

// After a database was upgraded the first pass learns before it notes: what was judged before is judged again all the same.
func TestIssueUpgradedDatabaseIsJudgedAgainByWhatIsLearned(t *testing.T) {
	engine := enginetest.Start(t)
	spans := adSpans(150, 5*time.Minute)
	want := storagetest.OpenOn(t, engine)
	want.Insert(t, spans...)
	passes(t, learning(t, want))

	store := storagetest.OpenOn(t, engine)
	store.Insert(t, spans...)
	w := learning(t, store)
	w.learnedAt, w.learning = time.Now(), time.Hour // judged, and nothing learned yet
	passes(t, w)
	forgetExtents(t, store)
	for range 3 {
		passes(t, learning(t, store))
	}
	unchanged(t, store, known(t, want))
}

// A slice may end between hops and their raw spans, or in the second of both: what is there of the trace is judged, or the trace is left to the next
// slice. Nothing is found that the next slice takes back, for counters never fall and alerts go out.
func TestIssueSliceEndsBetweenHopsAndRawSpans(t *testing.T) {
	store := storagetest.Open(t)
	trace := traceOf(1)
	inner := innerOf(trace[2], 1500*time.Millisecond) // what the model does by itself, seconds after all hops have begun
	inner.End = trace[2].End + int64(5*time.Second)
	trace = append(trace, inner)
	store.Insert(t, trace...)
	var ms int64
	if _, err := fmt.Sscan(count(t, store, "SELECT toUnixTimestamp64Milli(max(ingested_at)) FROM hops"), &ms); err != nil {
		t.Fatal(err)
	}
	w := on(t, store)
	p := &pass{Worker: w, progress: map[storage.Step]time.Time{}, now: time.Now(), trail: time.Minute}
	end := time.UnixMilli(ms).UTC().Add(time.Millisecond)
	if err := p.judge(t.Context(), storage.Window{From: time.Unix(0, 0), To: end}); err != nil {
		t.Fatal(err)
	}
	if got := count(t, store, incompleteFindings); got != "0" {
		t.Errorf("%s findings that spans are missing, which are there", got)
	}
	first := judgedRows(t, store)
	if err := p.judge(t.Context(), storage.Window{From: end, To: time.Now().Add(2 * time.Second)}); err != nil {
		t.Fatal(err)
	}
	if got := count(t, store, incompleteFindings); got != "0" {
		t.Errorf("%s findings that spans are missing after the next slice", got)
	}
	if last := judgedRows(t, store); first != last {
		t.Errorf("judged first by a part of what was there:\n%s\nthen\n%s", first, last)
	}
	if n := w.stats.taken.Load(); n != 0 {
		t.Errorf("%d findings taken back", n)
	}
}

// Down to the schema before and up again: what the worker of before judged meanwhile is judged as a whole when more of it arrives.
func TestIssueDownAndUpAgain(t *testing.T) {
	engine := enginetest.Start(t)
	store := storagetest.OpenOn(t, engine)
	store.Insert(t, traceOf(2)...)
	passes(t, on(t, store)) // "extents" is noted as done
	spans := traceOf(1)
	store.Insert(t, spans[1:]...)
	passes(t, on(t, store))
	if got := count(t, store, incompleteFindings); got != "1" {
		t.Fatal(got)
	}
	to := func(n uint) {
		if _, err := migrations.To(t.Context(), migrations.Config{DSN: store.DSN()}, n); err != nil {
			t.Fatal(err)
		}
	}
	to(37)
	to(38)
	store.Insert(t, spans[0])
	passes(t, on(t, store))
	if got := count(t, store, incompleteFindings); got != "0" {
		t.Errorf("%s findings with the parent", got)
	}
}

// A worker killed between noting and each write, with the parent arriving in between.
func TestIssueKilledWhileSpansArrive(t *testing.T) {
	engine := enginetest.Start(t)
	spans := manyTraces(6)
	want := storagetest.OpenOn(t, engine)
	want.Insert(t, spans...)
	passes(t, on(t, want))
	all := dump(t, want)
	for _, at := range []string{"note extents", "write accounts"} {
		store := storagetest.OpenOn(t, engine)
		var early, late []span.Span
		for i, s := range spans {
			if i%5 == 0 || i%5 == 2 {
				late = append(late, s)
			} else {
				early = append(early, s)
			}
		}
		store.Insert(t, early...)
		w := on(t, store)
		w.before = func(s string) error {
			if s == at {
				return errors.New("killed")
			}
			return nil
		}
		_ = w.PassNow(t.Context())
		store.Insert(t, late...)
		shard := func(n, of int) {
			w, err := New(Config{Store: store.DB, DaysEvery: 1, Shard: storage.Shard{Number: n, Of: of}})
			if err != nil {
				t.Fatal(err)
			}
			passes(t, w)
		}
		shard(1, 2)
		shard(2, 2)
		passes(t, on(t, store))
		if got := dump(t, store); got != all {
			t.Errorf("killed at %s", at)
			same(t, store, all)
		}
	}
}

func judgedRows(t *testing.T, store *storagetest.Store) string {
	return count(t, store, "SELECT service, rule, amount_ns, text FROM verdicts FINAL ORDER BY ALL") + "\n" +
		count(t, store, "SELECT service, route, margin_ns, rules, spent.kind, spent.stage, spent.ns FROM accounts FINAL ORDER BY ALL")
}

// Before extents were kept a trace of inner spans only was judged, of which neither hops nor raw spans of ours are there: the finding is taken back when
// its hops are read.
func TestIssueUpgradedAttachedInnerSpans(t *testing.T) {
	engine := enginetest.Start(t)
	table := stock(t, engine)
	store := storagetest.OpenOn(t, engine)
	attachTo(t, store, table.Table)
	trace := theirs(traceOf(1))
	inner := innerOf(trace[0], time.Minute)
	inner.End = inner.Start + int64(time.Second)
	table.Insert(t, inner)
	table.Insert(t, theirs(traceOf(2))...)
	passes(t, on(t, store))
	if got := count(t, store, incompleteFindings); got != "1" {
		t.Fatal(got)
	}
	forgetExtents(t, store)
	passes(t, on(t, store)) // notes what is there
	table.Insert(t, trace...)
	passes(t, on(t, store))
	if got := count(t, store, incompleteFindings); got != "0" {
		t.Errorf("%s findings that spans are missing, though all are there", got)
	}
}
