package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
	"github.com/laxity-dev/laxity/storage/watch"
)

// Alerts are listed with their instances, silenced, unsilenced, tested, and their troubles are told.
func TestAlerts(t *testing.T) {
	store := storagetest.Open(t)
	doc := loadContract(t)
	var told []string
	status := http.StatusOK
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told = append(told, string(body))
		w.WriteHeader(status)
	}))
	t.Cleanup(hook.Close)
	definitions, err := slo.Alerts(slo.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	watching, err := watch.New(watch.Config{Store: store.DB, Alerts: definitions, Notifiers: []watch.Notifier{{Kind: watch.KindWebhook, URL: hook.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(t, store, func(c *Config) { c.Watch, c.Now = watching, time.Now })
	send := func(server *Server, method, path, body string) (int, string) {
		t.Helper()
		request := httptest.NewRequestWithContext(t.Context(), method, "/api/v1/"+path, strings.NewReader(body))
		request.Host = "127.0.0.1:8484"
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		server.ServeHTTP(recorder, request)
		return recorder.Code, recorder.Body.String()
	}
	expect := func(schema, method, path, body string, want int, parts ...string) string {
		t.Helper()
		got, answer := send(server, method, path, body)
		if got != want {
			t.Fatalf("%s %s: %d %s", method, path, got, answer)
		}
		follows(t, doc, schema, []byte(answer))
		for _, part := range parts {
			if !strings.Contains(answer, part) {
				t.Errorf("%s %s: no %s in %s", method, path, part, answer)
			}
		}
		return answer
	}
	expect("AlertList", "GET", "alerts", "", 200, `"evaluated_at":null`, `"name":"IngestionLoss"`, `"outside":true`)
	if _, health := send(server, "GET", "health", ""); strings.Contains(health, `"alerts"`) {
		t.Errorf("health speaks of alerts that nobody evaluates: %s", health)
	}

	at := time.Now().Add(-time.Minute).Truncate(time.Minute)
	state := alert.State{ID: alert.ID{Name: "OrphanWork", Labels: alert.Labels{Service: "shop", Stage: "load", Cause: "local_deadline"}}, Status: alert.Firing,
		Since: at, At: at, Value: 61.5, Summary: "shop load: 61.5 s of work"}
	if err := store.WriteAlertStates(t.Context(), []alert.State{state}); err != nil {
		t.Fatal(err)
	}
	change := storage.AlertChange{At: at, Name: state.Name, Labels: state.Labels, State: state.Status, Value: state.Value, Summary: state.Summary}
	if err := store.WriteAlertHistory(t.Context(), []storage.AlertChange{change}); err != nil {
		t.Fatal(err)
	}
	lease := storage.AlertLease{Holder: "one", Claimed: at, Until: at.Add(time.Hour), Evaluated: at, Problem: "webhook http://hooks.example answered 502 Bad Gateway"}
	if err := store.WriteAlertLease(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	expect("AlertList", "GET", "alerts?state=firing", "", 200, `"state":"firing"`, `"value":61.5`, `"service":"shop"`, `"silenced":false`, "502 Bad Gateway")
	expect("AlertHistory", "GET", "alerts/history?name=OrphanWork&limit=1", "", 200, `"value":61.5`)
	expect("AlertHistory", "GET", "alerts/history?name=Overload", "", 200, `"rows":[]`)
	if _, health := send(server, "GET", "health", ""); !strings.Contains(health, "not everybody is told of alerts: webhook http://hooks.example answered 502") {
		t.Errorf("health does not tell: %s", health)
	}

	silence := expect("Silence", "POST", "silences", `{"matchers": {"alertname": "OrphanWork", "service": "shop"}, "for": "2h", "comment": "known"}`, 201, `"active":true`)
	_, rest, _ := strings.Cut(silence, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	expect("AlertList", "GET", "alerts?state=firing", "", 200, `"silenced":true`)
	expect("SilenceList", "GET", "silences", "", 200, id)
	for range 2 {
		expect("Silence", "DELETE", "silences/"+id, "", 200, `"active":false`)
	}
	expect("AlertList", "GET", "alerts?state=firing", "", 200, `"silenced":false`)

	expect("AlertTest", "POST", "alerts/OrphanWork/test", "", 200, `"error":""`)
	if len(told) != 1 || !strings.Contains(told[0], `"test":true`) {
		t.Errorf("told %v", told)
	}
	status = http.StatusForbidden
	expect("AlertTest", "POST", "alerts/OrphanWork/test", "", 200, "403 Forbidden")

	for _, bad := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "alerts/None/test", "", 404}, {"GET", "alerts?state=x", "", 400}, {"DELETE", "silences/x", "", 400},
		{"DELETE", "silences/" + strings.Repeat("0", 32), "", 404}, {"POST", "silences", `{"for": "2h"}`, 400},
		{"POST", "silences", `{"matchers": {"host": "a"}, "for": "2h"}`, 400}, {"POST", "silences", `{"matchers": {"service": ""}, "for": "2h"}`, 400},
		{"POST", "silences", `{"matchers": {"service": "a"}, "for": "0s"}`, 400}, {"POST", "silences", `{"matchers": {"service": "a"}, "for": "500d"}`, 400},
		{"POST", "silences", `{"matchers": {"service": "a"}, "for": "2h", "until": "x"}`, 400}, {"POST", "silences", `{} {}`, 400},
		{"GET", "alerts/history?name=Overlod", "", 400},
	} {
		expect("Problem", bad.method, bad.path, bad.body, bad.want)
	}
	// What mutes nothing is refused, and what is blamed can be named.
	for matchers, want := range map[string]string{
		`{"alertname": "OrphnWork"}`: `there is no alert \"OrphnWork\"`, `{"alertname": "OrphanWork", "route": "/buy"}`: "OrphanWork has no label route",
		`{"route": "/buy", "rule": "renewed_clock"}`: "no alert has all of these labels", `{"alertname": "IngestionLoss"}`: "Alertmanager",
	} {
		expect("Problem", "POST", "silences", `{"for": "2h", "matchers": `+matchers+`}`, 400, want)
	}
	expect("Silence", "POST", "silences", `{"for": "1m", "matchers": {"alertname": "BudgetMissedFast", "route": "/buy", "cause": "refused"}}`, 201)

	// A clock that was set back is no good health.
	lease.Evaluated, lease.Problem = time.Now().Add(2*time.Hour), ""
	if err := store.WriteAlertLease(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if _, health := send(server, "GET", "health", ""); !strings.Contains(health, "a clock was set back") {
		t.Errorf("health after the clock was set back: %s", health)
	}
	alone := newServer(t, store, nil)
	if got, body := send(alone, "POST", "alerts/OrphanWork/test", ""); got != 409 || !strings.Contains(body, "--alert-webhook") {
		t.Errorf("nobody to tell: %d %s", got, body)
	}
}
