package api

import (
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/limit"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
	"github.com/laxity-dev/laxity/storage/worker"
)

// noon is when the seeded traces happen, now is ten minutes later.
var (
	noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	now  = noon.Add(10 * time.Minute)
)

const second = time.Second

// story is one trace while it is written down.
type story struct {
	trace span.TraceID
	start time.Time
	spans []span.Span
}

func newStory(n byte, after time.Duration) *story {
	return &story{trace: span.TraceID{0x4b, 0xf9, 15: n}, start: noon.Add(after)}
}

// add writes down one span, numbered within its trace from 1; parent 0 means none.
func (s *story) add(parent byte, service, name string, kind span.Kind, at, lasts time.Duration, attrs span.Attributes) *span.Span {
	start := s.start.Add(at).UnixNano()
	if attrs == nil {
		attrs = span.Attributes{}
	}
	next := span.Span{
		Trace: s.trace, ID: span.ID{s.trace[15], 7: byte(len(s.spans) + 1)}, Service: service, Name: name, Kind: kind,
		Scope: "example/instrumentation", Start: start, End: start + int64(lasts), Attrs: attrs,
		Resource: span.Attributes{"service.name": service, "service.instance.id": service + "-1"},
	}
	if parent > 0 {
		next.Parent = span.ID{s.trace[15], 7: parent}
	}
	s.spans = append(s.spans, next)
	return &s.spans[len(s.spans)-1]
}

// lateAnswer is late by 0.3 s: a model call is cut by its deadline, and the model goes on working.
func lateAnswer() *story {
	s := newStory(1, 0)
	s.add(0, "assistant", "POST /answer", span.KindServer, 0, 1300*time.Millisecond, span.Attributes{
		"http.route": "/answer", budgetattr.BudgetReceivedKey: 1.0, budgetattr.BudgetSourceKey: "caller",
	})
	s.add(1, "assistant", "retrieve", span.KindClient, 40*time.Millisecond, 210*time.Millisecond, span.Attributes{
		budgetattr.StageKey: "retrieve", budgetattr.RemainingBeforeKey: 0.96, budgetattr.RemainingAfterKey: 0.75,
		budgetattr.AllowanceKey: 0.4, budgetattr.DecisionKey: "run", "peer.service": "search",
	})
	s.add(2, "search", "Query", span.KindServer, 50*time.Millisecond, 190*time.Millisecond, span.Attributes{
		"rpc.service": "Search", "rpc.method": "Query", budgetattr.BudgetReceivedKey: 0.4, budgetattr.BudgetSourceKey: "caller",
	})
	call := s.add(1, "assistant", "generate", span.KindClient, 260*time.Millisecond, 660*time.Millisecond, span.Attributes{
		budgetattr.StageKey: "generate", budgetattr.RemainingBeforeKey: 0.74, budgetattr.RemainingAfterKey: 0.08,
		budgetattr.AllowanceKey: 0.66, budgetattr.DecisionKey: "run", budgetattr.AttemptKey: int64(1),
		budgetattr.CancelCauseKey: "local_deadline", budgetattr.TimeoutPhaseKey: "body", "peer.service": "model",
	})
	call.Status, call.StatusMessage = span.StatusError, "context deadline exceeded"
	work := s.add(4, "model", "POST /v1/generate", span.KindServer, 280*time.Millisecond, 2400*time.Millisecond, span.Attributes{
		"http.route": "/v1/generate",
	})
	work.Events = []span.Event{{Name: "first token", Time: work.Start + int64(300*time.Millisecond), Attrs: span.Attributes{"tokens": int64(1)}}}
	work.Links = []span.Link{{Trace: span.TraceID{0x77}, Span: span.ID{0x78}, Attrs: span.Attributes{"why": "cache"}}}
	return s
}

// seed fills the store with what the golden answers show. Every span arrives twice.
func seed(t *testing.T, store *storagetest.Store) {
	t.Helper()
	spans := lateAnswer().spans
	one := func(n byte, after time.Duration, service, route string, lasts time.Duration, attrs span.Attributes) {
		s := newStory(n, after)
		attrs["http.route"] = route
		s.add(0, service, "POST "+route, span.KindServer, 0, lasts, attrs)
		spans = append(spans, s.spans...)
	}
	for i := range byte(6) {
		one(10+i, -time.Duration(i)*time.Hour, "assistant", "/answer", time.Duration(4+i)*100*time.Millisecond,
			span.Attributes{budgetattr.BudgetReceivedKey: 1.0})
		one(20+i, -7*24*time.Hour, "assistant", "/answer", time.Duration(3+i)*100*time.Millisecond, span.Attributes{budgetattr.BudgetReceivedKey: 1.0})
	}
	one(30, -time.Minute, "assistant", "/answer", 2*time.Millisecond,
		span.Attributes{budgetattr.BudgetReceivedKey: 0.002, budgetattr.OutcomeKey: "rejected"})
	one(31, -2*time.Minute, "assistant", "/answer", second,
		span.Attributes{budgetattr.BudgetReceivedKey: 1.0, budgetattr.OutcomeKey: "cancelled", budgetattr.CancelCauseKey: "local_deadline"})
	one(32, -3*time.Minute, "shop", "/orders", 800*time.Millisecond,
		span.Attributes{budgetattr.BudgetReceivedKey: 2.0, budgetattr.OutcomeKey: "degraded"})
	one(33, -4*time.Minute, "shop", "/orders", 120*time.Millisecond,
		span.Attributes{budgetattr.BudgetReceivedKey: 2.0, budgetattr.CancelCauseKey: "client_disconnect"})
	one(34, -5*time.Minute, "shop", "/health", time.Millisecond, span.Attributes{})
	store.Insert(t, spans...)
	store.Insert(t, spans...)
}

// seedLimits keeps what a worker would find in more calls than there are.
func seedLimits(t *testing.T, store *storagetest.Store) {
	t.Helper()
	edge := verdict.Edge{Caller: "assistant", Peer: "search", Operation: "retrieve"}
	found := storage.FoundLimit{Key: edge, SeenAt: noon.Add(-time.Minute), Limit: limit.Limit{
		Edge: edge, At: second, From: 999500 * time.Microsecond, To: 1001 * time.Millisecond, Round: true, Calls: 360, Cut: 30, Beyond: 1, Outlived: 20,
		TimedOut: 4, Failed: 2, After: 12 * second, Estimate: 14 * second, Past: 22, Confidence: 0.613, Examples: []string{lateTrace},
	}}
	if err := store.WriteLimits(t.Context(), []storage.FoundLimit{found}, nil); err != nil {
		t.Fatal(err)
	}
}

// judge lets a worker judge what is stored.
func judge(t *testing.T, store *storagetest.Store) {
	t.Helper()
	w, err := worker.New(worker.Config{Store: store.DB})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.PassNow(t.Context()); err != nil {
		t.Fatal(err)
	}
}
