package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
	"github.com/laxity-dev/laxity/storage/watch"
)

// telling is a database in which two alerts fire, and a process that tells of them but evaluates nothing for minutes.
type telling struct {
	*testing.T
	store *storagetest.Store
	now   time.Time
}

func startTelling(t *testing.T) telling {
	t.Helper()
	s := telling{t, storagetest.Open(t), time.Time{}}
	_, now, err := s.store.AlertLeases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.now = now
	lease := storage.AlertLease{Holder: "one", Claimed: now.Add(-time.Minute), Until: now.Add(10 * time.Minute), Evaluated: now.Add(10 * time.Minute)}
	var states []alert.State
	for _, service := range []string{"shop", "store"} {
		id := alert.ID{Name: "BudgetMissedFast", Labels: alert.Labels{Service: service, Route: "/buy"}}
		states = append(states, alert.State{ID: id, Blamed: alert.Labels{Stage: "load", Cause: "local_deadline"}, Status: alert.Firing, Since: now, At: now, Value: 0.5})
	}
	if err := errors.Join(s.store.WriteAlertLease(t.Context(), lease), s.store.WriteAlertStates(t.Context(), states)); err != nil {
		t.Fatal(err)
	}
	return s
}

// step takes one step of a process that was started for it, and returns what is said of notifications.
func (s telling) step(ctx context.Context, limit time.Duration, addresses ...string) string {
	s.Helper()
	var notifiers []watch.Notifier
	for _, a := range addresses {
		notifiers = append(notifiers, watch.Notifier{Kind: watch.KindWebhook, URL: a})
	}
	w, err := watch.New(watch.Config{
		Store: s.store.DB, Alerts: definitions(s.T), Holder: "one", Logger: slog.New(slog.DiscardHandler), Notifiers: notifiers, Telling: limit,
	})
	if err != nil {
		s.Fatal(err)
	}
	if err := w.Step(ctx); err != nil && ctx.Err() == nil {
		s.Fatal(err)
	}
	leases, _, err := s.store.AlertLeases(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return leases[0].Problem
}

// become gives all alerts a status.
func (s telling) become(status alert.Status) {
	s.Helper()
	states, err := s.store.AlertStates(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for i := range states {
		states[i].Status = status
	}
	if err := s.store.WriteAlertStates(s.Context(), states); err != nil {
		s.Fatal(err)
	}
}

func statuses(t *testing.T, bodies []string) (all []string) {
	t.Helper()
	for _, body := range bodies {
		var n watch.Notification
		if err := json.Unmarshal([]byte(body), &n); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"service": n.Labels["service"], "route": "/buy", "stage": "load", "cause": "local_deadline"}
		if !maps.Equal(n.Labels, want) {
			t.Errorf("labels %v", n.Labels)
		}
		all = append(all, string(n.Status)+" "+n.Labels["service"])
	}
	slices.Sort(all)
	return all
}

// A webhook that fails, or leads elsewhere, neither keeps others from being told of the end nor lets them be told twice after a restart.
func TestIssueWebhooksDoNotDependOnEachOther(t *testing.T) {
	s := startTelling(t)
	good, bad, target := newReceiver(t), newReceiver(t), newReceiver(t)
	bad.take(http.StatusInternalServerError)
	moved := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusFound))
	t.Cleanup(moved.Close)
	addresses := []string{moved.URL, bad.URL, bad.URL + "/other", good.URL}
	problem := s.step(t.Context(), 0, addresses...)
	if got := statuses(t, good.take(http.StatusOK)); !slices.Equal(got, []string{"firing shop", "firing store"}) {
		t.Errorf("told first: %v", got)
	}
	for _, want := range []string{"answered 302 Found, which is not followed", bad.URL + " answered 500 Internal Server Error; webhook ", bad.URL + " (2) answered 500"} {
		if !strings.Contains(problem, want) {
			t.Errorf("no %q in %q", want, problem)
		}
	}
	if bodies := target.take(http.StatusOK); len(bodies) > 0 {
		t.Errorf("a redirect was followed: %q", bodies)
	}
	s.step(t.Context(), 0, addresses...)
	if got := statuses(t, good.take(http.StatusOK)); len(got) > 0 {
		t.Errorf("told again after a restart: %v", got)
	}
	s.become(alert.Resolved)
	bad.take(http.StatusOK)
	s.step(t.Context(), 0, addresses...)
	if got := statuses(t, good.take(http.StatusOK)); !slices.Equal(got, []string{"resolved shop", "resolved store"}) {
		t.Errorf("told of the end: %v", got)
	}
	if got := bad.take(http.StatusOK); len(got) > 0 {
		t.Errorf("told of the end of what it never heard of: %v", got)
	}
}

// A webhook that is slow keeps neither others waiting nor the step from ending: the rest is told at the next one.
func TestIssueSlowWebhookTakesNoMoreThanItsTime(t *testing.T) {
	s := startTelling(t)
	done := make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	count := map[string]int{}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-done // answers when the other one was told
		} else {
			once.Do(func() { close(done) })
		}
		mu.Lock()
		defer mu.Unlock()
		count[r.URL.Path]++
	}))
	t.Cleanup(hook.Close)
	problem := s.step(t.Context(), time.Nanosecond, hook.URL+"/slow", hook.URL+"/quick")
	if count["/slow"] != 1 || count["/quick"] != 1 || !strings.Contains(problem, "takes long; messages that wait: 1") {
		t.Errorf("first step: %v, %q", count, problem)
	}
	problem = s.step(t.Context(), time.Nanosecond, hook.URL+"/slow", hook.URL+"/quick")
	if count["/slow"] != 2 || count["/quick"] != 2 || problem != "" {
		t.Errorf("second step: %v, %q", count, problem)
	}
}

// What was delivered is kept even if the process is asked to end right then.
func TestIssueEndWhileTelling(t *testing.T) {
	s := startTelling(t)
	ctx, stop := context.WithCancel(t.Context())
	var bodies []string
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n watch.Notification
		_ = json.NewDecoder(r.Body).Decode(&n)
		bodies = append(bodies, n.Labels["service"])
		if len(bodies) == 2 {
			stop()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(hook.Close)
	s.step(ctx, 0, hook.URL)
	s.step(t.Context(), 0, hook.URL)
	if want := []string{"shop", "store", "store"}; !slices.Equal(bodies, want) {
		t.Errorf("told %v, want %v", bodies, want)
	}
}

// A process that evaluated for longer than its lease goes on if nobody took over, and tells nothing if somebody did.
func TestIssueLeaseThatEndedMeanwhile(t *testing.T) {
	s := startTelling(t)
	hook := newReceiver(t)
	w, err := watch.New(watch.Config{
		Store: s.store.DB, Alerts: definitions(t), Holder: "one", Logger: slog.New(slog.DiscardHandler), Notifiers: []watch.Notifier{{Kind: watch.KindWebhook, URL: hook.URL}},
	})
	if err != nil {
		t.Fatal(err)
	}
	write := func(holder string, until time.Duration) {
		t.Helper()
		if err := s.store.WriteAlertLease(t.Context(), storage.AlertLease{Holder: holder, Claimed: s.now.Add(-time.Minute), Until: s.now.Add(until)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{2, 2, 0} {
		switch i {
		case 1:
			write("one", -time.Second)
			s.become(alert.Resolved)
		case 2:
			write("one", -time.Second)
			write("two", 10*time.Minute)
			s.become(alert.Firing)
		}
		if err := w.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(hook.take(http.StatusOK)); got != want {
			t.Errorf("step %d: told %d times, want %d", i, got, want)
		}
	}
}
