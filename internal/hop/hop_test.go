package hop

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// full is a span with every attribute we know.
func full() *span.Span {
	s := &span.Span{
		Trace: span.TraceID{1, 2, 3}, ID: span.ID{4, 5}, Parent: span.ID{6}, TraceState: "ot=th:8", Service: "checkout",
		Name: "POST /orders", Kind: span.KindServer, Status: span.StatusError, StatusMessage: "no time left",
		Start: 1_700_000_000_000_000_000, End: 1_700_000_001_500_000_000,
		Attrs: span.Attributes{"http.route": "/orders", "peer.service": "ledger", "error.type": "timeout"},
		Resource: span.Attributes{"service.name": "checkout", "service.instance.id": "a-1", "service.version": "1.2",
			"host.name": "h1", "deployment.environment.name": "prod", "process.pid": int64(7)},
		Events: []span.Event{{Name: budgetattr.EventOpenChild, Time: 1_700_000_001_500_000_000, Attrs: span.Attributes{
			budgetattr.OpenChildSpanIDKey: "00000000000000aa", budgetattr.OpenChildStageKey: "rerank",
			budgetattr.OpenChildPeerKey: "ranker", budgetattr.OpenChildCauseKey: "local_deadline"}}},
		Links: []span.Link{{Trace: span.TraceID{9}, Span: span.ID{8}}},
	}
	for i, f := range Facts {
		switch f.Type {
		case Nanoseconds:
			s.Attrs[f.Key] = 0.25 + float64(i)
		case Count:
			s.Attrs[f.Key] = int64(i)
		case Number:
			s.Attrs[f.Key] = 1.5
		case Flag:
			s.Attrs[f.Key] = i%2 == 0
		default:
			s.Attrs[f.Key] = "value"
		}
	}
	return s
}

func TestEveryFactSurvivesARow(t *testing.T) {
	want := full()
	row, dropped := FromSpan(want)
	if dropped != 0 {
		t.Errorf("%d attributes dropped", dropped)
	}
	if row.Weight != 2 {
		t.Errorf("weight %v, want 2", row.Weight)
	}
	got := row.ToSpan()
	want.TraceState = "ot=th:8" // what the weight tells of it
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	again, _ := FromSpan(got)
	again.Weight = row.Weight
	if !reflect.DeepEqual(again, row) {
		t.Errorf("a row of the span of a row differs:\n%+v\n%+v", again, row)
	}
}

func TestEveryAttributeHasAFact(t *testing.T) {
	for _, a := range budgetattr.All() {
		if _, ok := factByKey[a.Key]; !ok {
			t.Errorf("%s has no column", a.Key)
		}
	}
	if len(factByColumn) != len(Facts) {
		t.Error("two facts share a column")
	}
}

func TestNonsenseIsLeftOutAndCounted(t *testing.T) {
	s := &span.Span{Kind: span.KindClient, Attrs: span.Attributes{
		budgetattr.BudgetReceivedKey: math.NaN(), budgetattr.MarginKey: math.Inf(-1), budgetattr.QueueTimeKey: -1.0,
		budgetattr.AllowanceKey: 1e300, budgetattr.AttemptKey: int64(-4), budgetattr.UsedRatioKey: math.Inf(1),
		budgetattr.LateKey: "perhaps", budgetattr.PostCancelCostKey: []any{1.0},
		budgetattr.RemainingBeforeKey: -0.5, budgetattr.CapKey: "2.5", "deadline.of_tomorrow": 1.0,
	}}
	row, dropped := FromSpan(s)
	if dropped != 8 {
		t.Errorf("%d dropped, want 8", dropped)
	}
	want := []Value{{Fact: factByKey[budgetattr.RemainingBeforeKey], Bits: -5e8}, {Fact: factByKey[budgetattr.CapKey], Bits: 25e8}}
	if !reflect.DeepEqual(row.Values, want) {
		t.Errorf("values %+v, want %+v", row.Values, want)
	}
}

func TestTextIsBoundedAndValid(t *testing.T) {
	s := &span.Span{Kind: span.KindClient, Name: strings.Repeat("é", 5<<20), Service: "a\xffb", StatusMessage: strings.Repeat("x", 5<<20)}
	row, _ := FromSpan(s)
	if len(row.Name) != maxText || strings.ToValidUTF8(row.Name, "") != row.Name || len(row.StatusMessage) != maxText || row.Service != "a\uFFFDb" {
		t.Errorf("name %d bytes, message %d bytes, service %q", len(row.Name), len(row.StatusMessage), row.Service)
	}
}

