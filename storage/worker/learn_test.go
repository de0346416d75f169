package worker

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/skew"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// adSpans are requests whose calls of ads end after 800 ms, which nothing records: ads answers some in time and works on at the
// others. The clock of its machine is ahead. Calls of prices have no limit.
func adSpans(n int, ahead time.Duration) []span.Span {
	random := rand.New(rand.NewPCG(7, 8))
	var all []span.Span
	for i := range n {
		began := start.Add(time.Duration(i) * 3 * time.Second)
		trace := span.TraceID{9, 14: byte(i >> 8), 15: byte(i)}
		number := byte(0)
		add := func(parent byte, service, name string, kind span.Kind, after, lasts time.Duration) byte {
			number++
			s := span.Span{
				Trace: trace, ID: span.ID{9, byte(i >> 8), byte(i), 7: number}, Service: service, Name: name, Kind: kind,
				Start: began.Add(after).UnixNano(), End: began.Add(after + lasts).UnixNano(), Attrs: span.Attributes{},
				Resource: span.Attributes{"service.name": service, "host.name": service + "-host"},
			}
			if kind == span.KindClient {
				s.Attrs["server.address"] = strings.Fields(name)[0] + ".internal"
			}
			if parent > 0 {
				s.Parent = span.ID{9, byte(i >> 8), byte(i), 7: parent}
			}
			all = append(all, s)
			return number
		}
		root := add(0, "shop", "GET /", span.KindServer, 0, time.Second)
		needs := time.Duration(50+random.ExpFloat64()*600) * time.Millisecond
		call := add(root, "shop", "ads get", span.KindClient, 10*time.Millisecond, min(needs+4*time.Millisecond, 800*time.Millisecond+time.Duration(random.IntN(400))*time.Microsecond))
		add(call, "ads", "get", span.KindServer, ahead+12*time.Millisecond, needs)
		call = add(root, "shop", "prices get", span.KindClient, 20*time.Millisecond, needs+4*time.Millisecond)
		add(call, "prices", "get", span.KindServer, 22*time.Millisecond, needs)
	}
	return all
}

// learning is a worker that learns in every pass.
func learning(t *testing.T, store *storagetest.Store) *Worker {
	t.Helper()
	w, err := New(Config{Store: store.DB, LearnEvery: 1})
	if err != nil {
		t.Fatal(err)
	}
	return w // a new one has not learned yet, so the next pass does
}

// known is what was learned and what was judged by it, but for when.
func known(t *testing.T, store *storagetest.Store) string {
	t.Helper()
	var all strings.Builder
	for _, table := range []string{"limits", "offsets", "verdicts"} {
		out, err := store.Engine.Query("SELECT * EXCEPT (version, ingested_at) FROM " + store.Database + "." + table + " FINAL ORDER BY ALL")
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(out)
	}
	return all.String()
}

func unchanged(t *testing.T, store *storagetest.Store, want string) {
	t.Helper()
	if got := known(t, store); got != want {
		t.Errorf("%d bytes, want %d:\n%s\nwant\n%s", len(got), len(want), got[:min(len(got), 2000)], want[:min(len(want), 2000)])
	}
}

