package storage_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// randomRequests are requests to some routes over a time, in every way a request may end.
func randomRequests(random *rand.Rand, n int, from time.Time, over time.Duration) []span.Span {
	var all []span.Span
	for range n {
		attrs := []span.Attributes{
			received(1.0), received(2.0), received(0.0), nil, received(1.0, budgetattr.OutcomeKey, "rejected"),
			received(1.0, budgetattr.CancelCauseKey, "local_deadline"), received(1.0, budgetattr.CancelCauseKey, "client_disconnect"),
			{budgetattr.BudgetRequestedKey: 1.0, budgetattr.OutcomeKey: "rejected"},
		}[random.IntN(8)]
		r := request{[]string{"assistant", "shop"}[random.IntN(2)], []string{"/a", "/b"}[random.IntN(2)], 0,
			time.Duration(random.IntN(1_500_000_000)), attrs}
		s := r.span()
		s.Start, s.End = from.UnixNano(), from.UnixNano()+int64(r.lasts)
		shift := random.Int64N(int64(over))
		s.Start, s.End = s.Start+shift, s.End+shift
		all = append(all, s)
	}
	return all
}

// Rollups answer what hops answer: counts exactly, percentiles within their buckets; also where spans arrived that no worker has
// seen, and again, and where a trace was deleted.
func TestRollupsAnswerAsHopsDo(t *testing.T) {
	store := storagetest.Open(t)
	rolled, err := storage.Open(storage.Config{DSN: store.DSN()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rolled.Close() })
	rolled.Roll()
	random := rand.New(rand.NewPCG(1, 2))
	traces = 0
	end := time.Now().UTC()
	begin := end.Add(-9 * 24 * time.Hour)
	spans := randomRequests(random, 3000, begin, 9*24*time.Hour-time.Minute)
	store.InsertHops(t, spans...)
	check := func(name string) {
		t.Helper()
		for _, c := range []struct {
			from, to time.Time
			width    time.Duration
		}{
			{end.Add(-8*24*time.Hour - 7*time.Minute - 3*time.Second), end, 24 * time.Hour},
			{end.Add(-50*time.Hour - 13*time.Second), end.Add(-90 * time.Minute), time.Hour},
			{end.Add(-5 * time.Hour), end.Add(time.Hour), 15 * time.Minute},
			{end.Add(-205 * time.Hour), end.Add(-190 * time.Hour), time.Hour}, // minutes may be gone
		} {
			q := storage.MarginQuestion{Window: storage.Window{From: c.from, To: c.to}, Limit: 100}
			sameMargins(t, store.DB, rolled, q, c.width, name)
			if c.width == time.Hour {
				q.Service, q.Route = "shop", "/b"
				sameMargins(t, store.DB, rolled, q, c.width, name+", one route")
			}
		}
	}
	if q, err := rolled.PlanMargins(t.Context(), storage.MarginQuestion{Window: storage.Window{From: begin, To: end}}, time.Hour); err != nil || q.Approximate() {
		t.Errorf("before the first pass of a worker: %v, %v", q.Approximate(), err)
	}
	judge(t, store)
	check("all judged")
	if q, err := store.PlanMargins(t.Context(), storage.MarginQuestion{Window: storage.Window{From: begin, To: end}}, time.Hour); err != nil || q.Approximate() {
		t.Errorf("few hops are not read exactly: %v, %v", q.Approximate(), err)
	}
	store.InsertHops(t, randomRequests(random, 200, begin, 9*24*time.Hour-time.Minute)...)
	store.InsertHops(t, spans[:300]...)
	check("late spans, and again")
	if err := store.DeleteTrace(t.Context(), spans[500].Trace); err != nil {
		t.Fatal(err)
	}
	check("a deleted trace")
	judge(t, store)
	check("judged again")

	days, err := store.MarginDays(t.Context(), storage.Window{From: begin, To: end}, "shop", "/b")
	if err != nil || len(days) != 8 {
		t.Fatalf("%d days, %v", len(days), err)
	}
	for _, d := range days {
		exact, err := store.Margins(t.Context(), storage.MarginQuestion{Window: storage.Window{From: d.Day, To: d.Day.Add(24 * time.Hour)}, Service: "shop", Route: "/b", Limit: 1})
		if err != nil || len(exact) != 1 {
			t.Fatal(exact, err)
		}
		e := exact[0]
		if d.WithBudget != e.WithBudget || d.Missed != e.Late+e.Exhausted || off(d.P05, *e.P05) > 0.05 {
			t.Errorf("day %+v, hops say %+v with %s", d, e.Margins, *e.P05)
		}
	}
}

