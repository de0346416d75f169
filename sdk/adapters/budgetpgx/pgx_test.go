package budgetpgx_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/laxity-dev/laxity/sdk/adapters/budgetpgx"
	"github.com/laxity-dev/laxity/sdk/adapters/internal/postgres"
	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgetsql"
)

type recorder struct{ *tracetest.SpanRecorder }

func (r recorder) attrs(t *testing.T, name string) map[string]any {
	t.Helper()
	for _, s := range r.Ended() {
		if s.Name() == name {
			m := map[string]any{}
			for _, kv := range s.Attributes() {
				m[string(kv.Key)] = kv.Value.AsInterface()
			}
			return m
		}
	}
	t.Fatalf("no span %q", name)
	return nil
}

func request(t *testing.T, limit time.Duration) (recorder, context.Context, *budget.Entry) {
	t.Helper()
	r := recorder{tracetest.NewSpanRecorder()}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	ctx, entry, err := budget.NewEdge(budget.Policy{Default: limit}, budget.WithTracerProvider(tp)).Start(t.Context(), budget.Arrival{Name: "in"})
	if err != nil {
		t.Fatal(err)
	}
	return r, ctx, entry
}

// watcher tells over a connection of its own how many statements sleep in the server.
func watcher(t *testing.T, dsn string) func(context.Context) (bool, error) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return func(ctx context.Context) (bool, error) {
		var n int
		err := c.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()").Scan(&n)
		return n > 0, err
	}
}

func TestT17_ExpiryCancelsTheStatementInTheServer(t *testing.T) {
	dsn := postgres.Start(t)
	running := watcher(t, dsn)
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 1
	budgetpgx.ConfigurePool(cfg, budgetpgx.WithPeer("accounts"))
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	pid := func(ctx context.Context) (n int) {
		if err := pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := pid(t.Context())
	for range 3 {
		r, ctx, entry := request(t, 300*time.Millisecond)
		start := time.Now()
		_, err := pool.Exec(ctx, "SELECT pg_sleep(20)")
		if took := time.Since(start); err == nil || took > 5*time.Second {
			t.Errorf("err %v after %v", err, took)
		}
		if err := budgetpgx.Err(ctx, err); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("err %v", err)
		}
		if on, err := running(t.Context()); err != nil || on {
			t.Errorf("the statement still runs: %v %v", on, err)
		}
		entry.End(err)
		a := r.attrs(t, "postgresql SELECT")
		if a[budgetattr.CancelCauseKey] != "local_deadline" || a[budgetattr.TimeoutPhaseKey] != "db_execution" || a[budgetattr.CancelConfirmedKey] != true ||
			a["db.system.name"] != "postgresql" || a["peer.service"] != "accounts" || a[budgetattr.CleanupBudgetKey] != 1.0 {
			t.Errorf("%v", a)
		}
	}
	if after := pid(t.Context()); after != before {
		t.Errorf("connection %d was replaced by %d", before, after)
	}
	// The cancel request did not hit what came next.
	for range 20 {
		_, ctx, entry := request(t, 10*time.Second)
		if n := pid(ctx); n != before {
			t.Errorf("backend %d", n)
		}
		entry.End(nil)
	}
}

func TestRefusedStatementIsNotSent(t *testing.T) {
	dsn := postgres.Start(t)
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	budgetpgx.Configure(cfg, budgetpgx.WithHop(budget.WithMinUseful(time.Minute)))
	c, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	r, ctx, entry := request(t, time.Second)
	if _, err := c.Exec(ctx, "CREATE TABLE never (n int)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err %v", err)
	}
	entry.End(nil)
	if a := r.attrs(t, "postgresql CREATE"); a[budgetattr.DecisionKey] != "reject" {
		t.Errorf("%v", a)
	}
	var exists bool
	if err := c.QueryRow(t.Context(), "SELECT to_regclass('never') IS NOT NULL").Scan(&exists); err != nil || exists {
		t.Errorf("exists %v %v", exists, err)
	}
}

