package storage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// maker makes random traces: services that call each other in stages, in every way a hop may end.
type maker struct {
	*rand.Rand
	begin time.Time
	over  time.Duration
	all   []span.Span
	trace uint16
	id    uint32
}

func pick[T any](m *maker, from ...T) T { return from[m.IntN(len(from))] }

// maybe sets an attribute in one of so many cases.
func (m *maker) maybe(attrs span.Attributes, of int, key string, value any) {
	if m.IntN(of) == 0 {
		attrs[key] = value
	}
}

// seconds is a length between two, with three digits.
func (m *maker) seconds(low, high float64) float64 {
	return math.Round((low+m.Float64()*(high-low))*1e3) / 1e3
}

func (m *maker) add(parent span.ID, service, name string, kind span.Kind, start time.Time, lasts float64, attrs span.Attributes) span.ID {
	m.id++
	s := span.Span{
		Trace: span.TraceID{6, 14: byte(m.trace >> 8), 15: byte(m.trace)}, ID: span.ID{6, 4: byte(m.id >> 16), 5: byte(m.id >> 8), 6: byte(m.id), 7: 1}, Parent: parent,
		Service: service, Name: name, Kind: kind, Start: start.UnixNano(), End: start.UnixNano() + int64(lasts*1e9), Attrs: attrs,
		Resource: span.Attributes{"service.name": service, "service.version": pick(m, "1", "2")},
	}
	if m.trace%5 == 0 {
		s.TraceState = "ot=th:8" // one of two is kept
	}
	m.all = append(m.all, s)
	return s.ID
}

// request makes one trace, well inside an hour: where it crosses one is told apart elsewhere.
func (m *maker) request() {
	m.trace++
	start := m.begin.Add(time.Duration(m.Int64N(int64(m.over)))).Truncate(time.Hour).Add(time.Duration(m.Int64N(int64(50 * time.Minute))))
	lasts := m.seconds(0.2, 2)
	attrs := span.Attributes{"http.route": pick(m, "/a", "/b")}
	m.maybe(attrs, 2, budgetattr.BudgetReceivedKey, pick(m, 1.0, 1.5, 0.0))
	m.maybe(attrs, 2, budgetattr.LocalBeforeFirstCallKey, m.seconds(0.01, 0.2))
	m.maybe(attrs, 3, budgetattr.QueueTimeKey, m.seconds(0.01, 0.5))
	m.maybe(attrs, 4, budgetattr.CancelCauseKey, pick(m, "client_disconnect", "local_deadline"))
	m.maybe(attrs, 4, budgetattr.CancelAfterKey, m.seconds(0.1, lasts))
	m.maybe(attrs, 4, budgetattr.CancelConfirmedKey, m.IntN(2) == 0)
	m.maybe(attrs, 5, budgetattr.PostCancelTimeKey, m.seconds(0.01, 0.1))
	m.maybe(attrs, 3, budgetattr.PayloadClassKey, pick(m, "large", "small"))
	front := pick(m, "shop", "desk")
	entry := m.add(span.ID{}, front, "POST", span.KindServer, start, lasts, attrs)
	for range m.IntN(4) {
		m.call(entry, front, start)
	}
}

