package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

var update = flag.Bool("update", false, "rewrite the golden answers")

// noon is when the seeded traces happen.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// day is the window around noon that every seeded trace lies in.
var day = storage.Window{From: noon.Add(-12 * time.Hour), To: noon.Add(12 * time.Hour)}

// request is one entry span of its own trace.
type request struct {
	service, route string
	after, lasts   time.Duration
	attrs          span.Attributes
}

var traces uint16

func (r request) span() span.Span {
	traces++
	high, low := byte(traces>>8), byte(traces)
	start := noon.Add(r.after).UnixNano()
	attrs := span.Attributes{"http.route": r.route}
	for key, value := range r.attrs {
		attrs[key] = value
	}
	return span.Span{
		Trace: span.TraceID{1, 14: high, 15: low}, ID: span.ID{2, 6: high, 7: low}, Service: r.service, Name: "POST " + r.route,
		Kind: span.KindServer, Start: start, End: start + int64(r.lasts), Attrs: attrs, Resource: span.Attributes{"service.name": r.service},
	}
}

func received(seconds float64, more ...any) span.Attributes {
	attrs := span.Attributes{budgetattr.BudgetReceivedKey: seconds}
	for i := 0; i < len(more); i += 2 {
		attrs[more[i].(string)] = more[i+1]
	}
	return attrs
}

// golden compares an answer with its file.
func golden(t *testing.T, name string, answer any) {
	t.Helper()
	got, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := "testdata/" + name + ".json"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs from its golden file; run with -update and look at the difference. Got:\n%s", name, got)
	}
}

