package storagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/migrations"
)

// template is how the tables are after all migrations, as statements with placeholders for the database. They make a database in a
// fraction of the time that the migrations take, and share nothing with the one that they were read from.
var template struct {
	sync.Mutex
	statements []string
}

const placeholder = "\x00database\x00"

// migrate brings an empty database to the newest schema: by the migrations the first time in a process, then by what they made.
func migrate(ctx context.Context, engine *enginetest.Engine, database string) error {
	template.Lock()
	defer template.Unlock()
	if template.statements == nil {
		if _, err := migrations.Up(ctx, migrations.Config{DSN: engine.DSN(database)}); err != nil {
			return err
		}
		var err error
		template.statements, err = dump(engine, database)
		return err
	}
	for _, statement := range template.statements {
		if _, err := engine.Query(strings.ReplaceAll(statement, placeholder, database)); err != nil {
			return fmt.Errorf("%w\n%s", err, statement)
		}
	}
	return nil
}

// dump writes a database as statements: its tables, views last, and what the migrations noted.
func dump(engine *enginetest.Engine, database string) ([]string, error) {
	answer, err := engine.Query("SELECT create_table_query AS sql FROM system.tables WHERE database = '" + database +
		"' AND name NOT LIKE 'schema_lock%' ORDER BY engine = 'MaterializedView', name FORMAT JSONEachRow")
	if err != nil {
		return nil, err
	}
	var statements []string
	for decoder := json.NewDecoder(strings.NewReader(answer)); decoder.More(); {
		var row struct{ SQL string }
		if err := decoder.Decode(&row); err != nil {
			return nil, err
		}
		statements = append(statements, strings.ReplaceAll(row.SQL, database+".", placeholder+"."))
	}
	noted, err := engine.Query("SELECT * FROM " + database + ".schema_migrations FORMAT Values")
	if err != nil {
		return nil, err
	}
	return append(statements, "INSERT INTO "+placeholder+".schema_migrations VALUES "+noted), nil
}
