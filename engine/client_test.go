package engine_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
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
	e := shared(t)
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

// columns are the types that the product stores, each with values that a client sends and gets back.
var columns = []struct {
	kind   string
	values []any
}{
	{"Int64", []any{int64(-9223372036854775808), int64(9223372036854775807)}},
	{"UInt64", []any{uint64(0), uint64(18446744073709551615)}},
	{"UInt32", []any{uint32(0), uint32(4294967295)}},
	{"UInt16", []any{uint16(0), uint16(65535)}},
	{"UInt8", []any{uint8(0), uint8(255)}},
	{"Int32", []any{int32(-1), int32(1)}},
	{"Int8", []any{int8(-128), int8(127)}},
	{"Float64", []any{-0.3, 1e300}},
	{"Float32", []any{float32(0.5), float32(-2)}},
	{"String", []any{"", "it's \\ \t\n\x00 ünï"}},
	{"LowCardinality(String)", []any{"", "a"}},
	{"FixedString(16)", []any{strings.Repeat("\x00", 16), "0123456789abcdef"}},
	{"FixedString(8)", []any{"\x00\xff\x00\xff\x00\xff\x00\xff", "01234567"}},
	{"DateTime64(9)", []any{time.Unix(0, 1).UTC(), time.Date(2026, 2, 3, 4, 5, 6, 123456789, time.UTC)}},
	{"DateTime64(3)", []any{time.Unix(0, 0).UTC(), time.Date(2026, 2, 3, 4, 5, 6, 123000000, time.UTC)}},
	{"DateTime", []any{time.Unix(0, 0).UTC(), time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)}},
	{"Date", []any{time.Unix(0, 0).UTC(), time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)}},
	{"Date32", []any{time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)}},
	{"Bool", []any{true, false}},
	{"Enum8('ok' = 1, 'late' = 2)", []any{"ok", "late"}},
	{"UUID", []any{"00000000-0000-0000-0000-000000000000", "417ddc5d-e556-4d27-95dd-a34d84e46a50"}},
	{"Array(Int64)", []any{[]int64{}, []int64{1, 2, 3}}},
	{"Array(Array(String))", []any{[][]string{}, [][]string{{"a"}, {}}}},
	{"Array(LowCardinality(String))", []any{[]string{}, []string{"a", "b", "a"}}},
	{"Map(LowCardinality(String), String)", []any{map[string]string{}, map[string]string{"a": "b", "c": ""}}},
	{"Map(Int32, UInt64)", []any{map[int32]uint64{}, map[int32]uint64{-4: 7}}},
	{"Nullable(String)", []any{(*string)(nil), ptr("x")}},
	{"Nullable(Int64)", []any{(*int64)(nil), ptr(int64(7))}},
	{"LowCardinality(Nullable(String))", []any{(*string)(nil), ptr("x")}},
	{"Tuple(Int64, String)", []any{[]any{int64(1), "a"}, []any{int64(2), ""}}},
	{"Tuple(a Int64, b Array(String))", []any{map[string]any{"a": int64(1), "b": []string{"x"}}}},
	{"SimpleAggregateFunction(sum, UInt64)", []any{uint64(1), uint64(2)}},
	{"SimpleAggregateFunction(max, DateTime64(9))", []any{time.Date(2026, 2, 3, 4, 5, 6, 123456789, time.UTC)}},
	{"SimpleAggregateFunction(sumMap, Map(Int32, UInt64))", []any{map[int32]uint64{1: 2}}},
	{"IPv6", []any{"::1"}},
}

func ptr[T any](v T) *T { return &v }

