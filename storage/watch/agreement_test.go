package watch_test

import (
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
	"github.com/laxity-dev/laxity/storage/watch"
)

// midnight begins the day of the data.
var midnight = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)

// dayOfTrouble is a day of requests: well, then two hours in which many are late, cancelled, refused or degraded, a spike that is too
// short to tell anybody of, and a slow leak in the evening.
func dayOfTrouble() []span.Span {
	random := rand.New(rand.NewPCG(1, 2))
	var spans []span.Span
	for n := range 4320 {
		after := time.Duration(n) * 20 * time.Second
		bad := 0.002
		switch hour := after.Hours(); {
		case hour >= 6 && hour < 8:
			bad = 0.4
		case hour >= 12 && hour < 12.02:
			bad = 1
		case hour >= 18:
			bad = 0.06
		}
		lasts, attrs := 400*time.Millisecond, span.Attributes{}
		if random.Float64() < bad {
			switch random.IntN(5) {
			case 0:
				lasts = 1300 * time.Millisecond
			case 1:
				lasts = time.Second
				attrs = span.Attributes{budgetattr.OutcomeKey: "cancelled", budgetattr.CancelCauseKey: "local_deadline", budgetattr.CancelAfterKey: 0.7}
			case 2:
				attrs = span.Attributes{budgetattr.OutcomeKey: "cancelled", budgetattr.CancelCauseKey: "client_disconnect", budgetattr.CancelAfterKey: 0.398}
			case 3:
				attrs = span.Attributes{budgetattr.OutcomeKey: "rejected"}
			case 4:
				attrs = span.Attributes{budgetattr.OutcomeKey: "degraded"}
			}
		}
		spans = append(spans, entry(n, midnight.Add(after+time.Duration(random.IntN(5000))*time.Millisecond), lasts, attrs))
	}
	return spans
}

// reference counts minutes from the spans alone, by the verdict functions, as sums of all minutes before each.
type reference map[slo.Measure]map[alert.Labels]*[1441]float64

func (r reference) add(m slo.Measure, l alert.Labels, minute int) {
	if r[m] == nil {
		r[m] = map[alert.Labels]*[1441]float64{}
	}
	if r[m][l] == nil {
		r[m][l] = &[1441]float64{}
	}
	for i := minute + 1; i <= 1440; i++ {
		r[m][l][i]++
	}
}

func newReference(spans []span.Span) reference {
	r := reference{}
	for i := range spans {
		v := verdict.JudgeSpan(&spans[i])
		minute := int(time.Unix(0, spans[i].Start).Sub(midnight) / time.Minute)
		route, cause := alert.Labels{Service: "shop", Route: "/buy"}, alert.Labels{Service: "shop", Cause: string(v.Cause)}
		missed := v.Answered && v.Late || v.Exhausted
		for m, is := range map[slo.Measure]bool{
			slo.Requests: v.HasBudget, slo.Missed: missed, slo.MissedOrDegraded: missed || v.Outcome == budgetattr.OutcomeDegraded,
		} {
			if is {
				r.add(m, route, minute)
			}
		}
		for m, is := range map[slo.Measure]bool{
			slo.Cancelled: v.HasPostCancel, slo.StoppedLate: v.HasPostCancel && v.PostCancel > slo.StopWithin, slo.WorkedOn: v.HasPostCancel && v.PostCancel > slo.Tolerance,
		} {
			if is {
				r.add(m, cause, minute)
			}
		}
	}
	return r
}

// values are what alerts are evaluated from at a minute.
func (r reference) values(a slo.Alert, minute int) alert.Values {
	v := alert.Values{Counts: map[alert.Count]map[alert.Labels]float64{}}
	for _, c := range alert.Needs(a) {
		v.Counts[c] = map[alert.Labels]float64{}
		end := max(minute-int(c.Back/time.Minute), 0)
		begin := max(end-int(c.Over/time.Minute), 0)
		for l, sums := range r[c.Measure] {
			v.Counts[c][l] = sums[end] - sums[begin]
		}
	}
	return v
}

// Over a day of late, cancelled, refused and degraded requests, what is counted in the engine is what the verdict functions say of the
// same spans, and in the minute before and the minute of each change by the definitions the same alerts hold natively.
func TestAgreesWithDefinitions(t *testing.T) {
	store := storagetest.Open(t)
	spans := dayOfTrouble()
	store.InsertHops(t, spans...)
	store.InsertHops(t, spans[:100]...) // some arrive twice
	want := newReference(spans)
	var watched []slo.Alert
	for _, a := range definitions(t) {
		if a.SLI != "" {
			watched = append(watched, a)
		}
	}
	held := func(minute int) map[alert.ID]bool {
		all := map[alert.ID]bool{}
		for _, a := range watched {
			for l := range alert.Evaluate(a, want.values(a, minute), midnight) {
				all[alert.ID{Name: a.Name, Labels: l}] = true
			}
		}
		return all
	}
	var changes []int
	for minute, before := 1, held(0); minute <= 1440; minute++ {
		now := held(minute)
		if !maps.Equal(now, before) {
			changes = append(changes, minute)
		}
		before = now
	}
	if len(changes) < 8 {
		t.Fatalf("the definitions change only in minutes %v: too few to prove anything", changes)
	}
	var minutes []int
	for i := range 8 { // of the changes, spread over the day
		change := changes[i*(len(changes)-1)/7]
		minutes = append(minutes, change-1, change)
	}
	minutes = slices.Compact(minutes)
	w, err := watch.New(watch.Config{Store: store.DB, Alerts: watched, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	horizon := time.Now().Add(time.Minute)
	for _, minute := range minutes {
		if err := w.EvaluateAt(t.Context(), midnight.Add(time.Duration(minute)*time.Minute), horizon); err != nil {
			t.Fatal(err)
		}
		states, err := store.AlertStates(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		native := map[alert.ID]bool{}
		for _, s := range states {
			if s.Active() {
				native[s.ID] = true
			}
		}
		if now := held(minute); !maps.Equal(native, now) {
			t.Errorf("minute %d: natively %v, by the definitions %v", minute, native, now)
		}
	}
	testCounts(t, store, want)
}

func testCounts(t *testing.T, store *storagetest.Store, want reference) {
	t.Helper()
	for hour := 3; hour <= 24; hour += 3 {
		at := midnight.Add(time.Duration(hour) * time.Hour)
		windows := []storage.Window{{From: at.Add(-3 * time.Hour), To: at}, {From: at.Add(-5 * time.Minute), To: at}}
		for _, by := range [][]string{{"service", "route"}, {"service", "stage", "cause"}} {
			found, err := store.AlertCounts(t.Context(), by, windows)
			if err != nil {
				t.Fatal(err)
			}
			for m, series := range want {
				for l, sums := range series {
					if (l.Route == "") != (by[1] == "stage") {
						continue
					}
					for i, w := range windows {
						begin, end := int(w.From.Sub(midnight)/time.Minute), int(w.To.Sub(midnight)/time.Minute)
						got := 0.
						if counts, ok := found[l].Counts[m]; ok {
							got = counts[i]
						}
						if got != sums[end]-sums[begin] {
							t.Errorf("%s %s until hour %d, window %d: %v in the engine, %v by the verdicts", m, l, hour, i, got, sums[end]-sums[begin])
						}
					}
				}
			}
		}
	}
}
