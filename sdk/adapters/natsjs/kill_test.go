package natsjs_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/laxity-dev/laxity/sdk/adapters/internal/postgres"
	"github.com/laxity-dev/laxity/sdk/adapters/natsjs"
	"github.com/laxity-dev/laxity/sdk/adapters/sqlstore"
	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/effect"
	"github.com/laxity-dev/laxity/sdk/envelope"
)

// The test binary is also the worker that is killed: real processes, a real broker, a real database.
const workerVariable = "LAXITY_TEST_WORKER"

func TestMain(m *testing.M) {
	if conf := os.Getenv(workerVariable); conf != "" {
		if err := worker(conf); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// worker takes units until it is killed. conf is the broker, the database, the destination, and what to do.
func worker(conf string) error {
	ctx := context.Background()
	part := strings.Split(conf, "|")
	nc, err := nats.Connect(part[0])
	if err != nil {
		return err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	kv, err := js.KeyValue(ctx, "work")
	if err != nil {
		return err
	}
	clock, store := envelope.NewClock(), natsjs.Records(kv)
	if err := clock.Measure(ctx, "nats", natsjs.Now(kv)); err != nil {
		return err
	}
	units, err := envelope.NewConsumer(ctx, budget.Policy{}, store, clock)
	if err != nil {
		return err
	}
	messages, err := js.Consumer(ctx, "WORK", part[3])
	if err != nil {
		return err
	}
	work := func(ctx context.Context, r *envelope.Run, _ []byte) error {
		fmt.Println("running", r.ID())
		<-ctx.Done()
		return ctx.Err()
	}
	if part[3] == "book" {
		db, err := sql.Open("pgx", part[1])
		if err != nil {
			return err
		}
		w, err := effect.NewWriter(sqlstore.PostgreSQL(db).Effects(), killable(part[2]))
		if err != nil {
			return err
		}
		work = func(ctx context.Context, r *envelope.Run, _ []byte) error {
			_, err := w.Do(ctx, r.ID(), effect.Key(r.ID(), "book"), []byte("100"))
			return err
		}
		fmt.Println("running")
	}
	return (&natsjs.Worker{JetStream: js, Messages: messages, Units: units, Name: part[3], Work: work, Concurrency: 2}).Run(ctx)
}

func killable(url string) effect.Operation {
	op := booking(url)
	op.Cap, op.Settle, op.Confirm = 150*time.Millisecond, 400*time.Millisecond, time.Second
	return op
}

// start runs a worker process and waits until it says that it runs.
func (s *system) start(database, destination, kind string) *exec.Cmd {
	s.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerVariable+"="+strings.Join([]string{s.server.URL, database, destination, kind}, "|"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	line := make([]byte, 64)
	if _, err := out.Read(line); err != nil {
		s.Fatalf("the worker died: %v", err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func (s *system) consumer(name string) {
	s.Helper()
	_, err := s.js.CreateOrUpdateConsumer(s.Context(), "WORK", jetstream.ConsumerConfig{
		Durable: name, FilterSubject: "work." + name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1,
	})
	s.must(err)
}

// A worker dies in the middle; the broker delivers again. Whoever takes over has the old deadline and the old counters,
// and can give no child more either.
func TestT33_RestartedWorkerTriesToRenew(t *testing.T) {
	s := newSystem(t)
	s.consumer("job")
	e := s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 20 * time.Second, Attempts: 2})
	dead := s.start("", "", "job")
	kill(dead)
	if u := s.unit("job"); u.State != envelope.Running || u.Run != 1 {
		t.Fatalf("%+v", u)
	}
	said := s.work("job", func(ctx context.Context, r *envelope.Run, _ []byte) error {
		left, _ := budget.Remaining(ctx)
		if end := time.Now().Add(left); r.N() != 2 || end.After(e.DeadlineAt) {
			t.Errorf("execution %d ends %v after the deadline", r.N(), end.Sub(e.DeadlineAt))
		}
		child, err := envelope.New(ctx, s.clock, envelope.Spec{ID: "renewed", Limit: time.Hour, Attempts: 10})
		if err != nil {
			return err
		}
		if child.DeadlineAt.After(e.DeadlineAt) || child.AttemptsLeft != 0 {
			t.Errorf("a child got %v more and %d attempts", child.DeadlineAt.Sub(e.DeadlineAt), child.AttemptsLeft)
		}
		if _, err := r.Attempt(ctx, "agent"); err != nil {
			t.Errorf("the execution's own attempt: %v", err)
		}
		if _, err := r.Attempt(ctx, "agent"); err == nil {
			t.Error("a third attempt")
		}
		return nil
	})
	if d := next(t, said); d.Outcome != budgetattr.OutcomeDone {
		t.Errorf("%+v", d)
	}
	if u := s.unit("job"); u.Attempts["queue"] != 2 || u.Run != 2 {
		t.Errorf("%+v", u)
	}
	s.checks(nil, "job")
}

// A unit whose worker died is cancelled, and delivered again: it does not run.
func TestCancelledAfterItsWorkerDied(t *testing.T) {
	s := newSystem(t)
	s.consumer("job")
	s.send(t.Context(), "job", envelope.Spec{ID: "job", Limit: 20 * time.Second})
	kill(s.start("", "", "job"))
	units, err := envelope.Cancel(t.Context(), s.store, "job", envelope.Cancellation{By: "user"})
	if err != nil || units[0].Confirmed() {
		t.Errorf("nobody knows yet that it stopped: %+v, %v", units, err)
	}
	said := s.work("job", func(context.Context, *envelope.Run, []byte) error {
		t.Error("cancelled work ran")
		return nil
	})
	if d := next(t, said); d.Reason != envelope.RefusedCancelled {
		t.Errorf("%+v", d)
	}
	s.checks(nil, "job")
}

// destination books whatever arrives, as often as it arrives, after a while, for clients that are dead too; it dies with
// nobody.
type destination struct {
	mu     sync.Mutex
	booked map[string]int
	doing  sync.WaitGroup
}

func (d *destination) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		d.mu.Lock()
		defer d.mu.Unlock()
		_, _ = fmt.Fprint(w, d.booked[r.URL.Query().Get("key")])
		return
	}
	d.doing.Add(1)
	defer d.doing.Done()
	time.Sleep(rand.N(60 * time.Millisecond))
	d.mu.Lock()
	d.booked[r.Header.Get("Idempotency-Key")]++
	d.mu.Unlock()
	time.Sleep(rand.N(60 * time.Millisecond))
}

// Workers are killed at random points of the protocol. In the end every effect is confirmed or reconciled, or uncertain and
// listed; none is at the destination twice; none is lost.
func TestKilledWorkersDoNothingTwiceAndLoseNothing(t *testing.T) {
	kills := 20
	if os.Getenv("LAXITY_SOAK") != "" {
		kills = 200
	}
	s := newSystem(t)
	s.consumer("book")
	dsn := postgres.Start(t)
	db, err := sql.Open("pgx", dsn)
	s.must(err)
	defer func() { _ = db.Close() }()
	tables := sqlstore.PostgreSQL(db)
	s.must(tables.Migrate(t.Context()))
	store := tables.Effects()
	d := &destination{booked: map[string]int{}}
	server := httptest.NewServer(d)
	defer server.Close()
	units := 0
	more := func(n int) {
		for range n {
			s.send(t.Context(), "book", envelope.Spec{ID: "u" + strconv.Itoa(units), Limit: 10 * time.Minute})
			units++
		}
	}
	states := map[effect.State]int{}
	for range kills {
		more(3)
		w := s.start(dsn, server.URL, "book")
		time.Sleep(rand.N(250 * time.Millisecond)) // the point at which it dies
		kill(w)
		open, err := store.Unsettled(t.Context(), time.Now().Add(time.Hour), 1000)
		s.must(err)
		for _, e := range open {
			states[e.State]++
		}
	}
	t.Logf("%d units; left by the dead: %v", units, states)
	// One lives, and goes on with what the broker delivers again.
	w := s.start(dsn, server.URL, "book")
	defer kill(w)
	s.eventually("every unit is closed", func() bool {
		all, err := s.store.List(t.Context(), "unit")
		s.must(err)
		closed := 0
		for _, e := range all {
			var u envelope.Unit
			s.must(json.Unmarshal(e.Value, &u))
			if u.State == envelope.Closed {
				closed++
			}
		}
		return closed == units
	})
	d.doing.Wait()
	s.reconcile(store, killable(server.URL))
	outcomes := map[effect.State]int{}
	for i := range units {
		key := effect.Key("u"+strconv.Itoa(i), "book")
		e, err := store.Get(t.Context(), key)
		s.must(err)
		outcomes[e.State]++
		n := d.booked[key]
		if n > 1 {
			t.Errorf("%s is at the destination %d times: %+v", key, n, e)
		}
		switch e.State {
		case budgetattr.EffectConfirmed, budgetattr.EffectReconciled:
			if n != 1 {
				t.Errorf("%s is %s and not at the destination", key, e.State)
			}
		case budgetattr.EffectUncertain:
		default:
			t.Errorf("%s ends as %s, %d times at the destination", key, e.State, n)
		}
	}
	t.Logf("%v", outcomes)
	if states[budgetattr.EffectSent]+states[budgetattr.EffectPlanned]+states[budgetattr.EffectUncertain] == 0 {
		t.Error("no worker died inside the protocol: kill at other points")
	}
}
