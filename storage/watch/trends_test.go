package watch_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage/storagetest"
	"github.com/laxity-dev/laxity/storage/watch"
)

// story makes requests of a service and route; each has a number of its own.
type story struct {
	n     int
	spans []span.Span
}

func (s *story) add(service, route string, at time.Time, lasts time.Duration, attrs span.Attributes) {
	one := entry(s.n, at, lasts, attrs)
	one.Trace[13], one.ID[5] = byte(s.n>>16), byte(s.n>>16)
	one.Service, one.Resource = service, span.Attributes{"service.name": service}
	one.Attrs["http.route"] = route
	s.n++
	s.spans = append(s.spans, one)
}

// firing evaluates at an instant and returns the instances of an alert that fire then, by service and route.
func firing(t *testing.T, store *storagetest.Store, w *watch.Watch, name string, at time.Time) map[string]alert.State {
	t.Helper()
	if err := w.EvaluateAt(t.Context(), at, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	states, err := store.AlertStates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]alert.State{}
	for _, s := range states {
		if s.Name == name && s.Status == alert.Firing {
			found[strings.TrimSpace(s.Labels.Service+" "+s.Labels.Route)] = s
		}
	}
	return found
}

// only is the alert of a name, for some settings.
func only(t *testing.T, name string, settings slo.Settings) []slo.Alert {
	t.Helper()
	all, err := slo.Alerts(settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.Name == name {
			return []slo.Alert{a}
		}
	}
	t.Fatalf("there is no alert %s", name)
	return nil
}

func newWatch(t *testing.T, store *storagetest.Store, alerts []slo.Alert, settings slo.Settings) *watch.Watch {
	t.Helper()
	w, err := watch.New(watch.Config{Store: store.DB, Alerts: alerts, MinAnswers: settings.MinAnswers, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A margin that shrinks from day to day alerts while nothing is late, also where another process goes on; one that is steady, falls and
// rises with the hours, has hardly any traffic, or is known for two days only, does not; one that grows again is taken back.
func TestMarginErosion(t *testing.T) {
	settings := slo.DefaultSettings()
	settings.MinRequests, settings.MinAnswers = 5, 4 // an hour of the test has six requests
	store := storagetest.Open(t)
	var s story
	const days = 8
	for hour := range (days + 3) * 24 {
		for n := range 6 {
			at := midnight.Add(time.Duration(hour)*time.Hour + time.Duration(n)*10*time.Minute)
			passed := float64(hour) / 24
			margin := func(left float64) time.Duration { return time.Second - time.Duration(left*1e9) } // of a budget of a second
			erodes := 0.9 - 0.09*passed
			if passed >= days { // mended
				erodes = 0.9
			}
			s.add("shop", "/erodes", at, margin(erodes), span.Attributes{})
			s.add("shop", "/steady", at, margin(0.2), span.Attributes{})
			daily := 0.6
			if hour%24 < 12 {
				daily = 0.1
			}
			s.add("shop", "/daily", at, margin(daily), span.Attributes{})
			if n == 0 && hour%8 == 0 {
				s.add("shop", "/sparse", at, margin(0.9-0.1*passed), span.Attributes{})
			}
			if passed >= days-2 && passed < days {
				s.add("shop", "/young", at, margin(0.9-0.4*(passed-days+2)), span.Attributes{})
			}
		}
	}
	store.Insert(t, s.spans...)
	alerts := only(t, "MarginErosion", settings)
	w := newWatch(t, store, alerts, settings)
	end := midnight.Add(days * 24 * time.Hour)
	if got := firing(t, store, w, "MarginErosion", midnight.Add(3*24*time.Hour)); len(got) != 0 {
		t.Errorf("after three days: %v", got)
	}
	found := firing(t, store, w, "MarginErosion", end)
	one, ok := found["shop /erodes"]
	if len(found) != 1 || !ok {
		t.Fatalf("after %d days: %+v", days, found)
	}
	if want := "shop /erodes: the margin of its slowest answers reaches zero within two weeks"; one.Summary != want || one.Value < 0.15 || one.Value > 0.25 {
		t.Errorf("%q with %v, want %q", one.Summary, one.Value, want)
	}
	if len(one.Statements) != 3 || !strings.Contains(one.Statements[0].Text, "/erodes") {
		t.Errorf("statements: %+v", one.Statements)
	}
	// Another process goes on: it still fires since then, and ends once it is mended.
	w = newWatch(t, store, alerts, settings)
	if again := firing(t, store, w, "MarginErosion", end.Add(time.Minute)); !again["shop /erodes"].Since.Equal(one.Since) {
		t.Errorf("after a restart: %+v", again)
	}
	if got := firing(t, store, w, "MarginErosion", end.Add(3*24*time.Hour)); len(got) != 0 {
		t.Errorf("three days after it was mended: %v", got)
	}
}

// Load and misses that rise together alert, and name what was cancelled most; each alone does not, nor does a service without an hour on
// record; an hour of it is what the load is.
func TestOverload(t *testing.T) {
	store := storagetest.Open(t)
	var s story
	began := midnight.Add(2 * time.Hour)
	play := func(service string, from time.Time, long time.Duration, each time.Duration, bad int) {
		for n, at := 0, from; at.Before(from.Add(long)); n, at = n+1, at.Add(each) {
			lasts, attrs := 300*time.Millisecond, span.Attributes{}
			if bad > 0 && n%bad == 0 {
				lasts, attrs = time.Second, span.Attributes{budgetattr.OutcomeKey: "cancelled", budgetattr.CancelCauseKey: "local_deadline", budgetattr.CancelAfterKey: 0.99}
			}
			s.add(service, "/buy", at, lasts, attrs)
		}
	}
	const usual, more = 2 * time.Second, time.Second
	for _, service := range []string{"overloaded", "busy", "failing"} {
		play(service, midnight, 2*time.Hour, usual, 100)
	}
	play("overloaded", began, 2*time.Hour, more, 4)
	play("busy", began, 10*time.Minute, more, 100)
	play("failing", began, 10*time.Minute, usual, 4)
	play("young", began.Add(-30*time.Minute), 30*time.Minute, usual, 100)
	play("young", began, 10*time.Minute, more, 4)
	store.Insert(t, s.spans...)
	settings := slo.DefaultSettings()
	w := newWatch(t, store, only(t, "Overload", settings), settings)
	if got := firing(t, store, w, "Overload", began); len(got) != 0 {
		t.Errorf("before: %v", got)
	}
	found := firing(t, store, w, "Overload", began.Add(5*time.Minute))
	one, ok := found["overloaded"]
	if len(found) != 1 || !ok || one.Value < 0.24 || one.Value > 0.26 {
		t.Fatalf("five minutes after it began: %+v", found)
	}
	if want := "overloaded: load rises and with it work for nobody, 25 % of requests, mostly by local_deadline"; one.Summary != want || one.Blamed.Cause != "local_deadline" || len(one.Statements) != 3 {
		t.Errorf("%q with %d statements, want %q", one.Summary, len(one.Statements), want)
	}
	if got := firing(t, store, newWatch(t, store, only(t, "Overload", settings), settings), "Overload", began.Add(2*time.Hour)); len(got) != 0 {
		t.Errorf("two hours of it are not what the load is: %v", got)
	}
}
