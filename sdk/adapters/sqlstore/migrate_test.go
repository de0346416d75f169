package sqlstore

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/laxity-dev/laxity/sdk/adapters/internal/postgres"
)

// From every prefix of the migrations to the whole, down again in reverse, and up again.
func TestMigrationsFromEveryPrefix(t *testing.T) {
	for driver, open := range map[string]func(*sql.DB) *Store{"pgx": PostgreSQL, "sqlite": SQLite} {
		t.Run(driver, func(t *testing.T) {
			dsn := "file:" + filepath.Join(t.TempDir(), "a.db") + "?_pragma=busy_timeout(10000)"
			if driver == "pgx" {
				dsn = postgres.Start(t)
			}
			db, err := sql.Open(driver, dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			s := open(db)
			ups, err := fs.Glob(files, "migrations/"+s.dialect+"/*.up.sql")
			if err != nil || len(ups) < 2 {
				t.Fatalf("%v, %v", ups, err)
			}
			if _, err := db.Exec("CREATE TABLE laxity_sdk_migrations (version INTEGER PRIMARY KEY)"); err != nil {
				t.Fatal(err)
			}
			for n := range len(ups) + 1 {
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := s.migrate(t.Context(), conn, ups[:n]); err != nil {
					t.Fatal(err)
				}
				_ = conn.Close()
				for range 2 {
					if err := s.Migrate(t.Context()); err != nil {
						t.Fatalf("from the first %d: %v", n, err)
					}
				}
				if _, err := s.Effects().Unsettled(t.Context(), instant(1), 1); err != nil {
					t.Error(err)
				}
				if _, err := s.Records().List(t.Context(), "a"); err != nil {
					t.Error(err)
				}
				down(t, db, ups)
			}
		})
	}
}

func down(t *testing.T, db *sql.DB, ups []string) {
	t.Helper()
	for _, up := range slices.Backward(ups) {
		text, err := files.ReadFile(strings.Replace(up, ".up.sql", ".down.sql", 1))
		if err == nil {
			_, err = db.Exec(string(text))
		}
		if err != nil {
			t.Fatalf("down of %s: %v", up, err)
		}
	}
	if _, err := db.Exec("DELETE FROM laxity_sdk_migrations"); err != nil {
		t.Fatal(err)
	}
}
