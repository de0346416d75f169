package engine_test

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/engine/enginetest"
)

// open connects the client that the product uses.
func open(t *testing.T, dsn string) driver.Conn {
	t.Helper()
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestClientInsertsAndReadsBatches(t *testing.T) {
	const rows = 200_000
	e := enginetest.Start(t)
	for _, compression := range []string{"lz4", "zstd", "none", "gzip", "deflate", "br"} {
		t.Run(compression, func(t *testing.T) {
			conn := open(t, "http://"+e.Address+"/"+e.NewDatabase(t)+"?compress="+compression)
			if err := conn.Exec(t.Context(), "CREATE TABLE t (n UInt64, s LowCardinality(String), text String) ENGINE = MergeTree ORDER BY n"); err != nil {
				t.Fatal(err)
			}
			batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO t (s, n, text)")
			if err != nil {
				t.Fatal(err)
			}
			for i := range uint64(rows) {
				if err := batch.Append([]string{"a", "b", "c"}[i%3], i, "row"); err != nil {
					t.Fatal(err)
				}
			}
			if err := batch.Send(); err != nil {
				t.Fatal(err)
			}
			result, err := conn.Query(t.Context(), "SELECT n, s, text FROM t ORDER BY n")
			if err != nil {
				t.Fatal(err)
			}
			defer result.Close()
			var next uint64
			for result.Next() {
				var n uint64
				var s, text string
				if err := result.Scan(&n, &s, &text); err != nil {
					t.Fatal(err)
				}
				if n != next || s != []string{"a", "b", "c"}[n%3] || text != "row" {
					t.Fatalf("row %d is %d %q %q", next, n, s, text)
				}
				next++
			}
			if err := result.Err(); err != nil {
				t.Fatal(err)
			}
			if next != rows {
				t.Fatalf("%d rows, want %d", next, rows)
			}
		})
	}
}
