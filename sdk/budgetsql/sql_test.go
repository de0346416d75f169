package budgetsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgetsql"
)

// fakeDriver takes a fixed time for each statement; modern ones listen to their context, old ones do not.
type fakeDriver struct {
	modern  bool
	takes   time.Duration
	running atomic.Int64
	sent    atomic.Int64
}

func (d *fakeDriver) Open(string) (driver.Conn, error)             { return nil, errors.New("not used") }
func (d *fakeDriver) Driver() driver.Driver                        { return d }
func (d *fakeDriver) Connect(context.Context) (driver.Conn, error) { return d.conn(), nil }

func (d *fakeDriver) conn() driver.Conn {
	if d.modern {
		return &modernConn{oldConn{d}}
	}
	return &oldConn{d}
}

func (d *fakeDriver) work(ctx context.Context) error {
	d.sent.Add(1)
	d.running.Add(1)
	defer d.running.Add(-1)
	t := time.NewTimer(d.takes)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type oldConn struct{ d *fakeDriver }

func (c *oldConn) Prepare(string) (driver.Stmt, error) { return &oldStmt{c.d}, nil }
func (c *oldConn) Close() error                        { return nil }
func (c *oldConn) Begin() (driver.Tx, error)           { return fakeTx{}, nil }

type oldStmt struct{ d *fakeDriver }

func (s *oldStmt) Close() error  { return nil }
func (s *oldStmt) NumInput() int { return -1 }
func (s *oldStmt) Exec([]driver.Value) (driver.Result, error) {
	return driver.RowsAffected(1), s.d.work(context.Background())
}
func (s *oldStmt) Query([]driver.Value) (driver.Rows, error) {
	return &fakeRows{left: 3}, s.d.work(context.Background())
}

type modernConn struct{ oldConn }

func (c *modernConn) QueryContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Rows, error) {
	if err := c.d.work(ctx); err != nil {
		return nil, err
	}
	return &fakeRows{left: 3}, nil
}

func (c *modernConn) ExecContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), c.d.work(ctx)
}

type fakeTx struct{}

func (fakeTx) Commit() error   { return nil }
func (fakeTx) Rollback() error { return nil }

type fakeRows struct{ left int }

func (r *fakeRows) Columns() []string { return []string{"n"} }
func (r *fakeRows) Close() error      { return nil }
func (r *fakeRows) Next(dest []driver.Value) error {
	if r.left == 0 {
		return io.EOF
	}
	dest[0] = int64(r.left)
	r.left--
	return nil
}

func spans(sr *tracetest.SpanRecorder, name string) (out []map[string]any) {
	for _, s := range sr.Ended() {
		if s.Name() == name {
			m := map[string]any{}
			for _, kv := range s.Attributes() {
				m[string(kv.Key)] = kv.Value.AsInterface()
			}
			out = append(out, m)
		}
	}
	return out
}

func setup(t *testing.T, d *fakeDriver, limit time.Duration, opts ...budgetsql.Option) (*tracetest.SpanRecorder, *sql.DB, context.Context, *budget.Entry) {
	t.Helper()
	return setupConnector(t, d, limit, opts...)
}

func setupConnector(t *testing.T, d driver.Connector, limit time.Duration, opts ...budgetsql.Option) (*tracetest.SpanRecorder, *sql.DB, context.Context, *budget.Entry) {
	t.Helper()
	sr := tracetest.NewSpanRecorder()
	e := budget.NewEdge(budget.Policy{Default: limit}, budget.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(sr))))
	ctx, entry, err := e.Start(t.Context(), budget.Arrival{Name: "in"})
	if err != nil {
		t.Fatal(err)
	}
	return sr, sql.OpenDB(budgetsql.NewConnector(d, append(opts, budgetsql.WithSystem("fake"))...)), ctx, entry
}

func TestStatementsAreHops(t *testing.T) {
	for _, modern := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			sr, db, ctx, entry := setup(t, &fakeDriver{modern: modern, takes: 100 * time.Millisecond}, time.Second, budgetsql.WithPeer("orders"))
			defer db.Close()
			rows, err := db.QueryContext(ctx, "select n from t where n = ?", 1)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for rows.Next() {
				time.Sleep(10 * time.Millisecond)
				n++
			}
			if err := rows.Err(); err != nil || n != 3 {
				t.Errorf("%d rows, %v", n, err)
			}
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.ExecContext(ctx, "insert into t values (?)", 1); err != nil {
				t.Error(err)
			}
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
			entry.End(nil)
			for _, name := range []string{"fake SELECT", "fake BEGIN", "fake INSERT", "fake COMMIT"} {
				if s := spans(sr, name); len(s) != 1 || s[0]["db.system.name"] != "fake" || s[0]["peer.service"] != "orders" || s[0][budgetattr.DecisionKey] != "run" {
					t.Errorf("modern %v: %s: %v", modern, name, s)
				}
			}
			if s := spans(sr, "fake SELECT"); s[0][budgetattr.RemainingAfterKey].(float64) > 0.871 {
				t.Errorf("the hop ended before its rows were read: %v", s)
			}
		})
	}
}

func TestStatementThatCannotFinishIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDriver{modern: true}
		sr, db, ctx, entry := setup(t, d, time.Second, budgetsql.WithHop(budget.WithMinUseful(500*time.Millisecond)))
		defer db.Close()
		time.Sleep(600 * time.Millisecond)
		if _, err := db.ExecContext(ctx, "update t set n = 1"); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("err %v", err)
		}
		entry.End(nil)
		if d.sent.Load() != 0 {
			t.Error("the statement was sent")
		}
		if s := spans(sr, "fake CONNECT"); len(s) != 1 || s[0][budgetattr.DecisionKey] != "reject" {
			t.Errorf("%v", sr.Ended())
		}
	})
}

func TestExpiryNamesThePhaseAndDriversThatIgnoreItAreSeen(t *testing.T) {
	for _, modern := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := &fakeDriver{modern: modern, takes: 5 * time.Second}
			sr, db, ctx, entry := setup(t, d, time.Second, budgetsql.WithBehaviour(budgetsql.Behaviour{Honours: modern}))
			defer db.Close()
			start := time.Now()
			_, err := db.ExecContext(ctx, "update t set n = 1")
			if e, ok := errors.AsType[*budget.ExhaustedError](err); modern && (!ok || e.Phase != budgetattr.PhaseDBExecution || e.Stage != "fake UPDATE") {
				t.Errorf("err %v", err)
			}
			entry.End(err)
			post := 0.0
			if !modern {
				post = 4
			}
			if s := spans(sr, "fake UPDATE"); s[0][budgetattr.CancelCauseKey] != "local_deadline" || s[0][budgetattr.PostCancelTimeKey] != post ||
				s[0][budgetattr.CancelConfirmedKey] != false || s[0][budgetattr.TimeoutPhaseKey] != "db_execution" {
				t.Errorf("after %v: %v", time.Since(start), s)
			}
		})
	}
}

func TestNothingIsCommittedAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, db, ctx, entry := setup(t, &fakeDriver{modern: true}, time.Second)
		defer db.Close()
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil) // database/sql itself sees no end
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if err := tx.Commit(); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("err %v", err)
		}
		entry.End(err)
	})
}

func TestProbe(t *testing.T) {
	for _, c := range []struct {
		modern bool
		want   budgetsql.Behaviour
	}{
		{true, budgetsql.Behaviour{Honours: true, ServerStops: true, ConnectionReusable: true}},
		{false, budgetsql.Behaviour{Overrun: 2800 * time.Millisecond, ConnectionReusable: true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &fakeDriver{modern: c.modern, takes: 3 * time.Second}
			db := sql.OpenDB(d)
			defer db.Close()
			got, err := budgetsql.Probe(t.Context(), db, "SLEEP", func(context.Context) (bool, error) { return d.running.Load() > 0, nil })
			if err != nil || got != c.want {
				t.Errorf("%+v %v, want %+v", got, err, c.want)
			}
			d.takes = 0
			if _, err := budgetsql.Probe(t.Context(), db, "SLEEP", func(context.Context) (bool, error) { return false, nil }); err == nil {
				t.Error("a quick statement was probed")
			}
		})
	}
}

func TestOperation(t *testing.T) {
	for query, want := range map[string]string{
		"select 1": "SELECT", "  (SELECT 1)": "SELECT", "insert\ninto t": "INSERT", "": "SQL", "/* x */ select 1": "SQL",
		"123": "SQL", "averyveryverylongword x": "SQL", "commit": "COMMIT", "\xff\xfe": "SQL",
	} {
		if got := budgetsql.Operation(query); got != want {
			t.Errorf("%q is %s, want %s", query, got, want)
		}
	}
}

func FuzzOperation(f *testing.F) {
	f.Add("select 1")
	f.Fuzz(func(t *testing.T, q string) {
		if op := budgetsql.Operation(q); len(op) == 0 || len(op) > 16 {
			t.Errorf("%q is %q", q, op)
		}
	})
}