func off(got, want time.Duration) float64 {
	if got == want {
		return 0
	}
	return math.Abs(float64(got-want)) / math.Abs(float64(want))
}

func sameMargins(t *testing.T, exact, rolled *storage.DB, q storage.MarginQuestion, width time.Duration, name string) {
	t.Helper()
	want, err := exact.Margins(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := rolled.PlanMargins(t.Context(), q, width)
	if err != nil {
		t.Fatal(err)
	}
	if !planned.Approximate() {
		t.Errorf("%s: not from rollups", name)
	}
	got, err := rolled.Margins(t.Context(), planned)
	if err != nil {
		t.Fatal(err)
	}
	find := func(key uint64, rows []storage.RouteMargins) *storage.RouteMargins {
		for i := range rows {
			if rows[i].Key == key {
				return &rows[i]
			}
		}
		return nil
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d routes, want %d", name, len(got), len(want))
	}
	for _, w := range want {
		g := find(w.Key, got)
		if g == nil {
			t.Errorf("%s: %s %s is missing", name, w.Service, w.Route)
			continue
		}
		compareMargins(t, name+" "+q.From.String()+" "+w.Service+w.Route, g.Margins, w.Margins)
		q.Keys = append(q.Keys, w.Key)
	}
	planned.Keys = q.Keys
	wantBuckets, err := exact.MarginBuckets(t.Context(), q, width)
	if err != nil {
		t.Fatal(err)
	}
	gotBuckets, err := rolled.MarginBuckets(t.Context(), planned, width)
	if err != nil {
		t.Fatal(err)
	}
	if len(gotBuckets) != len(wantBuckets) {
		t.Errorf("%s: %d buckets, want %d", name, len(gotBuckets), len(wantBuckets))
		return
	}
	for i, w := range wantBuckets {
		if g := gotBuckets[i]; g.Key != w.Key || !g.At.Equal(w.At) {
			t.Errorf("%s: bucket %d is %v, want %v", name, i, g.At, w.At)
		} else {
			compareMargins(t, name+" at "+w.At.String(), g.Margins, w.Margins)
		}
	}
}

func compareMargins(t *testing.T, name string, got, want storage.Margins) {
	t.Helper()
	if got.Requests != want.Requests || got.WithBudget != want.WithBudget || got.Answered != want.Answered || got.Late != want.Late || got.Exhausted != want.Exhausted {
		t.Errorf("%s: %+v, want %+v", name, got, want)
	}
	for _, p := range []struct{ got, want *time.Duration }{{got.P05, want.P05}, {got.P50, want.P50}, {got.P95, want.P95}} {
		if (p.got == nil) != (p.want == nil) || p.got != nil && off(*p.got, *p.want) > 0.0225 {
			t.Errorf("%s: percentile %v, want %v", name, p.got, p.want)
		}
	}
	if (got.UsedP50 == nil) != (want.UsedP50 == nil) || got.UsedP50 != nil && math.Abs(*got.UsedP50-*want.UsedP50) > 0.0225*math.Abs(*want.UsedP50) {
		t.Errorf("%s: used %v, want %v", name, got.UsedP50, want.UsedP50)
	}
}
