package natsjs_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/laxity-dev/laxity/sdk/adapters/internal/natsserver"
	"github.com/laxity-dev/laxity/sdk/adapters/internal/postgres"
	"github.com/laxity-dev/laxity/sdk/adapters/natsjs"
	"github.com/laxity-dev/laxity/sdk/adapters/sqlstore"
	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

// system is a broker with the parts of several workers, and what they recorded.
type system struct {
	*testing.T
	server  *natsserver.Server
	js      jetstream.JetStream
	kv      jetstream.KeyValue
	store   record.Store
	clock   *envelope.Clock
	pub     *natsjs.Publisher
	spans   *tracetest.SpanRecorder
	metrics *sdkmetric.ManualReader
	opts    []budget.Option
	policy  budget.Policy
}

// ackWait is how soon the broker gives the work of a silent worker to another.
const ackWait = 500 * time.Millisecond

func newSystem(t *testing.T) *system {
	s := &system{T: t, server: natsserver.Start(t), clock: envelope.NewClock(), spans: tracetest.NewSpanRecorder(), metrics: sdkmetric.NewManualReader()}
	s.js = s.server.Connect(t)
	var err error
	if s.kv, err = s.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "work"}); err != nil {
		t.Fatal(err)
	}
	if _, err = s.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "WORK", Subjects: []string{"work.>", "late.>"}}); err != nil {
		t.Fatal(err)
	}
	s.store = natsjs.Records(s.kv)
	s.must(s.clock.Measure(t.Context(), "nats", natsjs.Now(s.kv)))
	s.pub = natsjs.NewPublisher(s.js, s.store, s.clock)
	s.opts = []budget.Option{
		budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))),
		budget.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.metrics))),
	}
	s.policy = budget.Policy{Cleanup: 500 * time.Millisecond}
	return s
}

func (s *system) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// work takes what is sent to work.NAME until the test ends.
func (s *system) work(name string, do func(ctx context.Context, r *envelope.Run, payload []byte) error) <-chan envelope.Disposition {
	return s.workAs(name, s.clock, do)
}

func (s *system) workAs(name string, clock *envelope.Clock, do func(ctx context.Context, r *envelope.Run, payload []byte) error) <-chan envelope.Disposition {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	units, err := envelope.NewConsumer(ctx, s.policy, s.store, clock, s.opts...)
	s.must(err)
	consumer, err := s.js.CreateOrUpdateConsumer(ctx, "WORK", jetstream.ConsumerConfig{
		Durable: name, FilterSubject: "work." + name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1,
	})
	s.must(err)
	said := make(chan envelope.Disposition, 64)
	w := &natsjs.Worker{JetStream: s.js, Messages: consumer, Units: units, Name: name, Work: do, Concurrency: 4,
		Each: func(d envelope.Disposition, err error) {
			if err != nil {
				s.Errorf("broker: %v", err)
			}
			said <- d
		}}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	})
	return said
}

func (s *system) send(ctx context.Context, to string, spec envelope.Spec) envelope.Envelope {
	s.Helper()
	e, err := envelope.New(ctx, s.clock, spec)
	s.must(err)
	s.must(s.pub.Send(ctx, "work."+to, e, []byte("payload")))
	return e
}

func next[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came within 30 s")
		panic("unreachable")
	}
}

func (s *system) unit(id string) envelope.Unit {
	s.Helper()
	u, err := envelope.GetUnit(context.Background(), s.store, id)
	s.must(err)
	return u
}

// eventually polls.
func (s *system) eventually(what string, ok func() bool) {
	s.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("not within two minutes: %s", what)
		}
	}
}

type attrs map[attribute.Key]attribute.Value

func attributesOf(span sdktrace.ReadOnlySpan) attrs {
	m := attrs{}
	for _, kv := range span.Attributes() {
		m[kv.Key] = kv.Value
	}
	return m
}

