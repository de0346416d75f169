package watch_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
	"github.com/laxity-dev/laxity/storage/watch"
)

func definitions(t *testing.T) []slo.Alert {
	t.Helper()
	all, err := slo.Alerts(slo.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// entry is a request of the shop.
func entry(n int, start time.Time, lasts time.Duration, attrs span.Attributes) span.Span {
	attrs["http.route"], attrs[budgetattr.BudgetReceivedKey] = "/buy", 1.0
	return span.Span{
		Trace: span.TraceID{9, 14: byte(n >> 8), 15: byte(n)}, ID: span.ID{9, 6: byte(n >> 8), 7: byte(n)}, Service: "shop", Name: "POST /buy",
		Kind: span.KindServer, Start: start.UnixNano(), End: start.Add(lasts).UnixNano(), Attrs: attrs, Resource: span.Attributes{"service.name": "shop"},
	}
}

// receiver keeps what it was told and answers with a status.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	bodies []string
	paths  []string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{status: http.StatusOK}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies, r.paths = append(r.bodies, string(body)), append(r.paths, request.URL.Path)
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

// take returns what came since the last time, and sets the next status.
func (r *receiver) take(status int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	bodies := r.bodies
	r.bodies, r.status = nil, status
	return bodies
}

// alertsOfMisses is how many alerts a route fires of which half of the requests are late: the two burns, and the one of answers that are
// in time and whole.
const alertsOfMisses = 3

// One of two processes evaluates; what it found outlives it; people are told once, with the worst traces, again after a failure, not
// while a silence lasts, and of the end.
func TestOneTellsOnce(t *testing.T) {
	store := storagetest.Open(t)
	ctx := t.Context()
	_, now, err := store.AlertLeases(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var spans []span.Span
	for n := range 240 {
		lasts := 500 * time.Millisecond
		if n%2 == 0 {
			lasts = time.Second + time.Duration(n)*time.Millisecond
		}
		spans = append(spans, entry(n, now.Add(-2*time.Minute-time.Duration(n)*2*time.Second), lasts, span.Attributes{}))
	}
	store.Insert(t, spans...)
	store.Insert(t, spans...) // every span arrives twice
	// They arrived some minutes ago.
	if _, err := store.Engine.Query("INSERT INTO " + store.Database + ".hops SELECT * REPLACE (ingested_at - toIntervalMinute(5) AS ingested_at) FROM " + store.Database + ".hops"); err != nil {
		t.Fatal(err)
	}
	hook, manager := newReceiver(t), newReceiver(t)
	start := func(holder string) *watch.Watch {
		w, err := watch.New(watch.Config{
			Store: store.DB, Alerts: definitions(t), Holder: holder, PublicURL: "https://laxity.example/", Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
			Notifiers: []watch.Notifier{{Kind: watch.KindWebhook, URL: hook.URL + "/secret"}, {Kind: watch.KindAlertmanager, URL: manager.URL}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	step := func(w *watch.Watch) {
		t.Helper()
		if err := w.Step(ctx); err != nil {
			t.Fatal(err)
		}
	}
	lease := func(holder string, claimed, until time.Duration) {
		t.Helper()
		if err := store.WriteAlertLease(ctx, storage.AlertLease{Holder: holder, Claimed: now.Add(claimed), Until: now.Add(until)}); err != nil {
			t.Fatal(err)
		}
	}
	firing := func() (all []alert.State) {
		t.Helper()
		states, err := store.AlertStates(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range states {
			if s.Status == alert.Firing {
				all = append(all, s)
			}
		}
		return all
	}
	// Nobody evaluates right after claiming, and who comes second does not at all.
	one, two := start("one"), start("two")
	step(one)
	step(two)
	if len(firing()) != 0 {
		t.Fatal("somebody evaluated without waiting for the claims of others")
	}
	lease("one", -time.Minute, 10*time.Minute)
	one = start("one")
	step(two)
	if len(firing()) != 0 {
		t.Fatal("two evaluate")
	}
	hook.take(http.StatusBadGateway)
	step(one)
	found := firing()
	if len(found) != alertsOfMisses || found[1].Name != "BudgetMissedFast" || found[1].Value < 0.49 || found[1].Value > 0.51 {
		t.Fatalf("firing: %+v", found)
	}
	leases, _, err := store.AlertLeases(ctx)
	if err != nil || leases[0].Holder != "one" || !strings.Contains(leases[0].Problem, "502 Bad Gateway") || strings.Contains(leases[0].Problem, "secret") {
		t.Errorf("a webhook that fails: %+v, %v", leases, err)
	}
	if told := hook.take(http.StatusOK); len(told) != 1 {
		t.Errorf("a webhook that fails was tried %d times in one step", len(told))
	}
	if strings.Count(leases[0].Problem, "webhook") != 1 {
		t.Errorf("said more than once: %s", leases[0].Problem)
	}
	one = start("one") // it ends and begins anew
	step(one)
	told := hook.take(http.StatusOK)
	if len(told) != alertsOfMisses {
		t.Fatalf("told %d times", len(told))
	}
	for _, body := range told {
		var n watch.Notification
		if err := json.Unmarshal([]byte(body), &n); err != nil {
			t.Fatal(err)
		}
		if n.Status != alert.Firing || n.Labels["route"] != "/buy" || len(n.Statements) != 3 || n.Statements[0].TraceID != spans[238].Trace.String() ||
			!strings.Contains(n.Statements[0].Text, "late") || n.Statements[0].URL != "https://laxity.example/traces/"+n.Statements[0].TraceID {
			t.Errorf("told %s", body)
		}
	}
	var managed []struct {
		Labels, Annotations map[string]string
		EndsAt              time.Time
	}
	if sent := manager.take(http.StatusOK); len(sent) != 2 || manager.paths[0] != "/api/v2/alerts" || json.Unmarshal([]byte(sent[1]), &managed) != nil ||
		len(managed) != alertsOfMisses || managed[0].Labels["alertname"] == "" || managed[0].Labels["service"] != "shop" || !managed[0].EndsAt.After(now) ||
		!strings.Contains(managed[0].Annotations["traces"], spans[238].Trace.String()) {
		t.Errorf("Alertmanager got %v", sent)
	}
	step(one)
	if told := hook.take(http.StatusOK); len(told) != 0 {
		t.Errorf("told again: %v", told)
	}
	// From here on the test says what is evaluated, not the clock.
	if err := store.WriteAlertLease(ctx, storage.AlertLease{Holder: "one", Claimed: now.Add(-time.Minute), Until: now.Add(10 * time.Minute), Evaluated: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	one = start("one")
	// The end is told too.
	if err := one.EvaluateAt(ctx, now.Truncate(time.Minute).Add(4*24*time.Hour), now); err != nil {
		t.Fatal(err)
	}
	step(one)
	if told := hook.take(http.StatusOK); len(told) != alertsOfMisses || !strings.Contains(told[0], `"status":"resolved"`) {
		t.Errorf("of the end: %v", told)
	}
	if history, err := store.AlertHistory(ctx, storage.Window{From: now.Add(-time.Hour), To: now.Add(5 * 24 * time.Hour)}, "BudgetMissedFast", 10, 0); err != nil ||
		len(history) != 2 || history[0].State != alert.Resolved || history[1].State != alert.Firing || !strings.HasSuffix(history[1].Summary, " % of requests late or out of time") {
		t.Errorf("history: %+v, %v", history, err)
	}
	// It fires again, in silence.
	silence := alert.Silence{ID: strings.Repeat("ab", 16), Matchers: map[string]string{"service": "shop"}, Since: now.Add(-time.Hour), Until: now.Add(time.Hour)}
	if err := store.WriteSilence(ctx, silence); err != nil {
		t.Fatal(err)
	}
	manager.take(http.StatusOK)
	if err := one.EvaluateAt(ctx, now.Add(-time.Minute).Truncate(time.Minute), now); err != nil {
		t.Fatal(err)
	}
	step(one)
	if told := append(hook.take(http.StatusOK), manager.take(http.StatusOK)...); len(firing()) != alertsOfMisses || len(told) != 0 {
		t.Errorf("told in silence: %v", told)
	}
	silence.Until = now
	if err := store.WriteSilence(ctx, silence); err != nil {
		t.Fatal(err)
	}
	step(one)
	if told := hook.take(http.StatusOK); len(told) != alertsOfMisses {
		t.Errorf("after the silence: %v", told)
	}
	// Another goes on where the first ends.
	lease("one", -time.Minute, -time.Second)
	lease("two", -time.Minute, 10*time.Minute)
	two = start("two")
	step(two)
	if told := hook.take(http.StatusOK); len(told) != 0 {
		t.Errorf("the second tells again: %v", told)
	}
	outcome := two.Test(ctx, definitions(t)[0], now)
	if len(outcome) != 2 || outcome[0].Error != "" || !strings.Contains(hook.take(http.StatusOK)[0], `"test":true`) || strings.Contains(outcome[0].To, "secret") {
		t.Errorf("test: %+v", outcome)
	}
}

// Of two webhooks one fails: the other is told once, and the first of everything when it is back.
func TestWebhooksWaitForThemselvesOnly(t *testing.T) {
	store := storagetest.Open(t)
	ctx := t.Context()
	_, now, err := store.AlertLeases(ctx)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := newReceiver(t), newReceiver(t)
	bad.take(http.StatusInternalServerError)
	lease := storage.AlertLease{Holder: "one", Claimed: now.Add(-time.Minute), Until: now.Add(10 * time.Minute), Evaluated: now.Add(time.Hour)}
	var states []alert.State
	for _, service := range []string{"shop", "store"} {
		id := alert.ID{Name: "OrphanWork", Labels: alert.Labels{Service: service}}
		states = append(states, alert.State{ID: id, Status: alert.Firing, Since: now, At: now, Value: 70, Summary: service})
	}
	if err := errors.Join(store.WriteAlertLease(ctx, lease), store.WriteAlertStates(ctx, states)); err != nil {
		t.Fatal(err)
	}
	w, err := watch.New(watch.Config{
		Store: store.DB, Alerts: definitions(t), Holder: "one", Logger: slog.New(slog.DiscardHandler),
		Notifiers: []watch.Notifier{{Kind: watch.KindWebhook, URL: bad.URL}, {Kind: watch.KindWebhook, URL: good.URL}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range [][2]int{{1, 2}, {1, 0}, {2, 0}, {0, 0}} { // requests to the bad one and to the good one
		status := http.StatusInternalServerError
		if step > 1 {
			status = http.StatusOK
		}
		bad.take(status)
		if err := w.Step(ctx); err != nil {
			t.Fatal(err)
		}
		if got := [2]int{len(bad.take(status)), len(good.take(http.StatusOK))}; got != want {
			t.Errorf("step %d: %v requests, want %v", step, got, want)
		}
	}
}