// TestQuestions asks every question of one seeded database.
func TestQuestions(t *testing.T) {
	store := storagetest.Open(t)
	seed(t, store)
	ctx := t.Context()
	all := storage.MarginQuestion{Window: day, Limit: 100}

	routes, err := store.Margins(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "margins", routes)
	for _, route := range routes {
		all.Keys = append(all.Keys, route.Key)
	}
	buckets, err := store.MarginBuckets(ctx, all, 6*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "margin_buckets", buckets)
	services, err := store.Services(ctx, storage.ServiceQuestion{Window: day, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "services", services)

	t.Run("margin pages", func(t *testing.T) {
		second, err := store.Margins(ctx, storage.MarginQuestion{Window: day, Limit: 1, Skip: 1})
		if err != nil || len(second) != 1 || !reflect.DeepEqual(second[0], routes[1]) {
			t.Errorf("second page %+v, %v, want %+v", second, err, routes[1])
		}
		one, err := store.Margins(ctx, storage.MarginQuestion{Window: day, Limit: 10, Service: "assistant", Route: "/answer"})
		if err != nil || len(one) != 1 || one[0].Route != "/answer" {
			t.Errorf("one route: %+v, %v", one, err)
		}
		none, err := store.Margins(ctx, storage.MarginQuestion{Window: day.Shift(-48 * time.Hour), Limit: 10})
		if err != nil || len(none) != 0 {
			t.Errorf("an empty window: %+v, %v", none, err)
		}
	})
	t.Run("search", func(t *testing.T) { searchQuestions(t, store) })
	t.Run("state", func(t *testing.T) { stateQuestions(t, store) })
}

func seed(t *testing.T, store *storagetest.Store) {
	const second = time.Second
	traces = 0
	// Only a received budget: the margin is −0.3 s.
	late := request{"assistant", "/answer", 0, 1300 * time.Millisecond, received(1.0)}.span()
	spans := []span.Span{late}
	for i := range time.Duration(4) {
		spans = append(spans, request{"assistant", "/answer", (i - 2) * time.Hour, (i + 5) * 100 * time.Millisecond, received(1.0)}.span())
	}
	spans = append(spans,
		// Everything exhausted, nothing answered.
		request{"assistant", "/doomed", 0, second, received(1.0, budgetattr.CancelCauseKey, "local_deadline")}.span(),
		// Answered without a budget.
		request{"shop", "/orders", 7 * time.Hour, 20 * time.Millisecond, nil}.span(),
		// The client left: neither an answer nor a miss.
		request{"shop", "/orders", 7 * time.Hour, 20 * time.Millisecond, received(2.0, budgetattr.CancelCauseKey, "client_disconnect")}.span(),
		// A route with every character that a query has to keep apart.
		request{"shop", "/it's \"quoted\"\t\\ 漢字 {x:String}", 0, second / 2, received(2.0, budgetattr.OutcomeKey, "degraded")}.span(),
	)
	call := span.Span{
		Trace: late.Trace, ID: span.ID{9}, Parent: late.ID, Service: "assistant", Name: "generate", Kind: span.KindClient,
		Status: span.StatusError, StatusMessage: "no time left", Start: late.Start + 1e8, End: late.Start + 9e8,
		Attrs: span.Attributes{
			budgetattr.StageKey: "generate", "peer.service": "model", budgetattr.CancelCauseKey: "local_deadline",
			budgetattr.TimeoutPhaseKey: "body", budgetattr.AllowanceKey: 0.8, budgetattr.AttemptKey: int64(1),
		},
		Resource: span.Attributes{"service.name": "assistant"},
	}
	work := span.Span{
		Trace: late.Trace, ID: span.ID{10}, Parent: late.ID, Service: "assistant", Name: "think", Kind: span.KindInternal,
		Start: late.Start, End: late.Start + 1e8, Attrs: span.Attributes{}, Resource: span.Attributes{"service.name": "assistant"},
		Events: []span.Event{{Name: "thought", Time: late.Start + 5, Attrs: span.Attributes{"depth": int64(3)}}},
		Links:  []span.Link{{Trace: span.TraceID{7}, Span: span.ID{8}, Attrs: span.Attributes{"why": "earlier"}}},
	}
	spans = append(spans, call, work)
	store.Insert(t, spans...)
	store.Insert(t, spans...) // every span arrives twice
}

func searchQuestions(t *testing.T, store *storagetest.Store) {
	yes, no, less, more := true, false, time.Duration(0), -time.Second
	for name, q := range map[string]storage.SearchQuestion{
		"all":               {},
		"late":              {EntryFilter: storage.EntryFilter{Late: &yes}},
		"not_late":          {EntryFilter: storage.EntryFilter{Late: &no}},
		"exhausted":         {Exhausted: &yes},
		"service":           {Service: "shop"},
		"route":             {Route: "/it's \"quoted\"\t\\ 漢字 {x:String}"},
		"outcome":           {EntryFilter: storage.EntryFilter{Outcome: "degraded"}},
		"margin":            {EntryFilter: storage.EntryFilter{MarginLess: &less, MarginMore: &more}},
		"stage":             {Stage: "generate"},
		"stage_by_name":     {Stage: "POST /orders"},
		"peer":              {Peer: "model"},
		"cause_and_phase":   {Cause: "local_deadline", Phase: "body"},
		"not_on_one_span":   {Stage: "generate", Cause: "client_disconnect"},
		"injection":         {Service: "' OR 1 = 1 --"},
		"peer_is_a_service": {Peer: "shop"},
	} {
		q.Window, q.Limit = day, 100
		found, err := store.Search(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		golden(t, "search_"+name, unique(found))
	}
	all, err := store.Search(t.Context(), storage.SearchQuestion{Window: day, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	want := unique(all)
	var paged []storage.Entry
	for q := (storage.SearchQuestion{Window: day, Limit: 3}); ; {
		page, err := store.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
		q.Before = page[len(page)-1]
	}
	if got := unique(paged); !reflect.DeepEqual(got, want) {
		t.Errorf("pages hold %v, want %v", got, want)
	}
}

func unique(entries []storage.Entry) []string {
	seen, lines := map[storage.Entry]bool{}, []string{}
	for _, e := range entries {
		if !seen[e] {
			seen[e] = true
			lines = append(lines, fmt.Sprintf("%s %s %s", time.Unix(0, e.Start).UTC().Format(time.RFC3339), e.Trace, e.Span))
		}
	}
	return lines
}

func stateQuestions(t *testing.T, store *storagetest.Store) {
	engine, err := store.DB.Engine(t.Context())
	if err != nil || engine.Version == "" || time.Since(engine.Now).Abs() > time.Minute {
		t.Errorf("engine: %+v, %v", engine, err)
	}
	schema, err := store.Schema(t.Context())
	if err != nil || schema.Version == 0 || schema.Dirty {
		t.Errorf("schema: %+v, %v", schema, err)
	}
	kept, err := store.Kept(t.Context())
	if err != nil || kept.Hops == 0 || kept.Spans == 0 || kept.Newest == nil || kept.Ingested == nil {
		t.Errorf("kept: %+v, %v", kept, err)
	}
}

// Refusals and enforced timeouts are quick or exactly on time; neither may look like health.
func TestExhaustedRequestsImproveNoPercentile(t *testing.T) {
	store := storagetest.Open(t)
	var answers, misses []span.Span
	for i := range 20 {
		answers = append(answers, request{"assistant", "/answer", 0, time.Duration(i) * 100 * time.Millisecond, received(1.0)}.span())
	}
	for range 100 {
		misses = append(misses,
			request{"assistant", "/answer", time.Minute, 2 * time.Millisecond, received(0.002, budgetattr.OutcomeKey, "rejected")}.span(),
			request{"assistant", "/answer", time.Minute, time.Second, received(1.0, budgetattr.OutcomeKey, "cancelled", budgetattr.CancelCauseKey, "local_deadline")}.span())
	}
	store.Insert(t, answers...)
	before := marginOf(t, store)
	store.Insert(t, misses...)
	after := marginOf(t, store)
	for name, pair := range map[string][2]*time.Duration{"p05": {before.P05, after.P05}, "p50": {before.P50, after.P50}, "p95": {before.P95, after.P95}} {
		if *pair[0] != *pair[1] {
			t.Errorf("%s went from %s to %s", name, pair[0], pair[1])
		}
	}
	if *before.UsedP50 != *after.UsedP50 {
		t.Errorf("used went from %v to %v", *before.UsedP50, *after.UsedP50)
	}
	if after.Exhausted != 200 || after.Answered != 20 || after.WithBudget != 220 || after.Late != 9 || *after.MissedRatio() != 209.0/220 {
		t.Errorf("%+v, missed %v", after, *after.MissedRatio())
	}
}

func marginOf(t *testing.T, store *storagetest.Store) storage.RouteMargins {
	t.Helper()
	found, err := store.Margins(t.Context(), storage.MarginQuestion{Window: day, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%d routes, want 1", len(found))
	}
	return found[0]
}

func TestTraces(t *testing.T) {
	store := storagetest.Open(t)
	seed(t, store)
	found, err := store.Search(t.Context(), storage.SearchQuestion{Window: day, Stage: "generate", Limit: 1})
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	late := found[0].Trace
	absent := span.TraceID{0xff}
	answer, err := store.Traces(t.Context(), []span.TraceID{late, absent}, 100)
	if err != nil {
		t.Fatal(err)
	}
	trace := answer[late]
	if len(answer) != 1 || trace == nil || trace.Source != storage.SourceRaw || trace.Truncated {
		t.Fatalf("%+v", answer)
	}
	golden(t, "trace_raw", lines(trace.Spans))

	cut, err := store.Traces(t.Context(), []span.TraceID{late}, 2)
	if err != nil || len(cut[late].Spans) != 2 || !cut[late].Truncated {
		t.Errorf("cut at 2: %+v, %v", cut[late], err)
	}

	if _, err := store.Engine.Query("TRUNCATE TABLE " + store.Database + ".otel_traces"); err != nil {
		t.Fatal(err)
	}
	answer, err = store.Traces(t.Context(), []span.TraceID{late}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if answer[late] == nil || answer[late].Source != storage.SourceHops {
		t.Fatalf("%+v", answer)
	}
	golden(t, "trace_hops", lines(answer[late].Spans))

	if _, err := store.Engine.Query("DROP TABLE " + store.Database + ".otel_traces"); err != nil {
		t.Fatal(err)
	}
	if answer, err = store.Traces(t.Context(), []span.TraceID{late}, 100); err != nil || answer[late] == nil {
		t.Errorf("without raw spans at all: %+v, %v", answer, err)
	}
}

// lines writes spans for a reader.
func lines(spans []span.Span) []string {
	var all []string
	for _, s := range spans {
		all = append(all, fmt.Sprintf("%s %s < %s %s %q %s %s %q %d + %s", s.Trace, s.ID, s.Parent, s.Service, s.Name, s.Kind, s.Status,
			s.StatusMessage, s.Start, s.Duration()), fmt.Sprintf("  attributes %v resource %v", s.Attrs, s.Resource))
		for _, e := range s.Events {
			all = append(all, fmt.Sprintf("  event %s at %d %v", e.Name, e.Time, e.Attrs))
		}
		for _, l := range s.Links {
			all = append(all, fmt.Sprintf("  link %s %s %v", l.Trace, l.Span, l.Attrs))
		}
	}
	return all
}

// The important questions read what their key or index points at, not the whole table.
func TestQuestionsUseTheirIndexes(t *testing.T) {
	store := storagetest.Open(t)
	seed(t, store)
	judge(t, store)
	window := url.Values{
		"param_from": {strconv.FormatInt(day.From.UnixNano(), 10)}, "param_to": {strconv.FormatInt(day.To.UnixNano(), 10)},
		"param_environment": {""}, "param_version": {""}, "param_outcome": {""}, "param_late": {`\N`}, "param_margin_lt": {`\N`}, "param_margin_gt": {`\N`},
		"param_class": {""}, "param_places_service": {"[]"}, "param_places_peer": {"[]"}, "param_places_stage": {"[]"},
		"param_places_long": {"[]"}, "param_places_short": {"[]"}, "param_rate": {"0.001"}, "param_until": {"0"}, "param_id": {""},
		"param_service": {"assistant"}, "param_route": {"/answer"}, "param_keys": {"[]"}, "param_limit": {"10"}, "param_skip": {"0"},
	}
	id := "01000000000000000000000000000001"
	entry := url.Values{
		"param_before_ts": {strconv.FormatInt(math.MaxInt64, 10)}, "param_before_trace": {id}, "param_before_span": {id[:16]},
		"param_exhausted": {`\N`}, "param_answered": {`\N`}, "param_duration_lt": {`\N`}, "param_duration_gt": {`\N`},
		"param_bucket": {"60000000000"}, "param_measure": {"margin"}, "param_services": {"[]"},
		"param_stage": {""}, "param_peer": {""}, "param_cause": {""}, "param_phase": {""},
		"param_rule": {""}, "param_judged": {"0"}, "param_before": {"0"},
	}
	for _, name := range []string{"service", "route", "environment", "version", "outcome", "class", "rule", "stage", "peer", "cause", "phase"} {
		entry["param_not_"+name] = []string{"[]"}
	}
	maps.Copy(entry, window)
	ids := url.Values{"param_ids": {id}, "param_from": {"0"}, "param_to": {"4294967295"}, "param_limit": {"10"},
		"param_database": {store.Database}, "param_table": {"otel_traces"}, "param_times": {"otel_traces_trace_id_ts"}, "param_id": {id},
		"param_source": {"otel_traces"}, "param_buckets": {"[0]"}, "param_shard": {"0"}, "param_shards": {"1"}}
	arrived := url.Values{"param_until": {"2"}, "param_from": {"0"}, "param_to": {"4102444800000"}, "param_limit": {"10"}, "param_frozen": {"0"}, "param_width": {"300000000000"},
		"param_source": {"accounts"}, "param_reach": {"0"}, "param_subject": {"spending"}, "param_shard": {"0"}, "param_shards": {"1"}}
	for _, c := range []struct {
		file       string
		parameters url.Values
		want       []string
	}{
		{"spans.sql", ids, []string{"Name: idx_trace_id"}},
		{"trace_times.sql", ids, []string{"PrimaryKey", "TraceId"}},
		{"attached_due.sql", ids, []string{"Partition", "Min-Max"}},
		{"attached_spans.sql", ids, []string{"Partition", "Min-Max"}},
		{"attached_has.sql", ids, []string{"Name: idx_trace_id"}},
		{"hops.sql", ids, []string{"Name: idx_trace_id"}},
		{"margin.sql", window, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"search.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"services.sql", window, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"verdicts_of.sql", ids, []string{"PrimaryKey", "trace_id"}},
		{"trace_extents.sql", ids, []string{"PrimaryKey", "(trace in "}},
		{"touched_traces.sql", arrived, []string{"Name: idx_ingested_at"}},
		{"touched_minutes.sql", arrived, []string{"Name: idx_ingested_at"}},
		{"touched_raw.sql", arrived, []string{"Name: idx_ingested_at"}},
		{"touched_tally.sql", arrived, []string{"Name: idx_ingested_at"}},
		{"touched_judged.sql", arrived, []string{"Name: idx_ingested_at"}},
		{"report_findings.sql", entry, []string{"Name: idx_ts"}},
		{"report_orphans.sql", entry, []string{"Name: idx_ts", "(service in ["}},
		{"report_stages.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"report_cancellations.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"report_local.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"report_phases.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"report_retries.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"report_propagation.sql", entry, []string{"Partition", "PrimaryKey"}},
		{"report_reserves.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"advice.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"advice_routes.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"facets.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"report_cells.sql", entry, []string{"Partition", "PrimaryKey", "(service in [", "(route in ["}},
		{"report_spend.sql", entry, []string{"Partition", "PrimaryKey", "(service in [", "(route in ["}},
		{"report_patience.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"report_comparison.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"report_attribution.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"accounts_of.sql", ids, []string{"Name: idx_trace_id", "Name: idx_ts"}},
		{"markers_observed.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"report_dependencies.sql", entry, []string{"Partition", "PrimaryKey", "(service in ["}},
		{"margin_days.sql", window, []string{"Partition", "PrimaryKey", "(service in ["}},
	} {
		plan := explain(t, store, c.file, c.parameters)
		for _, want := range c.want {
			if !strings.Contains(plan, want) {
				t.Errorf("the plan of %s does not mention %q:\n%s", c.file, want, plan)
			}
		}
	}
}

// Reports from tallies read their own subjects, and of hops the edges of the window.
func TestTalliesUseTheirKeys(t *testing.T) {
	store := storagetest.Open(t)
	seed(t, store)
	judge(t, store)
	store.Roll()
	entry := url.Values{"param_service": {"assistant"}, "param_limit": {"10"}, "param_skip": {"0"}, "param_rate": {"0.001"}, "param_services": {"[]"}, "param_keys": {"[]"}, "param_bucket": {"3600000000000"}}
	for _, name := range []string{"route", "stage", "peer", "cause", "phase", "rule", "either"} {
		entry.Set("param_"+name, "")
	}
	for _, name := range []string{"service", "route", "stage", "peer", "cause", "phase", "rule"} {
		entry.Set("param_not_"+name, "[]")
	}
	for name, subject := range map[string]string{
		"stages": "calls", "cancellations": "entries", "local": "entries", "phases": "phases", "retries": "attempts", "propagation": "edges",
		"dependencies": "calls", "reserves": "calls", "conformance": "services", "services": "services", "findings": "findings", "orphans": "stops",
		"advice": "calls", "advice_routes": "entries", "facets": "facets", "spending": "spending", "spent": "spending", "usual": "calls", "busy": "entries",
	} {
		sql, parameters, err := store.TalliedStatement(t.Context(), name, storage.Window{From: day.From.Add(time.Minute), To: day.To})
		if err != nil || sql == "" {
			t.Fatalf("%s: no plan, %v", name, err)
		}
		query := maps.Clone(entry)
		for key, value := range parameters {
			query.Set("param_"+key, strings.NewReplacer(" ", ",").Replace(fmt.Sprint(value)))
		}
		plan := explained(t, store, name, sql, query)
		for _, want := range []string{"PrimaryKey", `(subject in [\'` + subject + `\', \'` + subject + `\'])`, `(service in [\'assistant\', \'assistant\'])`} {
			if !strings.Contains(plan, want) {
				t.Errorf("the plan of %s does not mention %q:\n%s", name, want, plan)
			}
		}
	}
}

func explain(t *testing.T, store *storagetest.Store, file string, parameters url.Values) string {
	t.Helper()
	sql, err := os.ReadFile("queries/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return explained(t, store, file, string(sql), parameters)
}

// explained is the plan of a statement.
func explained(t *testing.T, store *storagetest.Store, file, sql string, parameters url.Values) string {
	t.Helper()
	query := url.Values{"database": {store.Database}}
	maps.Copy(query, parameters)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, store.Engine.URL+"/?"+query.Encode(), strings.NewReader("EXPLAIN indexes = 1\n"+sql))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	plan, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("plan of %s: %v, %s: %s", file, err, response.Status, plan)
	}
	return string(plan)
}

// A question that is cancelled or costs too much ends; the next one is answered.
func TestAQuestionEndsAlone(t *testing.T) {
	store := storagetest.Open(t)
	seed(t, store)
	ask := storage.MarginQuestion{Window: day, Limit: 1}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Margins(ctx, ask); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled question: %v", err)
	}
	if _, err := store.Margins(t.Context(), ask); err != nil {
		t.Errorf("the next question: %v", err)
	}
	short, err := storage.Open(storage.Config{DSN: store.Engine.DSN("missing_database")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = short.Close() }()
	if _, err := short.Margins(t.Context(), ask); !storage.IsMissing(err) {
		t.Errorf("a database that does not exist: %v", err)
	}
	store.Engine.Kill()
	if _, err := store.Margins(t.Context(), ask); !storage.IsUnreachable(err) {
		t.Errorf("an engine that is gone: %v", err)
	}
}