func (m *maker) call(entry span.ID, front string, start time.Time) {
	peer := pick(m, "model", "store")
	attrs := span.Attributes{"peer.service": peer}
	m.maybe(attrs, 2, budgetattr.StageKey, pick(m, "load", "ask"))
	m.maybe(attrs, 2, budgetattr.DecisionKey, pick(m, "run", "run", "skip", "fallback"))
	m.maybe(attrs, 2, budgetattr.AllowanceKey, m.seconds(0.05, 0.6))
	m.maybe(attrs, 2, budgetattr.ReserveKey, m.seconds(0.01, 0.3))
	m.maybe(attrs, 2, budgetattr.RemainingBeforeKey, m.seconds(0.3, 1))
	m.maybe(attrs, 2, budgetattr.RemainingAfterKey, m.seconds(0.01, 0.5))
	m.maybe(attrs, 3, budgetattr.CapKey, 0.8)
	m.maybe(attrs, 3, budgetattr.MinUsefulKey, 0.1)
	m.maybe(attrs, 4, budgetattr.CancelCauseKey, pick(m, "local_deadline", "upstream_cancel", "stream_idle"))
	m.maybe(attrs, 6, budgetattr.TimeoutPhaseKey, pick(m, "connect", "body"))
	m.maybe(attrs, 2, budgetattr.PhaseTime(budgetattr.PhaseConnect), m.seconds(0.001, 0.05))
	m.maybe(attrs, 2, budgetattr.PhaseTime(budgetattr.PhaseBody), m.seconds(0.01, 0.3))
	m.maybe(attrs, 2, budgetattr.ConnectionReusedKey, m.IntN(2) == 0)
	m.maybe(attrs, 3, budgetattr.AttemptKey, int64(1+m.IntN(3)))
	m.maybe(attrs, 3, budgetattr.AttemptLayerKey, pick(m, "sdk", "step"))
	m.maybe(attrs, 6, budgetattr.RetriesSkippedKey, int64(1+m.IntN(2)))
	m.maybe(attrs, 6, budgetattr.RetriesSkippedReasonKey, "budget")
	m.maybe(attrs, 6, budgetattr.PostCancelTimeKey, m.seconds(0.01, 0.1))
	m.maybe(attrs, 6, budgetattr.PostCancelCostKey, float64(m.IntN(20)))
	m.maybe(attrs, 6, budgetattr.CostUnitKey, "tokens")
	after, lasts := time.Duration(m.seconds(0.01, 0.2)*1e9), m.seconds(0.05, 0.8)
	kind := pick(m, span.KindClient, span.KindClient, span.KindInternal)
	call := m.add(entry, front, map[span.Kind]string{span.KindClient: "call ", span.KindInternal: "work on "}[kind]+peer, kind, start.Add(after), lasts, attrs)
	if kind == span.KindClient && m.IntN(3) > 0 {
		answer := span.Attributes{"http.route": "/v1"}
		m.maybe(answer, 2, budgetattr.BudgetReceivedKey, m.seconds(0.1, 2))
		m.maybe(answer, 2, budgetattr.BudgetSourceKey, pick(m, "default", "caller", "regrant"))
		m.add(call, peer, "POST /v1", span.KindServer, start.Add(after+5*time.Millisecond), m.seconds(0.04, 2), answer)
	}
}

// asked are all reports that tallies answer, as rows of any kind.
func asked(db *storage.DB) map[string]func(context.Context, storage.ReportQuestion) (any, int, error) {
	return map[string]func(context.Context, storage.ReportQuestion) (any, int, error){
		"orphans": rows(db.Orphans), "findings": rows(db.Findings), "stages": rows(db.Stages), "cancellations": rows(db.Cancellations),
		"local": rows(db.Local), "phases": rows(db.Phases), "retries": rows(db.Retries), "propagation": rows(db.Propagation),
		"conformance": rows(db.Conformance), "dependencies": rows(db.Dependencies), "reserves": rows(db.Reserves),
		"advice": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.AdviceRow, error) {
			return db.Advice(ctx, storage.AdviceQuestion{ReportQuestion: q, Rate: 0.001})
		}),
		"safe budgets": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.RouteAdviceRow, error) {
			return db.SafeBudgets(ctx, storage.AdviceQuestion{ReportQuestion: q, Rate: 0.001})
		}),
		"services": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.Service, error) {
			return db.Services(ctx, storage.ServiceQuestion{Window: q.Window, Service: q.Service, Limit: 1000})
		}),
		"facets": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.FacetValue, error) {
			f := storage.FacetQuestion{SearchQuestion: storage.SearchQuestion{Window: q.Window, Service: q.Service, Limit: 1000}}
			found, err := db.Facets(ctx, f)
			return found.Values, err
		}),
		"comparison": rows(func(ctx context.Context, q storage.ReportQuestion) ([]comparedRoute, error) {
			before := storage.Window{From: q.From.Add(-q.To.Sub(q.From)), To: q.From}
			found, err := db.Compare(ctx, storage.ComparisonQuestion{Window: q.Window, Before: before, Service: q.Service})
			return shapeCompared(found), err
		}),
		"spend": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.SpendRow, error) {
			return db.Spend(ctx, q, 3*time.Hour)
		}),
		"spent": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.SpentAt, error) {
			return db.SpentDays(ctx, q.Window, nil, nil)
		}),
	}
}