// entries returns the entry spans of a unit, in the order of their end.
func (s *system) entries(id string) []attrs {
	var list []attrs
	for _, span := range s.spans.Ended() {
		if a := attributesOf(span); a[budgetattr.WorkIDKey].AsString() == id && a[budgetattr.OutcomeKey].AsString() != "" {
			list = append(list, a)
		}
	}
	return list
}

// count sums a counter over its labels.
func (s *system) count(name string) float64 {
	var rm metricdata.ResourceMetrics
	s.must(s.metrics.Collect(context.Background(), &rm))
	total := 0.0
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					total += float64(p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					total += p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					total += p.Sum
				}
			}
		}
	}
	return total
}

// checks are the eight that every scenario of agents must pass, over the units below the roots.
func (s *system) checks(effects effect.Store, roots ...string) {
	s.Helper()
	units := map[string]envelope.Unit{}
	for _, root := range roots {
		list, err := envelope.Units(context.Background(), s.store, root)
		s.must(err)
		for _, u := range list {
			units[u.ID()] = u
		}
	}
	for id, u := range units {
		// 2. The nearest limit won.
		if p, ok := units[u.Envelope.ParentID]; ok && u.Envelope.DeadlineAt.After(p.Envelope.DeadlineAt.Add(-p.Envelope.Synthesis.Duration())) {
			s.Errorf("%s: deadline %v is after what its parent could give, %v", id, u.Envelope.DeadlineAt, p.Envelope.DeadlineAt)
		}
		// 3. Attempts did not renew.
		made := 0
		for _, n := range u.Attempts {
			made += n
		}
		for _, n := range u.Envelope.Attempts {
			made -= n
		}
		if left := u.Envelope.AttemptsLeft; left >= 0 && made > left {
			s.Errorf("%s: %d attempts, %d allowed", id, made, left)
		}
		// 4. Cancellation reached every known branch. 6. The state is readable.
		if u.State != envelope.Closed || u.Outcome == "" {
			s.Errorf("%s ends as %s %q", id, u.State, u.Outcome)
		}
		s.eventually(id+" confirms that it stopped", func() bool { u := s.unit(id); return u.Confirmed() })
	}
	for _, span := range s.spans.Ended() {
		a := attributesOf(span)
		// 1. Nothing started without time.
		if a[budgetattr.DecisionKey].AsString() == string(budgetattr.DecisionRun) && a[budgetattr.AllowanceKey].AsFloat64() < a[budgetattr.MinUsefulKey].AsFloat64() {
			s.Errorf("%s started with %v of %v s", span.Name(), a[budgetattr.AllowanceKey].AsFloat64(), a[budgetattr.MinUsefulKey].AsFloat64())
		}
		if u, ok := units[a[budgetattr.WorkIDKey].AsString()]; ok && a[budgetattr.OutcomeKey].AsString() != "" {
			whole := u.Envelope.DeadlineAt.Sub(u.Envelope.CreatedAt).Seconds()
			if got := a[budgetattr.BudgetReceivedKey].AsFloat64(); got > max(whole-a[budgetattr.EnvelopeWaitKey].AsFloat64(), 0)+0.001 {
				s.Errorf("%s received %v s of %v s after waiting %v s", span.Name(), got, whole, a[budgetattr.EnvelopeWaitKey].AsFloat64())
			}
		}
	}
	// 5. Uncertain effects are known, and listed for reconciliation.
	if effects != nil {
		open, err := effects.Unsettled(context.Background(), time.Now().Add(time.Hour), 100)
		s.must(err)
		for _, e := range open {
			if e.State == budgetattr.EffectSent && time.Now().After(e.SettledBy) {
				s.Errorf("effect %s rests as %s", e.Key, e.State)
			}
		}
	}
	// 7. No late answer changes a closed decision. 8. Late results are in the metrics.
	late := 0
	for id, u := range units {
		late += u.LateCount
		_, err := record.Change(context.Background(), s.store, "unit."+id, func(now envelope.Unit, _ bool) (envelope.Unit, error) {
			if now.Outcome != u.Outcome || string(now.Result) != string(u.Result) {
				s.Errorf("%s changed after it closed: %s %s", id, now.Outcome, now.Result)
			}
			return now, errors.New("only looked")
		})
		if err == nil {
			s.Error("written")
		}
	}
	if got := s.count(budgetattr.MetricLateResults); int(got) < late {
		s.Errorf("%d late results, %v in the metrics", late, got)
	}
}

