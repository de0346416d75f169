// Package sqlstore keeps effects and records in PostgreSQL or SQLite over database/sql. It imports no driver: bring pgx
// (github.com/jackc/pgx/v5/stdlib; a pool by stdlib.OpenDBFromPool) or modernc.org/sqlite.
//
// With SQLite give the DSN ?_pragma=busy_timeout(5000), so that writers wait for each other.
package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/effect"
)

//go:embed migrations queries
var files embed.FS

// Store is a database with the tables of effects and records. It is safe for concurrent use.
type Store struct {
	db      *sql.DB
	dialect string
	// poll is how often a watch looks.
	poll time.Duration
}

// PostgreSQL returns a store over a PostgreSQL database. The caller keeps db and closes it.
func PostgreSQL(db *sql.DB) *Store { return &Store{db: db, dialect: "postgresql", poll: defaultPoll} }

// SQLite returns a store over an SQLite database. The caller keeps db and closes it.
func SQLite(db *sql.DB) *Store { return &Store{db: db, dialect: "sqlite", poll: defaultPoll} }

const defaultPoll = 200 * time.Millisecond

// query returns the text of a statement.
func query(name string) string {
	b, err := files.ReadFile("queries/" + name + ".sql")
	if err != nil {
		panic(err) // embedded
	}
	return string(b)
}

var (
	planSQL         = query("plan")
	getSQL          = query("get")
	moveSQL         = query("move")
	unsettledSQL    = query("unsettled")
	addEvidenceSQL  = query("add_evidence")
	evidenceSQL     = query("evidence")
	recordGetSQL    = query("record_get")
	recordCreateSQL = query("record_create")
	recordPutSQL    = query("record_put")
	recordListSQL   = query("record_list")
)

// Migrate creates or completes the tables. Several processes may do so at once.
func (s *Store) Migrate(ctx context.Context) error {
	ups, err := fs.Glob(files, "migrations/"+s.dialect+"/*.up.sql")
	if err != nil {
		return err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer func() { _ = conn.Close() }()
	begin, table := "BEGIN IMMEDIATE", "CREATE TABLE IF NOT EXISTS laxity_sdk_migrations (version INTEGER PRIMARY KEY)"
	if s.dialect == "postgresql" {
		// The lock ends with the transaction.
		begin = "BEGIN; SELECT pg_advisory_xact_lock(7235426)"
	}
	if _, err = conn.ExecContext(ctx, begin); err == nil {
		_, err = conn.ExecContext(ctx, table)
	}
	if err != nil {
		// It may be open all the same, and the connection goes back to its pool.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return fmt.Errorf("migrate: %w", err)
	}
	err = s.migrate(ctx, conn, ups)
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	_, endErr := conn.ExecContext(context.WithoutCancel(ctx), end)
	return errors.Join(err, endErr)
}

func (s *Store) migrate(ctx context.Context, conn *sql.Conn, ups []string) error {
	for _, up := range ups {
		number, _, _ := strings.Cut(path.Base(up), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("migrate: %s: %w", up, err)
		}
		var done int
		if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM laxity_sdk_migrations WHERE version = $1", version).Scan(&done); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		if done > 0 {
			continue
		}
		text, err := files.ReadFile(up)
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("migrate: %s: %w", path.Base(up), err)
		}
		if _, err := conn.ExecContext(ctx, "INSERT INTO laxity_sdk_migrations (version) VALUES ($1)", version); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	return nil
}

// Now returns the database's time, a reference for [envelope.Clock.Measure].
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if s.dialect == "sqlite" {
		return time.Now(), nil // the same machine
	}
	var us int64
	err := s.db.QueryRowContext(ctx, "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint").Scan(&us)
	return time.UnixMicro(us).UTC(), err
}

// Effects returns the store of effects.
func (s *Store) Effects() effect.Store { return (*effects)(s) }
