package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/storage/storagetest"
)

// A request whose client leaves holds no query for nobody: the cancellation goes through the ClickHouse client to the engine.
func testClientThatLeavesStopsTheQuery(t *testing.T, store *storagetest.Store) {
	database := store.Database
	for _, sql := range []string{
		"RENAME TABLE " + database + ".otel_traces TO " + database + ".raw",
		// The same rows, found after a search without an end: so slow that it meets no limit of rows, and in no memory.
		"CREATE VIEW " + database + ".otel_traces AS SELECT r.* FROM numbers(1000000000000) AS n CROSS JOIN " + database + ".raw AS r WHERE cityHash64(repeat(toString(n.number), 50)) = 1",
	} {
		if _, err := store.Engine.Query(sql); err != nil {
			t.Fatal(err)
		}
	}
	running := func() bool {
		out, err := store.Engine.Query("SELECT count() FROM system.processes WHERE current_database = '" + database + "' AND query LIKE '%otel_traces%'")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out) != "0"
	}
	server := httptest.NewServer(newServer(t, store, nil))
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	left := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/traces/"+lateTrace, nil)
		if err == nil {
			var response *http.Response
			if response, err = http.DefaultClient.Do(request); err == nil {
				response.Body.Close()
			}
		}
		left <- err
	}()
	await := func(what string, now func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !now(); {
			if time.Now().After(deadline) {
				t.Fatalf("%s: not within a minute", what)
			}
			select {
			case err := <-left:
				left <- err
				if ctx.Err() == nil {
					t.Fatalf("the request ended by itself: %v", err)
				}
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	await("the query runs", running)
	leave()
	at := time.Now()
	await("the query is gone", func() bool { return !running() })
	// The limit of a question is 20 s: it is not what ended the query.
	if d := time.Since(at); d > 15*time.Second {
		t.Errorf("the query ran on for %s after its client had left", d)
	}
}