// effects returns a store of effects in a PostgreSQL of the test's own, and the database.
func (s *system) effects() (effect.Store, *sql.DB) {
	s.Helper()
	db, err := sql.Open("pgx", postgres.Start(s.T))
	s.must(err)
	s.Cleanup(func() { _ = db.Close() })
	store := sqlstore.PostgreSQL(db)
	s.must(store.Migrate(context.Background()))
	return store.Effects(), db
}

// bank is a service that writes to PostgreSQL whatever it gets, as often as it gets it, also for a client that left.
type bank struct {
	*httptest.Server
	db *sql.DB
	// Before the commit, and between it and the answer; nanoseconds.
	before, after atomic.Int64
	arrived, left atomic.Int32 // writes that arrived, readers that left
}

func newBank(t testing.TB, db *sql.DB) *bank {
	b := &bank{db: db}
	if _, err := db.Exec("CREATE TABLE IF NOT EXISTS bookings (id SERIAL PRIMARY KEY, key TEXT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /bookings", func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithoutCancel(r.Context())
		b.arrived.Add(1)
		time.Sleep(time.Duration(b.before.Load()))
		if _, err := db.ExecContext(ctx, "INSERT INTO bookings (key) VALUES ($1)", r.Header.Get("Idempotency-Key")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		time.Sleep(time.Duration(b.after.Load()))
		_, _ = fmt.Fprint(w, "receipt")
	})
	mux.HandleFunc("GET /bookings", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(b.count(t, r.URL.Query().Get("key")))
	})
	mux.HandleFunc("GET /slow", func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		b.left.Add(1)
	})
	b.Server = httptest.NewServer(mux)
	t.Cleanup(b.Close)
	return b
}

// count is how often a key was booked.
func (b *bank) count(t testing.TB, key string) int {
	var n int
	if err := b.db.QueryRow("SELECT COUNT(*) FROM bookings WHERE key = $1", key).Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}

func call(ctx context.Context, method, url, key string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Idempotency-Key", key)
	return http.DefaultClient.Do(req)
}

// booking declares the write to a bank.
func booking(url string) effect.Operation {
	return effect.Operation{
		Name: "book", Peer: "bank", Expected: 50 * time.Millisecond, Confirm: 800 * time.Millisecond,
		Cap: 300 * time.Millisecond, Settle: 400 * time.Millisecond, Repeat: true,
		Send: func(ctx context.Context, r effect.Request) ([]byte, error) {
			res, err := call(ctx, "POST", url+"/bookings", r.Key)
			if err != nil {
				return nil, err
			}
			defer func() { _ = res.Body.Close() }()
			if res.StatusCode != http.StatusOK {
				return nil, errors.New(res.Status)
			}
			return []byte("receipt"), nil
		},
		Ask: func(ctx context.Context, key string) (effect.Presence, []byte, error) {
			res, err := call(ctx, "GET", url+"/bookings?key="+key, "")
			if err != nil {
				return effect.Unknown, nil, err
			}
			defer func() { _ = res.Body.Close() }()
			var n int
			if err := json.NewDecoder(res.Body).Decode(&n); err != nil {
				return effect.Unknown, nil, err
			}
			if n == 0 {
				return effect.Absent, nil, nil
			}
			return effect.Present, []byte("receipt"), nil
		},
	}
}

func (s *system) writer(store effect.Store, op effect.Operation) *effect.Writer {
	s.Helper()
	w, err := effect.NewWriter(store, op)
	s.must(err)
	return w
}

// log collects what happened, in order.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(line string) {
	l.mu.Lock()
	l.lines = append(l.lines, line)
	l.mu.Unlock()
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}