func TestWaitingForThePoolIsItsOwnPhase(t *testing.T) {
	cfg, err := pgxpool.ParseConfig(postgres.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 1
	budgetpgx.ConfigurePool(cfg)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	held, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	r, ctx, entry := request(t, 200*time.Millisecond)
	if _, err := pool.Exec(ctx, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err %v", err)
	}
	entry.End(err)
	if a := r.attrs(t, "postgresql ACQUIRE"); a[budgetattr.TimeoutPhaseKey] != "pool" {
		t.Errorf("%v", a)
	}
}

// What the drivers really do, kept as a table that a new release of a driver would break.
func TestDriversAreProbed(t *testing.T) {
	dsn := postgres.Start(t)
	running := watcher(t, dsn)
	plain, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	ours := plain.Copy()
	budgetpgx.Configure(ours)
	for _, c := range []struct {
		name string
		db   *sql.DB
		want string
	}{
		{"pgx as it comes", stdlib.OpenDB(*plain), "stops the statement in the server, drops the connection"},
		{"pgx as configured here", stdlib.OpenDB(*ours), "cancels the statement in the server, keeps the connection"},
		{"pgx as configured here, under database/sql with budgets", sql.OpenDB(budgetsql.NewConnector(stdlib.GetConnector(*ours))), "cancels the statement in the server, keeps the connection"},
	} {
		got, err := budgetsql.Probe(t.Context(), c.db, "SELECT pg_sleep(4)", running)
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %s (%v), want %s", c.name, got, err, c.want)
		}
		_ = c.db.Close()
		for on := true; on; time.Sleep(20 * time.Millisecond) {
			if on, err = running(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// database/sql over pgx: the error names the phase, the statement stops, the connection is kept.
func TestDatabaseSQLOnPostgreSQL(t *testing.T) {
	dsn := postgres.Start(t)
	running := watcher(t, dsn)
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	budgetpgx.Configure(cfg)
	cfg.Tracer = nil // database/sql records
	db := sql.OpenDB(budgetsql.NewConnector(stdlib.GetConnector(*cfg), budgetsql.WithSystem("postgresql")))
	defer db.Close()
	db.SetMaxOpenConns(1)
	pid := func() (n int) {
		if err := db.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := pid()
	r, ctx, entry := request(t, 300*time.Millisecond)
	_, err = db.ExecContext(ctx, "SELECT pg_sleep(20)")
	if e, ok := errors.AsType[*budget.ExhaustedError](err); !ok || e.Phase != budgetattr.PhaseDBExecution {
		t.Errorf("err %v", err)
	}
	entry.End(err)
	if on, err := running(t.Context()); err != nil || on || pid() != before {
		t.Errorf("running %v %v, backend %d and %d", on, err, before, pid())
	}
	if a := r.attrs(t, "postgresql SELECT"); a[budgetattr.CancelCauseKey] != "local_deadline" {
		t.Errorf("%v", a)
	}
}

// spicedb 3176, pgx 659: statements cancelled in the very moment in which they finish. The request to cancel never hits the
// next statement of the connection, and the connection is never replaced.
func TestLateCancelSparesTheNextStatement(t *testing.T) {
	cfg, err := pgxpool.ParseConfig(postgres.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 1
	budgetpgx.ConfigurePool(cfg)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	cancelled := 0
	for i := range 40 {
		_, ctx, entry := request(t, 30*time.Millisecond+time.Duration(i%8)*time.Millisecond/4)
		_, err := pool.Exec(ctx, "SELECT pg_sleep(0.03)")
		if err != nil {
			cancelled++
		}
		entry.End(err)
		if _, err := pool.Exec(t.Context(), "SELECT pg_sleep(0.002)"); err != nil {
			t.Fatalf("turn %d: the next statement was hit: %v", i, err)
		}
	}
	if n := pool.Stat().NewConnsCount(); n != 1 {
		t.Errorf("%d connections for %d cancelled statements", n, cancelled)
	}
	if cancelled == 0 {
		t.Error("nothing was cancelled")
	}
}
