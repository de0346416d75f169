package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/laxity-dev/laxity/sdk/adapters/internal/postgres"
	"github.com/laxity-dev/laxity/sdk/adapters/sqlstore"
	"github.com/laxity-dev/laxity/sdk/effect/effecttest"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record/recordtest"
)

func open(t *testing.T, driver, dsn string) *sql.DB {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestPostgreSQL(t *testing.T) {
	contract(t, sqlstore.PostgreSQL(open(t, "pgx", postgres.Start(t))))
}

func TestSQLite(t *testing.T) {
	dsn := "file:" + filepath.Join(t.TempDir(), "a.db") + "?_pragma=busy_timeout(10000)"
	contract(t, sqlstore.SQLite(open(t, "sqlite", dsn)))
}

func contract(t *testing.T, s *sqlstore.Store) {
	var wg sync.WaitGroup
	for range 4 { // processes that start together
		wg.Go(func() {
			if err := s.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("effects", func(t *testing.T) { effecttest.Run(t, s.Effects()) })
	t.Run("records", func(t *testing.T) { recordtest.Run(t, s.Records()) })
	t.Run("clock", func(t *testing.T) {
		c := envelope.NewClock()
		if err := c.Measure(t.Context(), "database", s.Now); err != nil {
			t.Fatal(err)
		}
		if r := c.Read(); r.Reference != "database" {
			t.Errorf("%+v", r)
		}
	})
}
