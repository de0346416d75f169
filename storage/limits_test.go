package storage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/limit"
	"github.com/laxity-dev/laxity/internal/skew"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// limitSpans are calls of a store by a shop: half of them end after 2 s, a fifth of these by a timeout that is recorded, and its
// callee works on at the others. What the shop calls has an address and no service; the store's clock is 90 s behind.
func limitSpans() []span.Span {
	var all []span.Span
	for i := range 40 {
		at := noon.Add(time.Duration(i) * 10 * time.Second)
		call := span.Span{Trace: span.TraceID{6, 15: byte(i)}, ID: span.ID{6, byte(i), 7: 1}, Service: "shop", Name: "GET", Kind: span.KindClient,
			Start: at.UnixNano(), End: at.Add(time.Duration(20+i) * time.Millisecond).UnixNano(),
			Attrs: span.Attributes{"server.address": "10.0.0.7"}, Resource: span.Attributes{"host.name": "a"}}
		callee := span.Span{Trace: call.Trace, ID: span.ID{6, byte(i), 7: 2}, Parent: call.ID, Service: "store", Name: "GET", Kind: span.KindServer,
			Start: at.Add(2*time.Millisecond - 90*time.Second).UnixNano(), End: call.End - int64(2*time.Millisecond) - int64(90*time.Second),
			Attrs: span.Attributes{}, Resource: span.Attributes{"host.name": "b"}}
		if i%2 == 0 {
			call.End = at.Add(2*time.Second + time.Duration(i)*10*time.Microsecond).UnixNano()
			callee.End = callee.Start + int64(3*time.Second)
			if i%10 == 0 {
				call.Attrs[budgetattr.TimeoutPhaseKey] = "first_byte"
				callee.End = callee.Start + int64(time.Second)
			}
		}
		all = append(all, call, callee)
	}
	return all
}

// The limit and the offset are found in stored hops, each span counted once, as they are in the spans themselves.
func TestLimitsAndOffsetsAreFound(t *testing.T) {
	store := storagetest.Open(t)
	spans := limitSpans()
	store.Insert(t, spans...)
	store.Insert(t, spans...)
	arrival := storage.Window{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
	found, looked, err := store.FindLimits(t.Context(), arrival)
	if err != nil || len(found) != 1 {
		t.Fatalf("limits %+v, %v", found, err)
	}
	key := verdict.Edge{Caller: "shop", Peer: "10.0.0.7", Operation: "GET"}
	if !looked[key] || found[0].Key != key || found[0].Address != "10.0.0.7" || found[0].Edge.Peer != "store" {
		t.Errorf("limit of %+v as %+v, looked at %v", found[0].Edge, found[0].Key, looked)
	}
	var calls []verdict.Call
	for _, group := range verdict.Group(spans) {
		calls = append(calls, verdict.Calls(group)...)
	}
	offline := limit.Find(calls)
	if len(offline) != 1 || offline[0].At != found[0].At || offline[0].Cut != found[0].Cut || offline[0].Outlived != found[0].Outlived ||
		offline[0].TimedOut != found[0].TimedOut || offline[0].After != found[0].After || offline[0].Confidence != found[0].Confidence {
		t.Errorf("in the spans themselves: %+v, stored %+v", offline, found)
	}
	if err := store.WriteLimits(t.Context(), found, nil); err != nil {
		t.Fatal(err)
	}
	kept, err := store.KeptLimits(t.Context())
	if err != nil || len(kept) != 1 || kept[0].Key != key || !kept[0].SeenAt.Equal(found[0].SeenAt) || kept[0].Address != found[0].Address {
		t.Errorf("kept %+v, %v", kept, err)
	}
	rows, err := store.Limits(t.Context(), storage.ReportQuestion{Window: day, Limit: 10, Peer: "store"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report_limits", rows)
	for name, q := range map[string]storage.ReportQuestion{
		"another service": {Window: day, Limit: 10, Service: "' OR 1 = 1 --"}, "another day": {Window: day.Shift(-48 * time.Hour), Limit: 10},
		"the second page": {Window: day, Limit: 10, Skip: 1},
	} {
		if rows, err := store.Limits(t.Context(), q); err != nil || len(rows) != 0 {
			t.Errorf("%s: %+v, %v", name, rows, err)
		}
	}
	traces, err := store.LimitTraces(t.Context(), found[0], 100)
	if err != nil || len(traces) != 20 {
		t.Errorf("%d traces at the limit, %v", len(traces), err)
	}
	if err := store.WriteLimits(t.Context(), nil, found); err != nil {
		t.Fatal(err)
	}
	if kept, err := store.KeptLimits(t.Context()); err != nil || len(kept) != 0 {
		t.Errorf("taken back, but %+v, %v", kept, err)
	}
	if err := store.WriteLimits(t.Context(), found, nil); err != nil {
		t.Fatal(err)
	}

	stretches, err := store.TouchedStretches(t.Context(), arrival)
	if err != nil || len(stretches) != 2 || !stretches[1].At.Equal(noon) { // the store's clock puts its spans before noon
		t.Fatalf("stretches %+v, %v", stretches, err)
	}
	offsets, err := store.FindOffsets(t.Context(), []time.Time{noon.Add(-skew.Width), noon})
	if err != nil {
		t.Fatal(err)
	}
	want := skew.Learn(calls, limit.Hidden(offline)).Offsets()
	if len(offsets) != 1 || len(want) != 1 || offsets[0] != want[0] || offsets[0].Low > -90*time.Second || offsets[0].High < -90*time.Second {
		t.Errorf("offsets %+v, in the spans themselves %+v", offsets, want)
	}
	if err := store.WriteOffsets(t.Context(), offsets, nil); err != nil {
		t.Fatal(err)
	}
	keptOffsets, err := store.Offsets(t.Context(), noon.Add(5*time.Minute), noon.Add(time.Hour))
	if err != nil || len(keptOffsets) != 1 || keptOffsets[0] != offsets[0] {
		t.Errorf("kept %+v, %v", keptOffsets, err)
	}
	if traces, err := store.OffsetTraces(t.Context(), []time.Time{noon}, 100); err != nil || len(traces) != 40 {
		t.Errorf("%d traces that clocks concern, %v", len(traces), err)
	}

	trace := spans[4:6] // the third request: its call was cut, its callee worked on
	opts, err := store.Learned(t.Context(), trace, verdict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	statement := verdict.Judge(trace, opts)
	if statement.FirstViolation != verdict.RuleOrphanWork || !strings.Contains(statement.Findings[len(statement.Findings)-1].Text, "a limit of 2 s that nobody recorded") {
		t.Errorf("judged by what was learned: %+v", statement.Findings)
	}
	if low, _, _, ok := opts.Offsets.Between("host a", "host b", trace[0].Start); !ok || low > -90*time.Second {
		t.Errorf("offset %s, %t", low, ok)
	}
}
