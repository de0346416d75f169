package worker

import (
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// Traces whose ids end in the same or no 8 bytes, spans sent again with another start, days late, in raw and hops apart.
func TestEqualTailsAndSpansSentAgain(t *testing.T) {
	engine := enginetest.Start(t)
	var spans []span.Span
	for n := range 6 {
		for _, s := range traceOf(n) {
			s.Trace = span.TraceID{5, byte(n), 1} // the last 8 bytes are zero
			if n%2 == 1 {
				s.Trace[12] = 7
			}
			spans = append(spans, s)
		}
	}
	again := spans[10]
	again.Start -= int64(50 * time.Hour)
	inner := spans[5]
	inner.ID, inner.Parent, inner.Kind, inner.Attrs = span.ID{9}, spans[5].ID, span.KindInternal, span.Attributes{}
	inner.Start, inner.End = inner.Start+int64(30*time.Hour), inner.End+int64(30*time.Hour)
	longer := spans[12]
	longer.End += int64(3 * time.Second)
	want := storagetest.OpenOn(t, engine)
	want.Insert(t, append(append([]span.Span{}, spans...), again, inner, longer)...)
	passes(t, on(t, want))
	all := dump(t, want)
	store := storagetest.OpenOn(t, engine)
	w := on(t, store)
	store.InsertHops(t, spans[:17]...)
	passes(t, w)
	store.InsertRaw(t, spans[:17]...)
	store.InsertRaw(t, inner)
	passes(t, w)
	store.Insert(t, again)
	passes(t, on(t, store))
	store.Insert(t, append(spans[17:], longer)...)
	passes(t, on(t, store))
	same(t, store, all)
	if err := store.DeleteTrace(t.Context(), spans[0].Trace); err != nil {
		t.Fatal(err)
	}
	passes(t, w)
	if err := want.DeleteTrace(t.Context(), spans[0].Trace); err != nil {
		t.Fatal(err)
	}
	passes(t, on(t, want))
	for _, s := range []*storagetest.Store{store, want} {
		s.Insert(t, spans[1:5]...)
		passes(t, on(t, s))
	}
	same(t, store, dump(t, want))
}