func TestWhichSpansAreHops(t *testing.T) {
	for _, c := range []struct {
		span span.Span
		want bool
	}{
		{span.Span{Kind: span.KindServer}, true},
		{span.Span{Kind: span.KindClient}, true},
		{span.Span{Kind: span.KindProducer}, true},
		{span.Span{Kind: span.KindConsumer}, true},
		{span.Span{Kind: span.KindInternal}, true},
		{span.Span{Kind: span.KindInternal, Parent: span.ID{1}}, false},
		{span.Span{Kind: span.KindUnspecified, Parent: span.ID{1}, Attrs: span.Attributes{"http.route": "/"}}, false},
		{span.Span{Kind: span.KindInternal, Parent: span.ID{1}, Attrs: span.Attributes{budgetattr.StageKey: "rerank"}}, true},
	} {
		if got := Is(&c.span); got != c.want {
			t.Errorf("%v %v: %v", c.span.Kind, c.span.Attrs, got)
		}
	}
}

func TestWhatAnEntrySaysByItself(t *testing.T) {
	entry := span.Span{Kind: span.KindServer, Parent: span.ID{1}, End: 1_300_000_000, Attrs: span.Attributes{budgetattr.BudgetReceivedKey: 1.0}}
	if row, _ := FromSpan(&entry); !row.Entry || !row.Answered || row.Exhausted {
		t.Errorf("a late answer: %+v", row)
	}
	entry.Attrs[budgetattr.CancelCauseKey] = string(budgetattr.CauseLocalDeadline)
	if row, _ := FromSpan(&entry); !row.Entry || row.Answered || !row.Exhausted {
		t.Errorf("ended by its own deadline: %+v", row)
	}
	entry.Name = "GET /orders/42"
	if row, _ := FromSpan(&entry); row.Route != verdict.RouteOf(&entry) || row.Route == "" {
		t.Errorf("route %q, the statement says %q", row.Route, verdict.RouteOf(&entry))
	}
	call := span.Span{Kind: span.KindClient, Parent: span.ID{1}, Attrs: span.Attributes{"http.route": "/"}}
	if row, _ := FromSpan(&call); row.Entry || row.Answered || row.Exhausted || row.Route != "" {
		t.Errorf("a call: %+v", row)
	}
}

func TestWeight(t *testing.T) {
	for state, want := range map[string]float64{
		"": 1, "ot=th:0": 1, "ot=th:8": 2, "ot=th:c": 4, "vendor=1,ot=rv:aa;th:fd70a4": 1 / 0.01 * 1, "ot=th:xyz": 1, "ot=th:000000000000001": 1,
	} {
		if got := Weight(state); math.Abs(got-want) > want*1e-3 {
			t.Errorf("Weight(%q) = %v, want %v", state, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	trace, id := span.TraceID{1}, span.ID{1}
	year := func(seconds int64) uint64 { return uint64(seconds * 1e9) }
	for _, c := range []struct {
		name       string
		trace      span.TraceID
		id         span.ID
		start, end uint64
		want       Reason
	}{
		{"1970", trace, id, 0, 1, ReasonNone},
		{"end of 2261", trace, id, Latest, Latest, ReasonNone},
		{"2262", trace, id, Latest, Latest + 1, ReasonOutOfRange},
		{"1969", trace, id, year(-1), year(1), ReasonOutOfRange},
		{"end before start", trace, id, 2, 1, ReasonBeforeStart},
		{"no trace", span.TraceID{}, id, 1, 2, ReasonNoTraceID},
		{"no span", trace, span.ID{}, 1, 2, ReasonNoSpanID},
	} {
		if got := Check(c.trace, c.id, c.start, c.end); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func batch() *Batch {
	row, _ := FromSpan(full())
	small, _ := FromSpan(&span.Span{Trace: span.TraceID{7}, ID: span.ID{7}, Service: "ledger", Kind: span.KindClient})
	return &Batch{Rows: []Row{row, small, row}, Quarantined: []Quarantined{
		{Reason: ReasonOutOfRange, Trace: span.TraceID{1}, Service: "ledger", Name: "n", Start: math.MaxUint64, End: 1, JSON: `{"name":"n"}`}}}
}

func TestBatchSurvivesTheQueue(t *testing.T) {
	want := batch()
	got, err := Decode(want.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(batch().Encode())
	f.Add([]byte{encodingVersion})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Decode(b.Encode())
		if err != nil || len(again.Rows) != len(b.Rows) || len(again.Quarantined) != len(b.Quarantined) {
			t.Errorf("encoded again: %v", err)
		}
	})
}
