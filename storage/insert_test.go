package storage_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// fullHop has a value in every column.
func fullHop() *span.Span {
	s := &span.Span{
		Trace: span.TraceID{0xfe, 1}, ID: span.ID{0, 7}, Parent: span.ID{3}, Service: "check'out\\", Name: "POST /é", Kind: span.KindServer,
		Status: span.StatusError, StatusMessage: "no \"time\" left", Start: 1_700_000_000_123_456_789, End: 1_700_000_001_000_000_000,
		Attrs: span.Attributes{"http.route": "/orders", "peer.service": "ledger", "error.type": "timeout"},
		Resource: span.Attributes{"service.name": "check'out\\", "service.instance.id": "a", "service.version": "1", "host.name": "h",
			"deployment.environment.name": "prod", "process.pid": int64(9)},
		Events: []span.Event{{Name: budgetattr.EventOpenChild, Time: 1_700_000_001_000_000_000, Attrs: span.Attributes{
			budgetattr.OpenChildSpanIDKey: "00000000000000aa", budgetattr.OpenChildStageKey: "rerank",
			budgetattr.OpenChildPeerKey: "ranker", budgetattr.OpenChildCauseKey: "local_deadline"}}},
		Links: []span.Link{{Trace: span.TraceID{9}, Span: span.ID{8}}},
	}
	for i, f := range hop.Facts {
		switch f.Type {
		case hop.Nanoseconds:
			s.Attrs[f.Key] = 0.5 + float64(i)
		case hop.Count:
			s.Attrs[f.Key] = int64(i)
		case hop.Number:
			s.Attrs[f.Key] = 1.25
		case hop.Flag:
			s.Attrs[f.Key] = i%2 == 0
		default:
			s.Attrs[f.Key] = fmt.Sprintf("value %d", i)
		}
	}
	return s
}

func TestAHopComesBackAsItWent(t *testing.T) {
	store := storagetest.Open(t)
	want := fullHop()
	row, _ := hop.FromSpan(want)
	if err := store.DB.InsertHops(t.Context(), []hop.Row{row}); err != nil {
		t.Fatal(err)
	}
	traces, err := store.Traces(t.Context(), []span.TraceID{want.Trace}, 10)
	if err != nil {
		t.Fatal(err)
	}
	trace := traces[want.Trace]
	if trace == nil || len(trace.Spans) != 1 || !reflect.DeepEqual(&trace.Spans[0], row.ToSpan()) {
		t.Errorf("got  %+v\nwant %+v", traces, row.ToSpan())
	}
}

// A span counts once: inside one insert, over inserts, and after another insert replaced it.
func TestHopsCountOnce(t *testing.T) {
	store := storagetest.Open(t)
	row, _ := hop.FromSpan(fullHop())
	newer := row
	newer.StatusMessage = "newer"
	for _, rows := range [][]hop.Row{{row, row, row}, {row}, {newer}} {
		if err := store.DB.InsertHops(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Engine.Query("SELECT count(), any(status_message) FROM " + store.Database + ".hops FINAL")
	if err != nil || got != "1\tnewer\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnInsertMaySpanCenturies(t *testing.T) {
	store := storagetest.Open(t)
	base, _ := hop.FromSpan(fullHop())
	var rows []hop.Row
	for month := range 110 { // more partitions than a server takes in one insert by default
		row := base
		row.Span[7] = byte(month)
		row.Start = int64(month) * 70 * 24 * 3600 * 1e9
		rows = append(rows, row)
	}
	last := base
	last.Start = hop.Latest - base.Duration
	rows = append(rows, last)
	if err := store.DB.InsertHops(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	got, err := store.Engine.Query("SELECT count(), toYear(min(ts)), toYear(max(ts)) FROM " + store.Database + ".hops FINAL")
	if err != nil || got != "111\t1970\t2261\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestQuarantineKeepsWhatItGets(t *testing.T) {
	store := storagetest.Open(t)
	q := hop.Quarantined{Reason: hop.ReasonOutOfRange, Trace: span.TraceID{1}, Span: span.ID{2}, Service: "s", Name: "n",
		Kind: span.KindClient, Start: ^uint64(0), End: 5, JSON: `{"a":"'\\"}`}
	if err := store.DB.InsertQuarantine(t.Context(), []hop.Quarantined{q}); err != nil {
		t.Fatal(err)
	}
	got, err := store.Engine.Query("SELECT reason, service, name, kind, start_ns, end_ns, span = '{\"a\":\"\\'\\\\\\\\\"}' FROM " + store.Database + ".quarantine")
	if want := "time_out_of_range\ts\tn\tClient\t18446744073709551615\t5\t1\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
}