// comparedRoute is a comparison that JSON can hold.
type comparedRoute struct {
	Service, Route      string
	Missed, Seen        [2]uint64
	P05, P50            [2]float64
	Variance, MeanExact [2]float64
	SpentExact          map[string]float64
	MakeupSize          string
}

func shapeCompared(found []storage.RouteComparison) []comparedRoute {
	var all []comparedRoute
	for _, f := range found {
		r := comparedRoute{Service: f.Service, Route: f.Route, SpentExact: map[string]float64{}}
		for i, s := range []storage.MarginSample{f.Before, f.After} {
			r.Missed[i], r.Seen[i] = s.Missed, s.Seen
			if s.P50 != nil {
				r.P05[i], r.P50[i] = s.P05.Seconds(), s.P50.Seconds()
			}
			if r.Variance[i] = s.Variance; s.Seen < 2 {
				r.Variance[i] = -1
				if !math.IsNaN(s.Variance) {
					r.Variance[i] = -2
				}
			}
			if mean := f.MeanMargin(i); mean != nil {
				r.MeanExact[i] = *mean
			}
			r.MakeupSize += fmt.Sprint(len(f.Makeup[i]), " ")
			for _, traffic := range slices.Sorted(maps.Keys(f.Makeup[i])) {
				for _, place := range slices.Sorted(maps.Keys(f.Makeup[i][traffic].Spent)) {
					if spent := f.Makeup[i][traffic].Spent[place]; spent != 0 { // which places of nothing there are is not told
						r.SpentExact[fmt.Sprintf("%d %q %q", i, traffic, place)] = spent / 1e9
					}
				}
			}
		}
		all = append(all, r)
	}
	return all
}

// TestTalliesAnswerAsHopsDo: counts are the same, lengths within their buckets; also where spans arrived late, and again, and where a trace
// was deleted.
func TestTalliesAnswerAsHopsDo(t *testing.T) {
	store := storagetest.Open(t)
	rolled, err := storage.Open(storage.Config{DSN: store.DSN(), MaxExecutionTime: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rolled.Close() })
	rolled.Roll()
	end := time.Now().UTC()
	m := &maker{Rand: rand.New(rand.NewPCG(1, 2)), begin: end.Add(-9 * 24 * time.Hour), over: 9*24*time.Hour - time.Hour}
	for range 200 {
		m.request()
	}
	q := storage.ReportQuestion{Window: storage.Window{From: end.Add(-8*24*time.Hour - 3*time.Hour - 7*time.Minute), To: end}, Limit: 1000}
	if planned, err := rolled.PlanReport(t.Context(), q); err != nil || planned.Approximate() {
		t.Errorf("before a worker counted: %v, %v", planned.Approximate(), err)
	}
	check := func(name string, windows ...storage.Window) {
		t.Helper()
		for _, w := range windows {
			q.Window = w
			if planned, err := rolled.PlanReport(t.Context(), q); err != nil || !planned.Approximate() {
				t.Fatalf("%s: not from tallies: %v", name, err)
			}
			for _, service := range map[bool][]string{true: {"", "shop"}, false: {""}}[len(windows) > 1] {
				q.Service = service
				fromHops, fromTallies := asked(store.DB), asked(rolled)
				for _, report := range slices.Sorted(maps.Keys(fromHops)) {
					sameReport(t, name+", "+report+" of "+q.Service+" from "+q.From.Format(time.DateTime), report, fromHops[report], fromTallies[report], q)
				}
			}
		}
	}
	days, hours := q.Window, storage.Window{From: end.Add(-50*time.Hour - 13*time.Second), To: end.Add(-26 * time.Hour)}
	half := len(m.all) / 2
	store.InsertHops(t, m.all[:half]...)
	judge(t, store)
	store.InsertHops(t, m.all[half:]...) // late parents, callees and entries
	store.InsertHops(t, m.all[:100]...)
	judge(t, store)
	check("late spans, and again", days, hours)
	q.Not = storage.Exclusions{
		Services: []string{"desk"}, Routes: []string{"/b"}, Stages: []string{"load"}, Peers: []string{"store"}, Causes: []string{"stream_idle"}, Phases: []string{"body"},
		Rules: []string{"overhang"},
	}
	check("some left out", days)
	q.Not = storage.Exclusions{}
	if err := store.DeleteTrace(t.Context(), m.all[500].Trace); err != nil {
		t.Fatal(err)
	}
	judge(t, store)
	check("a deleted trace", days)
}

