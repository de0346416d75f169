package engine_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/laxity-dev/laxity/engine/enginetest"
)

// endless runs for about ten minutes unless it is stopped.
const endless = "SELECT sum(cityHash64(number)) FROM numbers(1000000000000) SETTINGS max_threads = 1"

func running(t *testing.T, e *enginetest.Engine, text string) int {
	t.Helper()
	out, err := e.Query("SELECT count() FROM system.processes WHERE query LIKE '%" + text + "%' AND query NOT LIKE '%system.processes%'")
	if err != nil {
		t.Fatal(err)
	}
	return len(strings.Trim(out, "0\n"))
}

func TestClientThatLeavesCancelsItsQuery(t *testing.T) {
	e := shared(t)
	db := e.NewDatabase(t)
	if _, err := e.Query("CREATE TABLE " + db + ".t (n UInt64) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{
		"aggregate": endless,
		"stream":    "SELECT number FROM numbers(1000000000000) FORMAT TSV",
		"whole":     "SELECT number, sleepEachRow(0.01) FROM numbers(1000000) SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0 FORMAT JSON",
		"insert":    "INSERT INTO " + db + ".t SELECT cityHash64(number) FROM numbers(1000000000000) WHERE cityHash64(number) = 1",
	} {
		t.Run(name, func(t *testing.T) {
			marker := "leaving_" + name
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				request, _ := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, strings.NewReader("/* "+marker+" */ "+sql))
				if response, err := http.DefaultClient.Do(request); err == nil {
					<-ctx.Done()
					response.Body.Close()
				}
			}()
			eventually(t, "the query runs", func() bool { return running(t, e, marker) > 0 })
			cancel()
			left := time.Now()
			<-ended
			eventually(t, "the query is gone", func() bool { return running(t, e, marker) == 0 })
			if d := time.Since(left); d > 15*time.Second {
				t.Errorf("the query ran on for %s", d)
			}
		})
	}
}

func TestDeadlineOfClientCancelsItsQuery(t *testing.T) {
	e := shared(t)
	conn := open(t, e.DSN("default"))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := conn.Exec(ctx, "/* deadline_of_client */ "+endless); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	eventually(t, "the query is gone", func() bool { return running(t, e, "deadline_of_client") == 0 })
}

func TestMaxExecutionTimeEndsAQuery(t *testing.T) {
	conn := open(t, shared(t).DSN("default"))
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_execution_time": 1}))
	begun := time.Now()
	err := conn.Exec(ctx, endless)
	var exception *clickhouse.Exception
	if !errors.As(err, &exception) || exception.Code != 159 {
		t.Fatal(err)
	}
	if d := time.Since(begun); d > 20*time.Second {
		t.Errorf("ended after %s", d)
	}
}

func TestLineIsBounded(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{MaxQueries: 2, MaxWaiting: 3})
	conn := open(t, e.DSN("default")) // greets the engine while there is room
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	occupy := func(n int) {
		for range n {
			wg.Go(func() {
				// Who is refused because the probe below stands in the line for a moment comes again.
				for ctx.Err() == nil {
					request, _ := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, strings.NewReader(endless))
					if response, err := http.DefaultClient.Do(request); err == nil {
						response.Body.Close()
					}
				}
			})
		}
	}
	occupy(5)
	var exception *clickhouse.Exception
	eventually(t, "the line is full", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return errors.As(conn.Exec(ctx, "SELECT 1"), &exception)
	})
	if exception.Code != 202 || exception.CodeName != "TOO_MANY_SIMULTANEOUS_QUERIES" || !strings.Contains(exception.Message, "2 run and 3 wait") {
		t.Errorf("%v", exception)
	}
	response, err := http.Get(e.URL + "/ping")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("ping while the line is full: %v", err)
	} else {
		response.Body.Close()
	}
	cancel()
	wg.Wait()
	eventually(t, "the line moves again", func() bool {
		out, err := e.Query("SELECT 1")
		return err == nil && out == "1\n"
	})
}

func TestWaitingRequestsAllGetTheirTurn(t *testing.T) {
	e := shared(t)
	var wg sync.WaitGroup
	var failed atomic.Int64
	for range 60 {
		wg.Go(func() {
			for range 5 {
				if out, err := e.Query("SELECT sum(number) FROM numbers(100000)"); err != nil || out != "4999950000\n" {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of 300 failed", failed.Load())
	}
}

func TestMemoryCeilingIsReported(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{MaxMemory: 1 << 30})
	conn := open(t, e.DSN("default"))
	err := conn.Exec(t.Context(), "SELECT length(groupArray(number)) FROM numbers(1000000000)")
	var exception *clickhouse.Exception
	if !errors.As(err, &exception) || exception.Code != 241 || exception.CodeName != "MEMORY_LIMIT_EXCEEDED" {
		t.Fatal(err)
	}
	if err := conn.Ping(t.Context()); err != nil {
		t.Errorf("the engine after that: %v", err)
	}
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_memory_usage": 20_000_000}))
	if err := conn.Exec(ctx, "SELECT length(groupArray(number)) FROM numbers(100000000)"); !errors.As(err, &exception) || exception.Code != 241 {
		t.Errorf("limit of one query: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if log := e.Log(); !strings.Contains(log, "memory ceiling reached") || !strings.Contains(log, "--max-memory") {
		t.Errorf("log: %s", log)
	}
}

func TestWaitEndOfQueryTurnsALateFailureIntoAStatus(t *testing.T) {
	e := shared(t)
	a := send(t, e, "GET", q("SELECT number, throwIf(number = 3000000) FROM numbers(5000000)", "wait_end_of_query", "1"), "")
	if a.status != http.StatusInternalServerError || a.header.Get("X-ClickHouse-Exception-Code") != "395" || len(a.body) > 1000 {
		t.Errorf("%d %v, %d bytes", a.status, a.header, len(a.body))
	}
}