func TestClientRoundTripsEveryColumnType(t *testing.T) {
	e := shared(t)
	for _, compression := range []string{"lz4", "none"} {
		conn := open(t, "http://"+e.Address+"/"+e.NewDatabase(t)+"?compress="+compression)
		for _, c := range columns {
			t.Run(compression+"/"+c.kind, func(t *testing.T) {
				for _, sql := range []string{"DROP TABLE IF EXISTS t", "CREATE TABLE t (n UInt8, v " + c.kind + ") ENGINE = MergeTree ORDER BY n"} {
					if err := conn.Exec(t.Context(), sql); err != nil {
						t.Fatal(err)
					}
				}
				batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO t")
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range c.values {
					if err := batch.Append(uint8(i), v); err != nil {
						t.Fatal(err)
					}
				}
				if err := batch.Send(); err != nil {
					t.Fatal(err)
				}
				rows, err := conn.Query(t.Context(), "SELECT v FROM t ORDER BY n")
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for i := 0; rows.Next(); i++ {
					got := reflect.New(reflect.TypeOf(c.values[i]))
					if err := rows.Scan(got.Interface()); err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(got.Elem().Interface(), c.values[i]) {
						t.Errorf("row %d: got %#v, want %#v", i, got.Elem().Interface(), c.values[i])
					}
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestClientRoundTripsNestedColumns(t *testing.T) {
	e := shared(t)
	conn := open(t, e.DSN(e.NewDatabase(t)))
	// The shape of events and links in the standard table of traces.
	if err := conn.Exec(t.Context(), `CREATE TABLE t (id String, Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String)))
		ENGINE = MergeTree ORDER BY id`); err != nil {
		t.Fatal(err)
	}
	at := []time.Time{time.Unix(1, 5).UTC(), time.Unix(2, 0).UTC()}
	names := []string{"exception", "retry"}
	attributes := []map[string]string{{"exception.type": "Timeout"}, {}}
	if err := conn.Exec(t.Context(), "INSERT INTO t VALUES (?, ?, ?, ?)", "a", at, names, attributes); err != nil {
		t.Fatal(err)
	}
	batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO t")
	if err != nil {
		t.Fatal(err)
	}
	if err := batch.Append("b", at, names, attributes); err != nil {
		t.Fatal(err)
	}
	if err := batch.Send(); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "SELECT `Events.Timestamp`, `Events.Name`, `Events.Attributes` FROM t ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var gotAt []time.Time
		var gotNames []string
		var gotAttributes []map[string]string
		if err := rows.Scan(&gotAt, &gotNames, &gotAttributes); err != nil {
			t.Fatal(err)
		}
		if n == 1 && !reflect.DeepEqual(gotAt, at) || !reflect.DeepEqual(gotNames, names) || !reflect.DeepEqual(gotAttributes, attributes) {
			t.Errorf("row %d: %v %v %v", n, gotAt, gotNames, gotAttributes)
		}
	}
	if n != 2 || rows.Err() != nil {
		t.Fatalf("%d rows, %v", n, rows.Err())
	}
}

func TestClientBindsParameters(t *testing.T) {
	conn := open(t, shared(t).DSN("default"))
	for _, text := range []string{"", "plain", "it's", `back\slash`, "tab\tline\n", `"double"`, "ünï ✓", "--", "'; DROP TABLE t; --", "{x:String}", strings.Repeat("long", 10_000)} {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT {v:String}", clickhouse.Named("v", text)).Scan(&got); err != nil {
			t.Fatalf("%.20q: %v", text, err)
		}
		if got != text {
			t.Errorf("got %.40q, want %.40q", got, text)
		}
	}
	for _, c := range []struct {
		kind  string
		value any
		want  any
	}{
		{"Int64", int64(-5), int64(-5)},
		{"Float64", -0.3, -0.3},
		{"Bool", true, true},
		{"Array(String)", []string{"a", "it's", `b\c`, ""}, []string{"a", "it's", `b\c`, ""}},
		{"Array(UInt64)", []uint64{1, 2}, []uint64{1, 2}},
		{"Nullable(String)", nil, (*string)(nil)},
		{"Nullable(String)", "x", ptr("x")},
		{"DateTime64(9)", "2026-02-03 04:05:06.123456789", time.Date(2026, 2, 3, 4, 5, 6, 123456789, time.UTC)},
		{"Map(String, String)", map[string]string{"k'": "v"}, map[string]string{"k'": "v"}},
	} {
		got := reflect.New(reflect.TypeOf(c.want))
		if err := conn.QueryRow(t.Context(), "SELECT {v:"+c.kind+"} AS v", clickhouse.Named("v", c.value)).Scan(got.Interface()); err != nil {
			t.Errorf("%s: %v", c.kind, err)
			continue
		}
		if !reflect.DeepEqual(got.Elem().Interface(), c.want) {
			t.Errorf("%s: got %#v, want %#v", c.kind, got.Elem().Interface(), c.want)
		}
	}
	var n uint64
	if err := conn.QueryRow(t.Context(), "SELECT count() FROM {table:Identifier}", clickhouse.Named("table", "system.one")).Scan(&n); err == nil {
		t.Error("an identifier with a dot is one name, so there is no such table")
	}
}

func TestClientReadsCodesOfErrors(t *testing.T) {
	conn := open(t, shared(t).DSN("default"))
	for _, c := range []struct {
		sql    string
		code   int32
		status int
	}{
		{"SELECT nosuch", 47, http.StatusNotFound},
		{"SELECT * FROM nosuch", 60, http.StatusNotFound},
		{"SELECT * FROM nosuch.t", 81, http.StatusNotFound},
		{"SELEC 1", 62, http.StatusBadRequest},
		{"SELECT 1; SELECT 2", 62, http.StatusBadRequest},
		{"SELECT nosuch(1)", 46, http.StatusNotFound},
		{"CREATE TABLE system.one (a Int8) ENGINE = Memory", 57, http.StatusInternalServerError},
		{"SELECT throwIf(1)", 395, http.StatusInternalServerError},
		{"SELECT {v:String}", 456, http.StatusInternalServerError},
		{"INSERT INTO nosuch VALUES (1)", 60, http.StatusNotFound},
	} {
		err := conn.Exec(t.Context(), c.sql)
		var exception *clickhouse.Exception
		var failure *clickhouse.HTTPError
		if !errors.As(err, &exception) || !errors.As(err, &failure) {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if exception.Code != c.code || failure.StatusCode != c.status || exception.CodeName == "" {
			t.Errorf("%s: code %d %s, status %d, want %d, %d", c.sql, exception.Code, exception.CodeName, failure.StatusCode, c.code, c.status)
		}
	}
}

func TestClientLearnsOfFailureInTheMiddleOfAResult(t *testing.T) {
	e := shared(t)
	for _, compression := range []string{"lz4", "none", "gzip"} {
		t.Run(compression, func(t *testing.T) {
			conn := open(t, "http://"+e.Address+"/default?compress="+compression)
			rows, err := conn.Query(t.Context(), "SELECT number, throwIf(number = 3000000) FROM numbers(5000000)")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			n := 0
			for rows.Next() {
				n++
			}
			var exception *clickhouse.Exception
			if err := rows.Err(); !errors.As(err, &exception) || exception.Code != 395 {
				t.Fatalf("after %d rows: %v", n, err)
			}
			if n == 0 || n >= 3_000_000 {
				t.Fatalf("%d rows", n)
			}
		})
	}
}

func TestClientSettingsEndWithTheirRequest(t *testing.T) {
	conn := open(t, shared(t).DSN("default"))
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_block_size": 1000, "max_result_rows": 5, "log_comment": "it's mine"}))
	read := func(ctx context.Context) (block, rows string) {
		t.Helper()
		if err := conn.QueryRow(ctx, "SELECT toString(getSetting('max_block_size')), toString(getSetting('max_result_rows'))").Scan(&block, &rows); err != nil {
			t.Fatal(err)
		}
		return block, rows
	}
	wantBlock, wantRows := read(t.Context())
	for range 20 {
		if block, rows := read(ctx); block != "1000" || rows != "5" {
			t.Fatalf("settings of the request: %s, %s", block, rows)
		}
		for _, sql := range []string{"SET max_block_size = 7", "USE system", "CREATE TEMPORARY TABLE leak (a Int8)"} {
			if err := conn.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		if block, rows := read(t.Context()); block != wantBlock || rows != wantRows {
			t.Fatalf("settings leaked: %s, %s", block, rows)
		}
		if err := conn.Exec(t.Context(), "SELECT * FROM leak"); err == nil {
			t.Fatal("a temporary table leaked")
		}
		if err := conn.Exec(t.Context(), "SELECT * FROM tables LIMIT 1"); err == nil {
			t.Fatal("USE leaked")
		}
	}
}

// TestClientReadsWhatQueriesMakeUp reads types that no table has, each between two columns that show whether it ends where
// it should.
func TestClientReadsWhatQueriesMakeUp(t *testing.T) {
	conn := open(t, shared(t).DSN("default"))
	for _, expression := range []string{
		"NULL", "[]", "[NULL]", "(1, 'a', [NULL])", "toIntervalDay(1)", "toDecimal128('1.5', 10)", "CAST((1, 2) AS Point)", "toIPv4('1.2.3.4')",
		"toInt256(1)", "toBFloat16(1)", "map('a', map('b', 1))", "[('a', 1)]", "toLowCardinality(toFixedString('ab', 2))", "toTime64(1, 3)",
		"toDateTime('2026-01-01 00:00:00', 'Europe/Berlin')", `CAST('{"a": 1}' AS JSON)`, "CAST(1 AS Variant(String, UInt8))", "CAST(1 AS Dynamic)",
		"CAST('a' AS Nullable(Enum8('a' = 1)))", "emptyArrayString()", "arrayMap(x -> toLowCardinality(toString(x)), range(number))",
	} {
		rows, err := conn.Query(t.Context(), "SELECT number, "+expression+" AS v, 'end' AS mark FROM numbers(3)")
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if names := rows.Columns(); len(names) != 3 || names[2] != "mark" {
			t.Errorf("%s: columns %v", expression, names)
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := rows.Err(); err != nil || n != 3 {
			t.Errorf("%s: %d rows, %v", expression, n, err)
		}
		rows.Close()
	}
	err := conn.Exec(t.Context(), "SELECT sumState(1) FORMAT Null")
	if err != nil {
		t.Error(err)
	}
	var exception *clickhouse.Exception
	if _, err := conn.Query(t.Context(), "SELECT sumState(1)"); !errors.As(err, &exception) || exception.Code != 48 {
		t.Errorf("a type that the client cannot read: %v", err)
	}
}
