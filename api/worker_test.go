package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// A deleted trace leaves spans, search, findings and, after the next pass, the margins of rollups and hops alike.
func TestDeleteTrace(t *testing.T) {
	store := storagetest.Open(t)
	store.Insert(t, lateAnswer().spans...)
	judge(t, store)
	server := newServer(t, store, nil)
	remove := func(id string) *http.Response {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/api/v1/traces/"+id, nil)
		request.Host = "127.0.0.1:8484"
		recorder := httptest.NewRecorder()
		server.ServeHTTP(recorder, request)
		return recorder.Result()
	}
	if got := remove("xyz").StatusCode; got != http.StatusBadRequest {
		t.Errorf("not an id: %d", got)
	}
	for range 2 {
		if got := remove(lateTrace).StatusCode; got != http.StatusNoContent {
			t.Fatalf("status %d", got)
		}
	}
	if response, body := get(t, server, "/api/v1/traces/"+lateTrace); response.StatusCode != http.StatusNotFound {
		t.Errorf("the trace is still there: %s", body)
	}
	judge(t, store)
	for _, path := range []string{"traces", "reports/findings", "reports/orphans", "reports/margin", "reports/stages", "services"} {
		if _, body := get(t, server, "/api/v1/"+path); !strings.Contains(string(body), `"rows":[]`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	out, err := store.Engine.Query("SELECT sum(requests) FROM " + store.Database + ".rollup_1h FINAL")
	if err != nil || strings.TrimSpace(out) != "0" {
		t.Errorf("requests in the rollup: %s, %v", out, err)
	}
}

// A search for a rule examines the traces that have it and those that no worker has judged, and finds the same as by reading all.
func TestSearchByRuleUsesVerdicts(t *testing.T) {
	store := storagetest.Open(t)
	server := newServer(t, store, nil)
	for n := range byte(20) {
		s := newStory(100+n, -time.Duration(n)*time.Minute)
		s.add(0, "shop", "GET /", span.KindServer, 0, 100*time.Millisecond, span.Attributes{"http.route": "/", budgetattr.BudgetReceivedKey: 1.0})
		store.Insert(t, s.spans...)
	}
	store.Insert(t, lateAnswer().spans...)
	const orphans = "/api/v1/traces?rule=orphan_work"
	_, unjudged := get(t, server, orphans)
	if !strings.Contains(string(unjudged), lateTrace) || !strings.Contains(string(unjudged), `"examined":21`) {
		t.Fatalf("without a worker: %s", unjudged)
	}
	judge(t, store)
	if _, body := get(t, server, orphans); !strings.Contains(string(body), lateTrace) || !strings.Contains(string(body), `"examined":1,`) {
		t.Errorf("with a worker: %s", body)
	}
	// Arrived since: an orphan that no worker has seen.
	young := newStory(50, time.Minute)
	young.spans = nil
	for _, s := range lateAnswer().spans {
		s.Trace = young.trace
		young.spans = append(young.spans, s)
	}
	store.Insert(t, young.spans...)
	if _, body := get(t, server, orphans); !strings.Contains(string(body), young.trace.String()) || !strings.Contains(string(body), `"examined":2,`) {
		t.Errorf("a younger trace: %s", body)
	}
	judge(t, store)
	for _, query := range []string{"rule=missing_budget&service=model", "rule=late", "rule=local_spend", "rule=missing_budget"} {
		_, body := get(t, server, "/api/v1/traces?"+query)
		if found := strings.Contains(string(body), lateTrace); found == (query == "rule=local_spend") {
			t.Errorf("%s: %s", query, body)
		}
	}
}

// A worker that is behind shows in the health of the installation.
func TestHealthKnowsTheWorker(t *testing.T) {
	store := storagetest.Open(t)
	server := newServer(t, store, nil)
	for _, c := range []struct {
		judged, counted time.Time
		want            string
	}{
		{time.Time{}, time.Time{}, "no worker has judged a trace yet"},
		{now.Add(-time.Hour), time.Time{}, "the worker is 60 minutes behind"},
		{now.Add(-time.Minute), time.Time{}, "nothing is counted for reports over much traffic yet"},
		{now.Add(-time.Minute), now.Add(-time.Hour), "over much traffic 60 minutes behind"},
		{now.Add(-time.Minute), now.Add(-time.Minute), `"judges what arrives"`},
	} {
		for step, at := range map[storage.Step]time.Time{storage.StepVerdicts: c.judged, storage.StepStretches: c.counted} {
			if at.IsZero() {
				continue
			}
			if err := store.SetProgress(t.Context(), step, at); err != nil {
				t.Fatal(err)
			}
		}
		if _, body := get(t, server, "/api/v1/health"); !strings.Contains(string(body), c.want) {
			t.Errorf("want %q: %s", c.want, body)
		}
	}
}
