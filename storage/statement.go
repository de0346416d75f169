package storage

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Row is one row of an answer.
type Row interface{ Scan(columns ...any) error }

// Run executes a statement that writes, without the limits of questions. Like Query it is for programs that measure and bring their own
// statements; everything else has a method of its own.
func (db *DB) Run(ctx context.Context, sql string, parameters map[string]any) error {
	sql, args, settings := bind(sql, parameters, clickhouse.Settings{"max_partitions_per_insert_block": 0, "optimize_on_insert": 0})
	return question("statement", db.conn.Exec(db.limited(ctx, settings), sql, args...))
}

// Query asks a statement under the limits of questions and gives each row to scan, which must not keep it.
func (db *DB) Query(ctx context.Context, sql string, parameters map[string]any, scan func(Row) error) error {
	return question("statement", db.ask(ctx, sql, func(rows driver.Rows) error { return scan(rows) }, parameters))
}
