package storage_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// Many traces read at once by their extents are the same as each read alone: one that lasts for days, one whose spans are there
// twice, one that is too long, one of which there are hops only.
func TestTracesWithin(t *testing.T) {
	store := storagetest.Open(t)
	var spans []span.Span
	ids := map[span.TraceID]bool{}
	add := func(trace byte, n int, apart time.Duration) {
		for i := range n {
			s := request{service: "shop", route: "/orders", after: time.Duration(i) * apart, lasts: time.Second}.span()
			s.Trace = span.TraceID{9, 15: trace}
			if i%3 == 1 {
				s.Kind, s.Parent = span.KindInternal, span.ID{7} // raw spans only
			}
			ids[s.Trace] = true
			spans = append(spans, s)
		}
	}
	const limit = 10
	add(1, 4, 40*time.Hour)
	add(2, limit-2, time.Millisecond)
	add(3, limit+5, 3*time.Millisecond)
	store.Insert(t, spans...)
	store.InsertRaw(t, spans...)
	longer := spans[5]
	longer.End += int64(time.Second)
	store.InsertRaw(t, longer)
	spans = nil
	add(4, limit, time.Hour)
	add(5, 2*limit, time.Hour)
	store.InsertHops(t, spans...)

	all := make([]span.TraceID, 0, len(ids)+1)
	for id := range ids {
		all = append(all, id)
	}
	arrived := storage.Window{From: time.Unix(0, 0), To: time.Now().Add(time.Hour)}
	touched, err := store.TouchedTraces(t.Context(), storage.Arrivals{Hops: arrived, Raw: arrived, Until: arrived.To}, storage.Shard{Number: 1, Of: 1}, 100)
	if err != nil || len(touched) != len(ids) {
		t.Fatalf("%d touched traces of %d: %v", len(touched), len(ids), err)
	}
	for range 2 {
		if err := store.NoteExtents(t.Context(), touched); err != nil {
			t.Fatal(err)
		}
	}
	extents, err := store.Extents(t.Context(), append(all, span.TraceID{0xff}))
	if err != nil || len(extents) != len(ids) {
		t.Fatalf("%d extents of %d traces: %v", len(extents), len(ids), err)
	}
	var around storage.Window
	for _, w := range extents {
		around = around.Union(w)
	}
	// Raw spans are all read, hops from the window only.
	first := extents[span.TraceID{9, 15: 4}].From
	near, err := store.TracesNear(t.Context(), all, storage.Window{From: first, To: first.Add(150 * time.Minute)}, limit)
	if err != nil || len(near) != len(ids) {
		t.Fatalf("%d traces near of %d: %v", len(near), len(ids), err)
	}
	for trace, want := range map[byte]int{1: 4, 2: limit - 2, 3: limit, 4: 2, 5: 2} {
		if got := len(near[span.TraceID{9, 15: trace}].Spans); got != want {
			t.Errorf("trace %d: %d spans near, want %d", trace, got, want)
		}
	}
	got, err := store.TracesWithin(t.Context(), all, around, limit)
	if err != nil || len(got) != len(ids) {
		t.Fatalf("%d traces of %d: %v", len(got), len(ids), err)
	}
	for _, id := range all {
		alone, err := store.Traces(t.Context(), []span.TraceID{id}, limit)
		if err != nil {
			t.Fatal(err)
		}
		want := alone[id]
		if g, w := lines(got[id].Spans), lines(want.Spans); !slices.Equal(g, w) {
			t.Errorf("trace %d among others:\n%s\nalone:\n%s", id[15], strings.Join(g, "\n"), strings.Join(w, "\n"))
		}
		if got[id].Truncated != want.Truncated || got[id].Source != want.Source || want.Truncated != (id[15] == 3 || id[15] == 5) {
			t.Errorf("trace %d: truncated %t of %s, alone %t of %s", id[15], got[id].Truncated, got[id].Source, want.Truncated, want.Source)
		}
		// Its own extent holds it too.
		own, err := store.TracesWithin(t.Context(), []span.TraceID{id}, extents[id], limit)
		if err != nil || own[id] == nil {
			t.Fatalf("trace %d within %v: %v", id[15], extents[id], err)
		}
		if g, w := lines(own[id].Spans), lines(want.Spans); !slices.Equal(g, w) {
			t.Errorf("trace %d within its extent:\n%s\nat any time:\n%s", id[15], strings.Join(g, "\n"), strings.Join(w, "\n"))
		}
	}
	if s := got[span.TraceID{9, 15: 2}].Spans; len(s) != limit-2 || s[1].Duration() != 2*time.Second {
		t.Errorf("of spans that are there twice the longest is not kept: %d spans, %s", len(s), s[1].Duration())
	}
}
