package storage

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Engine is the database server.
type Engine struct {
	Version string
	Now     time.Time
}

//go:embed queries/engine.sql
var engineSQL string

// Engine answers with the version and the clock of the server.
func (db *DB) Engine(ctx context.Context) (Engine, error) {
	var answer Engine
	err := db.ask(ctx, engineSQL, func(rows driver.Rows) error {
		var now int64
		err := rows.Scan(&answer.Version, &now)
		answer.Now = time.Unix(0, now)
		return err
	}, nil)
	return answer, question("engine", err)
}

// Schema is the migration that was applied last; version 0 means none.
type Schema struct {
	Version uint32
	// Dirty: it did not finish.
	Dirty bool
}

//go:embed queries/schema.sql
var schemaSQL string

// Schema answers with the version of the tables.
func (db *DB) Schema(ctx context.Context) (Schema, error) {
	var answer Schema
	err := db.ask(ctx, schemaSQL, func(rows driver.Rows) error {
		var version int64
		var dirty uint8
		err := rows.Scan(&version, &dirty)
		answer = Schema{Version: uint32(max(version, 0)), Dirty: dirty != 0}
		return err
	}, nil)
	return answer, question("schema", err)
}

// Kept is how much is stored and how fresh it is.
type Kept struct {
	// Hops counts rows; one that was written twice counts twice until the engine merges it.
	Hops, Spans uint64
	// Newest is the start of the newest hop; nil without hops.
	Newest *time.Time
	// Ingested is when the last hop was written; nil if none was within a day.
	Ingested *time.Time
}

//go:embed queries/kept.sql
var keptSQL string

// Kept answers with the counts of hops and raw spans.
func (db *DB) Kept(ctx context.Context) (Kept, error) {
	var answer Kept
	err := db.ask(ctx, keptSQL, func(rows driver.Rows) error {
		var newest, ingested int64
		if err := rows.Scan(&answer.Hops, &answer.Spans, &newest, &ingested); err != nil {
			return err
		}
		if answer.Hops > 0 {
			start := time.Unix(0, newest).UTC()
			answer.Newest = &start
		}
		if ingested > 0 {
			written := time.UnixMilli(ingested).UTC()
			answer.Ingested = &written
		}
		return nil
	}, nil)
	return answer, question("kept spans", err)
}
