package demo

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
)

const accountCount = 100

// pauseFunction is a function of the database that waits a millisecond and returns 1 until its argument, in nanoseconds
// since 1970, has passed. A statement that calls it row by row takes long without using the processor, and stops between two
// rows when cancelled.
const pauseFunction = "demo_pause"

// accountQuery reads account ?1 at ?2 nanoseconds since 1970, not before.
const accountQuery = `
WITH RECURSIVE wait(more) AS (SELECT 1 UNION ALL SELECT ` + pauseFunction + `(?2) FROM wait WHERE more)
SELECT name, plan, (SELECT count(*) FROM wait) FROM accounts WHERE id = ?1`

// account is one row.
type account struct {
	Name string `json:"name"`
	Plan string `json:"plan"`
}

// accounts is the database of the account service: a SQLite file behind database/sql, deleted on close.
type accounts struct {
	db     *sql.DB
	folder string
}

// connector opens connections of a driver that is registered nowhere, so that the pause function stays private.
type connector struct {
	driver *sqlite.Driver
	dsn    string
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return c.driver }

func openAccounts(ctx context.Context) (*accounts, error) {
	drv := &sqlite.Driver{}
	if err := drv.RegisterScalarFunction(pauseFunction, 1, pause); err != nil {
		return nil, fmt.Errorf("account database: %w", err)
	}
	folder, err := os.MkdirTemp("", "laxity-demo-")
	if err != nil {
		return nil, fmt.Errorf("account database: %w", err)
	}
	a := &accounts{db: sql.OpenDB(connector{drv, "file:" + filepath.Join(folder, "accounts.db")}), folder: folder}
	a.db.SetMaxOpenConns(64)
	a.db.SetMaxIdleConns(64)
	if err := a.fill(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("account database: %w", err), a.close())
	}
	return a, nil
}

func pause(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	until, ok := args[0].(int64)
	if !ok {
		return nil, errors.New(pauseFunction + " takes a whole number of nanoseconds")
	}
	left := time.Until(time.Unix(0, until))
	if left <= 0 {
		return int64(0), nil
	}
	time.Sleep(min(left, time.Millisecond))
	return int64(1), nil
}

func (a *accounts) fill(ctx context.Context) error {
	if _, err := a.db.ExecContext(ctx, `CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT NOT NULL, plan TEXT NOT NULL)`); err != nil {
		return err
	}
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for id := range accountCount {
		plan := [...]string{"free", "team", "company"}[id%3]
		if _, err := tx.ExecContext(ctx, `INSERT INTO accounts VALUES (?, ?, ?)`, id, fmt.Sprintf("account %d", id), plan); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// read returns the account after about took; the statement is interrupted when the context ends.
func (a *accounts) read(ctx context.Context, id int, took time.Duration) (account, error) {
	var row account
	var rows int64
	err := a.db.QueryRowContext(ctx, accountQuery, id, time.Now().Add(took).UnixNano()).Scan(&row.Name, &row.Plan, &rows)
	if err != nil {
		return account{}, fmt.Errorf("read account: %w", err)
	}
	return row, nil
}

func (a *accounts) close() error {
	return errors.Join(a.db.Close(), os.RemoveAll(a.folder))
}
