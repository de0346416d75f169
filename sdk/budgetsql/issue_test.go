package budgetsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// scripted is a driver whose connections do as they are told.
type scripted struct {
	fakeDriver
	exec     func(ctx context.Context) error
	got      []driver.Value
	closed   bool
	opened   int
	prepared int
	rollback time.Duration
}

func (d *scripted) Connect(context.Context) (driver.Conn, error) {
	d.opened++
	return &scriptedConn{d}, nil
}

func (d *scripted) Close() error { d.closed = true; return nil }

type scriptedConn struct{ d *scripted }

func (c *scriptedConn) Close() error { return nil }
func (c *scriptedConn) Prepare(string) (driver.Stmt, error) {
	c.d.prepared++
	return &scriptedStmt{c.d}, nil
}
func (c *scriptedConn) Begin() (driver.Tx, error) { return scriptedTx{c.d}, nil }

func (c *scriptedConn) ExecContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), c.d.exec(ctx)
}

type scriptedStmt struct{ d *scripted }

func (s *scriptedStmt) Close() error  { return nil }
func (s *scriptedStmt) NumInput() int { return -1 }
func (s *scriptedStmt) Exec(args []driver.Value) (driver.Result, error) {
	s.d.got = args
	return driver.RowsAffected(1), nil
}
func (s *scriptedStmt) Query([]driver.Value) (driver.Rows, error) { return &fakeRows{}, nil }

type scriptedTx struct{ d *scripted }

func (scriptedTx) Commit() error     { return nil }
func (t scriptedTx) Rollback() error { time.Sleep(t.d.rollback); return nil }

func skip(context.Context) error { return driver.ErrSkip }

// A statement that does not count its parameters gets them converted, as without the wrapper.
func TestArgumentsAreConverted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scripted{exec: skip}
		_, db, ctx, entry := setupConnector(t, d, time.Second)
		defer db.Close()
		if _, err := db.ExecContext(ctx, "update t set n = ?", int8(7)); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(ctx, "update t set n = ?", sql.NullString{}); err != nil || len(d.got) != 1 || d.got[0] != nil {
			t.Errorf("null arrived as %v, %v", d.got, err)
		}
		st, err := db.PrepareContext(ctx, "update t set n = ?")
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if _, err := st.ExecContext(ctx, int8(7)); err != nil || len(d.got) != 1 || d.got[0] != int64(7) {
			t.Errorf("an int8 arrived as %T, %v", d.got[0], err)
		}
		if _, err := st.ExecContext(ctx, make(chan int)); err == nil {
			t.Error("a channel was accepted")
		}
		entry.End(nil)
	})
}

// What the driver runs prepared only is one statement, with the time that preparing took, and no error.
func TestIssueStatementTheDriverPreparesIsOneHop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scripted{exec: skip}
		sr, db, ctx, entry := setupConnector(t, d, time.Second)
		defer db.Close()
		for range 2 {
			if _, err := db.ExecContext(ctx, "update t set n = ?", 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.ExecContext(ctx, "update t set n = ?", make(chan int)); err == nil {
			t.Error("a channel was accepted")
		}
		entry.End(nil)
		s := spans(sr, "fake UPDATE")
		if len(s) != d.prepared {
			t.Errorf("%d hops of %d statements", len(s), d.prepared)
		}
		for _, a := range s {
			if a["error.type"] != nil {
				t.Errorf("%v", a)
			}
		}
	})
}

// A connection that the driver gives up is given up by database/sql too, whatever ended it and however it says so.
func TestIssueBadConnectionIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scripted{exec: func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("link: %w", driver.ErrBadConn)
		}}
		_, db, ctx, entry := setupConnector(t, d, time.Second)
		defer db.Close()
		if _, err := db.ExecContext(ctx, "update t set n = 1"); err == nil {
			t.Error("no error")
		}
		if open := db.Stats().OpenConnections; open != 0 {
			t.Errorf("%d connections kept", open)
		}
		entry.End(nil)
	})
}

func TestIssueClosingTheDatabaseClosesTheConnector(t *testing.T) {
	d := &scripted{}
	_, db, _, entry := setupConnector(t, d, time.Second)
	entry.End(nil)
	if err := db.Close(); err != nil || !d.closed {
		t.Errorf("closed %v, %v", d.closed, err)
	}
}

// A rollback runs after the end, and is clean-up.
func TestIssueRollbackIsCleanup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scripted{rollback: 40 * time.Millisecond}
		sr, db, ctx, entry := setupConnector(t, d, time.Second)
		defer db.Close()
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if err := tx.Commit(); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("err %v", err)
		}
		entry.End(nil)
		if s := spans(sr, "in"); len(s) != 1 || s[0][budgetattr.CleanupTimeKey] != .04 {
			t.Errorf("%v", s)
		}
	})
}

// sql.Conn.Raw reaches the driver's own connection.
func TestRawReachesTheDriver(t *testing.T) {
	d := &scripted{}
	_, db, ctx, entry := setupConnector(t, d, time.Minute)
	defer db.Close()
	defer entry.End(nil)
	c, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(dc any) error {
		if _, ok := dc.(interface{ Raw() driver.Conn }).Raw().(*scriptedConn); !ok {
			return errors.New("another connection")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
