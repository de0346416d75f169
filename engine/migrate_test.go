package engine_test

import (
	"database/sql"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database/clickhouse"
	"github.com/golang-migrate/migrate/v4/source/iofs"
)

func TestMigrationsRun(t *testing.T) {
	e := shared(t)
	database := e.NewDatabase(t)
	db, err := sql.Open("clickhouse", e.DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	driver, err := clickhouse.WithInstance(db, &clickhouse.Config{DatabaseName: database, MultiStatementEnabled: true, MigrationsTableEngine: "MergeTree"})
	if err != nil {
		t.Fatal(err)
	}
	source, err := iofs.New(fstest.MapFS{
		"1_t.up.sql":   {Data: []byte("CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n;\nCREATE TABLE u (n UInt8) ENGINE = MergeTree ORDER BY n;")},
		"1_t.down.sql": {Data: []byte("DROP TABLE t; DROP TABLE u")},
		"2_c.up.sql":   {Data: []byte("ALTER TABLE t ADD COLUMN IF NOT EXISTS s LowCardinality(String) DEFAULT 'x'")},
		"2_c.down.sql": {Data: []byte("ALTER TABLE t DROP COLUMN s")},
		"3_bad.up.sql": {Data: []byte("CREATE NONSENSE")},
	}, ".")
	if err != nil {
		t.Fatal(err)
	}
	m, err := migrate.NewWithInstance("iofs", source, database, driver)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Migrate(2); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO t (n) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	var s string
	if err := db.QueryRowContext(t.Context(), "SELECT s FROM t").Scan(&s); err != nil || s != "x" {
		t.Errorf("%q %v", s, err)
	}
	if err := m.Migrate(2); !errors.Is(err, migrate.ErrNoChange) {
		t.Errorf("again: %v", err)
	}
	if err := m.Steps(-2); err != nil {
		t.Fatal(err)
	}
	if err := m.Up(); err == nil {
		t.Error("a broken migration passed")
	}
	if version, dirty, err := m.Version(); version != 3 || !dirty || err != nil {
		t.Errorf("version %d, dirty %v, %v", version, dirty, err)
	}
}
