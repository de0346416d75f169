package briefing_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	_ "modernc.org/sqlite"

	"github.com/laxity-dev/laxity/sdk/adapters/examples/briefing"
	"github.com/laxity-dev/laxity/sdk/adapters/internal/natsserver"
	"github.com/laxity-dev/laxity/sdk/adapters/natsjs"
	"github.com/laxity-dev/laxity/sdk/adapters/sqlstore"
	"github.com/laxity-dev/laxity/sdk/approval"
	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/operation"
)

// minute is a second here.
const minute = time.Second

// takes answers after a part of a minute.
func takes(part float64, answer string) briefing.Source {
	return func(ctx context.Context, question string) (string, error) {
		select {
		case <-time.After(time.Duration(part * float64(minute))):
			return answer + "(" + question + ")", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

func TestABriefingUnderSixMinutes(t *testing.T) {
	desk, server, spans, published := newDesk(t)
	began := time.Now()
	e, err := desk.Request(t.Context(), "briefing-7", "the visit")
	if err != nil {
		t.Fatal(err)
	}
	status := func() operation.Status {
		w := httptest.NewRecorder()
		operation.NewHandler(desk.Store).ServeHTTP(w, httptest.NewRequest("GET", "/briefing-7", nil))
		var s operation.Status
		if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	eventually(t, "it waits for the editor", func() bool { return status().WaitsFor == "briefing-7.publish" })
	server.Restart(t)          // nothing of the pause is in anybody's memory
	time.Sleep(3 * minute / 2) // the editor reads
	if err := desk.Answer(t.Context(), e, "the visit", approval.Answer{Approved: true, By: "editor", Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is closed", func() bool { return status().State == "closed" })
	s := status()
	var result briefing.Result
	if err := json.Unmarshal(s.Result, &result); err != nil {
		t.Fatalf("%v: %+v", err, s)
	}
	if s.Outcome != budgetattr.OutcomeDoneWithPending || result.Published != "receipt" || len(result.Pending) != 1 || result.Pending[0] != "translation" ||
		!strings.Contains(result.Text, "background of") || published.Load() != 1 {
		t.Errorf("%+v\n%+v, published %d times", s, result, published.Load())
	}
	if took := time.Since(began); took > 6*minute {
		t.Errorf("it took %v", took)
	}
	eventually(t, "two executions and a child are recorded, and what is pending", func() bool {
		pending, entries := false, 0
		for _, span := range spans.Ended() {
			for _, kv := range span.Attributes() {
				pending = pending || kv.Key == budgetattr.DecisionKey && kv.Value.AsString() == string(budgetattr.DecisionPending)
				if kv.Key == budgetattr.BudgetSourceKey && kv.Value.AsString() == "envelope" {
					entries++
				}
			}
		}
		return pending && entries == 3
	})
	units, err := envelope.Units(t.Context(), desk.Store, "briefing-7")
	if err != nil || len(units) != 2 {
		t.Errorf("%d units, %v", len(units), err)
	}
}

// The user no longer wants it while the editor thinks: a yes changes nothing.
func TestACancelledBriefingIsNotPublished(t *testing.T) {
	desk, _, _, published := newDesk(t)
	e, err := desk.Request(t.Context(), "briefing-8", "the visit")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it waits for the editor", func() bool {
		u, err := envelope.GetUnit(t.Context(), desk.Store, "briefing-8")
		return err == nil && u.PausedFor != ""
	})
	units, err := envelope.Cancel(t.Context(), desk.Store, "briefing-8", envelope.Cancellation{Cause: budgetattr.CauseClientDisconnect, By: "user"})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range units {
		if !u.Confirmed() {
			t.Errorf("%s: %+v", u.ID(), u)
		}
	}
	if err := desk.Answer(t.Context(), e, "the visit", approval.Answer{Approved: true, By: "editor", Version: "v1"}); err == nil {
		t.Error("a closed briefing was sent again")
	}
	if published.Load() != 0 {
		t.Error("published")
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// newDesk wires the system over a real broker and a database, with two workers.
func newDesk(t *testing.T) (*briefing.Desk, *natsserver.Server, *tracetest.SpanRecorder, *atomic.Int32) {
	server := natsserver.Start(t)
	js := server.Connect(t)
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "work"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "WORK", Subjects: []string{"work.>"}}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "effects.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tables := sqlstore.SQLite(db)
	if err := tables.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	published := new(atomic.Int32)
	writer, err := effect.NewWriter(tables.Effects(), effect.Operation{
		Name: "publish", Peer: "site", Expected: minute / 5, Confirm: minute / 5,
		Send: func(context.Context, effect.Request) ([]byte, error) {
			published.Add(1)
			return []byte("receipt"), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	clock := envelope.NewClock()
	if err := clock.Measure(t.Context(), "nats", natsjs.Now(kv)); err != nil {
		t.Fatal(err)
	}
	store := natsjs.Records(kv)
	pub := natsjs.NewPublisher(js, store, clock)
	desk := &briefing.Desk{
		Minute: minute, Store: store, Clock: clock, Publisher: writer,
		Send: func(ctx context.Context, kind string, e envelope.Envelope, payload []byte) error {
			return pub.Send(ctx, "work."+kind, e, payload)
		},
		CRM: takes(.3, "crm"), Search: takes(.5, "search"), Model: takes(1, "draft"), Short: takes(.1, "note"), Translate: takes(2.5, "translation"),
	}
	spans := tracetest.NewSpanRecorder()
	provider := budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	ctx, cancel := context.WithCancel(context.Background())
	units, err := envelope.NewConsumer(ctx, budget.Policy{Reserve: minute / 10}, store, clock, provider)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	for kind, work := range map[string]func(context.Context, *envelope.Run, []byte) error{briefing.KindBriefing: desk.Brief, briefing.KindResearch: desk.Research} {
		messages, err := js.CreateOrUpdateConsumer(ctx, "WORK", jetstream.ConsumerConfig{
			Durable: kind, FilterSubject: "work." + kind, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 5 * time.Second, MaxDeliver: -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		w := &natsjs.Worker{JetStream: js, Messages: messages, Units: units, Name: kind, Work: work}
		go func() { ended <- w.Run(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return desk, server, spans, published
}
