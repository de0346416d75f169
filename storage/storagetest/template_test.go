package storagetest

import (
	"strings"
	"testing"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/migrations"
)

// A database made from the template is what the migrations make.
func TestTemplate(t *testing.T) {
	engine := enginetest.Start(t)
	migrated, made := engine.NewDatabase(t), engine.NewDatabase(t)
	for _, database := range []string{migrated, made} {
		if err := migrate(t.Context(), engine, database); err != nil {
			t.Fatal(err)
		}
	}
	tables := func(database string) string {
		t.Helper()
		answer, err := engine.Query("SELECT create_table_query FROM system.tables WHERE database = '" + database + "' AND name NOT LIKE 'schema_lock%' ORDER BY name")
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(answer, database+".", "")
	}
	if got, want := tables(made), tables(migrated); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	before := tables(made)
	if _, err := migrations.Up(t.Context(), migrations.Config{DSN: engine.DSN(made)}); err != nil {
		t.Fatal(err)
	}
	if got := tables(made); got != before {
		t.Errorf("migrations still have something to do:\n%s\nbefore\n%s", got, before)
	}
}
