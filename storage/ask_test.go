package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/span"
)

func skipRows(driver.Rows) error { return nil }

// What costs too much fails with an error that says so, and the engine answers the next question.
func TestGuards(t *testing.T) {
	engine := enginetest.Start(t)
	db, err := Open(Config{DSN: engine.DSN("default"), MaxExecutionTime: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for name, sql := range map[string]string{
		"time":   "SELECT sum(sipHash64(number)) FROM numbers(100000000000) SETTINGS max_rows_to_read = 0",
		"memory": "SELECT length(groupArray(number)) FROM numbers(1000000000)",
		"rows":   "SELECT count() FROM numbers(3000000000) WHERE NOT ignore(number)",
	} {
		start := time.Now()
		if err := db.ask(t.Context(), sql, skipRows, nil); !IsTooExpensive(err) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: ended after %s", name, took)
		}
		if _, err := db.Engine(t.Context()); err != nil {
			t.Errorf("the question after %s: %v", name, err)
		}
	}
}

// A caller that leaves ends its question in the engine, long before any limit.
func TestACallerThatLeavesEndsItsQuestion(t *testing.T) {
	engine := enginetest.Start(t)
	db, err := Open(Config{DSN: engine.DSN("default"), MaxExecutionTime: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- db.ask(ctx, "SELECT sum(sipHash64(number)) FROM numbers(1000000000000) SETTINGS max_rows_to_read = 0", skipRows, nil)
	}()
	waitFor(t, "the question runs", func() bool { return running(t, engine) == "1" })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller sees %v", err)
	}
	waitFor(t, "the question has ended in the engine", func() bool { return running(t, engine) == "0" })
}

func running(t *testing.T, engine *enginetest.Engine) string {
	t.Helper()
	count, err := engine.Query("SELECT count() FROM system.processes WHERE query LIKE '%sipHash64(number)%' AND query NOT LIKE '%system.processes%'")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(count)
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// A database that ends while it is asked could not be asked, at whatever point of the answer.
func TestIssueAnEngineThatEndsWhileItIsAsked(t *testing.T) {
	for name, answer := range map[string]string{
		"before it answers":      "",
		"in its answer's head":   "HTTP/1.1 200 OK\r\nContent-Le",
		"in its answer":          "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
		"in a part of an answer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(conn, answer)
				_ = conn.Close()
			}))
			defer server.Close()
			db, err := Open(Config{DSN: strings.Replace(server.URL, "http://", "http://default@", 1) + "/laxity"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.Engine(t.Context()); !IsUnreachable(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A ClickHouse server takes 128 KiB of a parameter: longer ones, as the identifiers of many traces, become part of the statement.
func TestIssueParametersLongerThanAServerTakes(t *testing.T) {
	engine := enginetest.Start(t)
	db, err := Open(Config{DSN: engine.DSN("default")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, n := range []int{0, 1, 4000, 100_000} {
		ids := make([]span.TraceID, n)
		for i := range ids {
			binary.BigEndian.PutUint64(ids[i][:], uint64(i))
		}
		var got, different uint64
		sql := "SELECT count(), uniqExact(id) FROM (SELECT arrayJoin(extractAll({ids:String}, '.{32}')) AS id) WHERE id != {but:String}"
		err := db.ask(t.Context(), sql, func(rows driver.Rows) error { return rows.Scan(&got, &different) }, map[string]any{"ids": hexIDs(ids), "but": "none"})
		if err != nil || got != uint64(n) || different != got {
			t.Errorf("%d identifiers: %d came, %d of them different, %v", n, got, different, err)
		}
	}
	hostile := strings.Repeat(`'\\'; DROP TABLE x -- {but:String} `, 5000)
	var back string
	err = db.ask(t.Context(), "SELECT {text:String}", func(rows driver.Rows) error { return rows.Scan(&back) }, map[string]any{"text": hostile})
	if err != nil || back != hostile {
		t.Errorf("%d bytes of %d came back, %v", len(back), len(hostile), err)
	}
}

// A long text that looks like a parameter stays a text: nothing of another long parameter becomes part of the statement within it.
func TestIssueLongTextsDoNotReplaceEachOther(t *testing.T) {
	pad := strings.Repeat("x", maxParameter)
	a, b := pad+"{b:String}", "|| (SELECT secret FROM other) || "+pad
	want := "SELECT '" + a + "', '" + b + "', '" + a + "'"
	for range 50 {
		got, args, _ := bind("SELECT {a:String}, {b:String}, {a:String}", map[string]any{"a": a, "b": b}, clickhouse.Settings{})
		if got != want || len(args) != 0 {
			t.Fatalf("what was a text is a part of the statement: …%s…", got[strings.Index(got, "xxx'"):][:60])
		}
	}
}