// near are the facts that come from buckets: how far they may be off. free are those that cannot be compared: choices among examples, and
// what follows from a length by thresholds.
var (
	near = map[string]float64{"generosity": 0.05, "slowdown": 0.05, "share_of_budget_p50": 0.03, "P05": 0.03, "P50": 0.03}
	free = []string{"example_trace_ids", "quadrant", "rules", "verdict", "advised", "reasons", "hopeless_starts", "hopeless_ratio", "reason", "safe_budget_s"}
	// exactLengths are sums and extremes, not percentiles.
	exactLengths = []string{"orphan_s", "post_cancel_s", "amount_s", "wasted_s", "growth_max_s"}
)

func sameReport(t *testing.T, name, report string, hops, tallies func(context.Context, storage.ReportQuestion) (any, int, error), q storage.ReportQuestion) {
	t.Helper()
	byKey := func(ask func(context.Context, storage.ReportQuestion) (any, int, error)) map[string]map[string]any {
		answer, _, err := ask(t.Context(), q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		var list []map[string]any
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		all := map[string]map[string]any{}
		for _, row := range list {
			var key []string
			for _, column := range []string{"rule", "service", "Service", "route", "Route", "stage", "Stage", "peer", "Peer", "Kind", "Day", "cause", "phase", "layer", "from", "to", "Name",
				"Facet", "Value"} {
				key = append(key, fmt.Sprint(row[column]))
			}
			all[strings.Join(key, "|")] = row
		}
		return all
	}
	want, got := byKey(hops), byKey(tallies)
	if len(want) == 0 && report != "spent" || len(want) != len(got) {
		t.Errorf("%s: %d rows, want %d: %v, want %v", name, len(got), len(want), slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for key, w := range want {
		if report == "findings" && (w["rule"] == "slow_dependency" || w["rule"] == "unrealistic_budget") {
			continue // thresholds of lengths
		}
		if g := got[key]; g == nil {
			t.Errorf("%s: %s is missing", name, key)
		} else {
			sameFacts(t, name+": "+key, "", g, w)
		}
	}
}

func sameFacts(t *testing.T, name, fact string, got, want any) {
	t.Helper()
	if slices.Contains(free, fact) {
		return
	}
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for key := range w {
			sameFacts(t, name, key, g[key], w[key])
		}
		if len(g) != len(w) {
			t.Errorf("%s: %s is %v, want %v", name, fact, got, want)
		}
	case []any:
		g, _ := got.([]any)
		for i := range w {
			if i < len(g) {
				sameFacts(t, name, fact, g[i], w[i])
			}
		}
		if len(g) != len(w) {
			t.Errorf("%s: %s is %v, want %v", name, fact, got, want)
		}
	case float64:
		g, ok := got.(float64)
		limit := near[fact]
		switch {
		case limit > 0:
		case slices.Contains(exactLengths, fact), !strings.HasSuffix(fact, "_s"):
			limit = 1e-5
		default:
			limit = 0.0235
		}
		if !ok || math.Abs(g-w) > limit*math.Abs(w)+2e-6 {
			t.Errorf("%s: %s is %v, want %v", name, fact, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s: %s is %v, want %v", name, fact, got, want)
		}
	}
}