// A limit that nobody recorded and a clock that is ahead are found in stored hops, whenever they arrive and wherever a worker
// ends; traces judged before are judged again.
func TestWorkerLearns(t *testing.T) {
	engine := enginetest.Start(t)
	spans := adSpans(150, 5*time.Minute)
	reference := storagetest.OpenOn(t, engine)
	reference.Insert(t, spans...)
	passes(t, learning(t, reference))
	want := known(t, reference)
	limits, err := reference.Limits(t.Context(), storage.ReportQuestion{Window: storage.Window{From: start, To: start.Add(time.Hour)}, Limit: 10})
	if err != nil || len(limits) != 1 {
		t.Fatalf("limits %+v, %v", limits, err)
	}
	l := limits[0]
	if l.Service != "shop" || l.Peer != "ads" || l.Operation != "ads get" || l.Limit.Duration() != 800*time.Millisecond || l.Calls != 150 || l.Beyond != 0 ||
		l.Outlived < l.Cut*9/10 || l.Confidence < 0.5 || len(l.Examples) != 5 {
		t.Errorf("limit %+v", l)
	}
	offsets, err := reference.Offsets(t.Context(), start, start.Add(time.Hour))
	if err != nil || len(offsets) != 1 {
		t.Fatalf("offsets %+v, %v", offsets, err)
	}
	for _, o := range offsets {
		if o.Pair != (skew.Pair{Caller: "host shop-host", Callee: "host ads-host"}) || o.Low > 5*time.Minute || o.High < 5*time.Minute || o.High-o.Low > 5*time.Millisecond {
			t.Errorf("offset %+v", o)
		}
	}
	if got := count(t, reference, "SELECT countIf(rule = 'orphan_work' AND service = 'ads' AND text LIKE '%a limit of 800 ms that nobody recorded%') = countIf(rule = 'orphan_work'), countIf(rule = 'orphan_work') > 20 FROM verdicts FINAL"); got != "1\t1" {
		t.Errorf("findings: %s", got)
	}

	t.Run("in batches", func(t *testing.T) {
		store := storagetest.OpenOn(t, engine)
		w := learning(t, store)
		for _, part := range [][]span.Span{spans[:30], spans[30:60], spans[60:400], spans[400:]} {
			store.Insert(t, part...)
			w.learning = 0
			passes(t, w)
		}
		unchanged(t, store, want)
	})
	t.Run("a worker that ends at any statement", func(t *testing.T) {
		store := storagetest.OpenOn(t, engine)
		errKilled := errors.New("killed")
		for i, part := range [][]span.Span{spans[:100], spans[100:]} {
			store.Insert(t, part...)
			for n := 1 + 2*i; ; n += 4 { // the second half ends where the first did not
				w := learning(t, store)
				left := n
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
			}
		}
		unchanged(t, store, want)
	})
	t.Run("nothing new", func(t *testing.T) {
		w := learning(t, reference)
		passes(t, w)
		if n := w.stats.findings.Load() + w.stats.taken.Load(); n != 0 {
			t.Errorf("%d findings written, although nothing arrived", n)
		}
		unchanged(t, reference, want)
	})
	t.Run("a limit that is lifted", func(t *testing.T) {
		late := adSpans(150, 5*time.Minute)
		for i := range late {
			s := &late[i]
			s.Trace[1], s.ID[5], s.Start, s.End = 1, 1, s.Start+int64(20*time.Minute), s.End+int64(20*time.Minute)
			if !s.Parent.IsZero() {
				s.Parent[5] = 1
			}
			if s.Name == "ads get" && s.Kind == span.KindClient { // as long as its callee
				s.End = s.Start + late[i+1].End - late[i+1].Start + int64(4*time.Millisecond)
			}
		}
		reference.Insert(t, late...)
		passes(t, learning(t, reference))
		if kept, err := reference.KeptLimits(t.Context()); err != nil || len(kept) != 0 {
			t.Errorf("limits %+v, %v", kept, err)
		}
		if got := count(t, reference, "SELECT count() FROM verdicts FINAL WHERE rule = 'orphan_work'"); got != "0" {
			t.Errorf("%s findings rest on a limit that is none", got)
		}
	})
}

// What the sdk granted time for has no hidden limit, and clocks that agree have no offset.
func TestWorkerLearnsNothingFromNothing(t *testing.T) {
	store := storagetest.Open(t)
	spans := adSpans(200, 0)
	for i := range spans {
		if spans[i].Name == "ads get" {
			spans[i].Attrs[budgetattr.AllowanceKey] = 0.8
		}
	}
	store.Insert(t, spans...)
	passes(t, learning(t, store))
	if got := count(t, store, "SELECT count() FROM limits") + count(t, store, "SELECT count() FROM offsets"); got != "00" {
		t.Errorf("%s limits and offsets", got)
	}
}
