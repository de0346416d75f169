package api

import (
	"encoding/json"
	"io"
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

// A marker is added, shown next to margins, compared around, removed and put back; nonsense is refused in words.
func TestMarkers(t *testing.T) {
	store := storagetest.Open(t)
	deployed := func(n byte, after, lasts time.Duration, version string) {
		s := newStory(n, after)
		s.add(0, "shop", "GET /", span.KindServer, 0, lasts, span.Attributes{"http.route": "/", budgetattr.BudgetReceivedKey: 1.0})
		s.spans[0].Resource["service.version"] = version
		store.Insert(t, s.spans...)
	}
	for n := range byte(5) {
		deployed(n+1, -2*time.Hour+time.Duration(n)*time.Minute, 200*time.Millisecond, "1.3.0")
		deployed(n+11, -time.Hour+time.Duration(n)*time.Minute, 500*time.Millisecond, "1.4.0")
	}
	judge(t, store)
	server, doc := newServer(t, store, nil), loadContract(t)
	send := func(method, path, body string) (int, []byte) {
		request := httptest.NewRequestWithContext(t.Context(), method, "/api/v1/markers"+path, strings.NewReader(body))
		request.Host = "127.0.0.1:8484"
		recorder := httptest.NewRecorder()
		server.ServeHTTP(recorder, request)
		answer, err := io.ReadAll(recorder.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		return recorder.Code, answer
	}
	for _, bad := range []string{
		``, `{}`, `[]`, `{"title": 5}`, `{"title": "x", "colour": "red"}`, `{"title": "x"} {}`, `{"title": "x", "at": "yesterday"}`,
		`{"title": "x", "url": "javascript:alert(1)"}`, `{"title": "` + strings.Repeat("x", 201) + `"}`, `{"title": "a\u0000b"}`, `{"service": "shop"}`,
		`{"title": "` + strings.Repeat("x", maxBody) + `"}`,
	} {
		if status, answer := send(http.MethodPost, "", bad); status != http.StatusBadRequest {
			t.Errorf("%.60q: %d %s", bad, status, answer)
		}
	}
	status, body := send(http.MethodPost, "", `{"at": "now-1h15m", "version": "1.4.0"}`)
	if status != http.StatusBadRequest { // lengths have one unit
		t.Errorf("%d %s", status, body)
	}
	status, body = send(http.MethodPost, "", `{"at": "now-80m", "service": "shop", "version": "1.4.0"}`)
	if status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	follows(t, doc, "Marker", body)
	var added storage.Marker
	if err := json.Unmarshal(body, &added); err != nil || added.Title != "shop 1.4.0" || !added.At.Equal(now.Add(-80*time.Minute)) {
		t.Fatalf("%s: %v", body, err)
	}
	shown := func(path string) bool {
		t.Helper()
		response, body := get(t, server, "/api/v1/"+path)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, body)
		}
		return strings.Contains(string(body), added.ID)
	}
	for path, want := range map[string]bool{
		"markers": true, "markers?service=shop": true, "markers?service=other": false, "markers?to=now-2h": false,
		"markers?environment=prod": true, "reports/margin?service=shop": true, "reports/margin?service=other": false,
	} {
		if shown(path) != want {
			t.Errorf("%s shows the marker: %v", path, !want)
		}
	}
	if _, body := get(t, server, "/api/v1/markers?observed=true"); strings.Count(string(body), `"observed":true`) != 1 || !strings.Contains(string(body), `"title":"shop 1.4.0"`) {
		t.Errorf("observed versions: %s", body)
	}

	response, body := get(t, server, "/api/v1/reports/attribution?reach=2h&marker="+added.ID)
	follows(t, doc, "AttributionReport", body)
	for _, part := range []string{`"change_s":-0.3,`, `"part":"own_work","stage":"","peer":"","before_s":0.2,"after_s":0.5,"change_s":-0.3,"share":1}`, `"clear":true`, added.ID} {
		if !strings.Contains(string(body), part) {
			t.Errorf("%d around the marker: no %s in %s", response.StatusCode, part, body)
		}
	}

	for range 2 {
		if status, body := send(http.MethodDelete, "/"+added.ID, ""); status != http.StatusOK || !strings.Contains(string(body), `"removed":true`) || shown("markers") {
			t.Errorf("removed: %d %s", status, body)
		}
	}
	for range 2 {
		if status, body := send(http.MethodPost, "/"+added.ID+"/restore", ""); status != http.StatusOK || !strings.Contains(string(body), `"removed":false`) || !shown("markers") {
			t.Errorf("put back: %d %s", status, body)
		}
	}
	for path, want := range map[string]int{"/" + strings.Repeat("0", 32): http.StatusNotFound, "/x": http.StatusBadRequest, "/%27%20OR%201": http.StatusBadRequest} {
		if status, body := send(http.MethodDelete, path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, query := range []string{"marker=x", "marker=" + added.ID + "&from=now-1h", "reach=1h", "marker=" + added.ID + "&reach=x", "before_from=now-2h", "before_from=now-1h&before_to=now-2h"} {
		if response, body := get(t, server, "/api/v1/reports/attribution?"+query); response.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, response.StatusCode, body)
		}
	}
}

// A sampled request counts as many as it stands for, whether hops or rollups answer.
func TestSampledRequestsCountWhatTheyStandFor(t *testing.T) {
	store := storagetest.Open(t)
	for n := range byte(4) {
		s := newStory(n+1, -time.Duration(n)*time.Minute)
		s.add(0, "shop", "GET /", span.KindServer, 0, time.Duration(n+1)*400*time.Millisecond, span.Attributes{"http.route": "/", budgetattr.BudgetReceivedKey: 1.0})
		if n == 3 {
			s.spans[0].TraceState = "ot=th:c" // one of four
		}
		store.Insert(t, s.spans...)
		store.Insert(t, s.spans...)
	}
	judge(t, store)
	server := newServer(t, store, nil)
	for path, want := range map[string][]string{
		"reports/margin":             {`"requests":7,"seen":4,"with_budget":7,"answered":7,"late":5,`, `"missed_ratio":0.714286`, `"margin_p50_s":-0.6`},
		"reports/findings?rule=late": {`"spans":5,"traces":5,`},
		// A window compared with itself.
		"reports/attribution?from=now-1d&before_from=now-1d&before_to=now": {`"change_s":0,`, `"before":{"with_budget":7,"answered":4,"missed_ratio":0.714286,"margin_mean_s":-0.257143`},
		"facets?service=shop": {`"traces":7,`, `{"value":"true","traces":5}`},
	} {
		_, body := get(t, server, "/api/v1/"+path)
		for _, part := range want {
			if !strings.Contains(string(body), part) {
				t.Errorf("%s: no %s in %s", path, part, body)
			}
		}
	}
	out, err := store.Engine.Query("SELECT sum(requests), sum(represented), sum(with_budget), sum(late), sum(arraySum(mapValues(margin))) FROM " + store.Database + ".rollup_1h FINAL")
	if err != nil || strings.TrimSpace(out) != "4\t7\t7\t5\t7" {
		t.Errorf("rollup: %s, %v", out, err)
	}
}
