package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

var update = flag.Bool("update", false, "rewrite the golden answers")

// loadContract parses openapi.yaml and checks that it is a valid description. Where the description allows members that it
// does not name, the tests do not: a real answer must not hold what the description hides.
func loadContract(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openapi)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, schema := range doc.Components.Schemas {
		forbidUnnamed(schema)
	}
	return doc
}

func forbidUnnamed(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	if s := ref.Value; len(s.Properties) > 0 && s.AdditionalProperties.Has == nil {
		no := false
		s.AdditionalProperties.Has = &no
		for _, property := range s.Properties {
			forbidUnnamed(property)
		}
	} else {
		forbidUnnamed(s.Items)
	}
}

// follows checks a body against a schema of the contract.
func follows(t *testing.T, doc *openapi3.T, schema string, body []byte) {
	t.Helper()
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	if err := doc.Components.Schemas[schema].Value.VisitJSON(value); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
}

// newServer serves a seeded store at the time of the golden answers.
func newServer(t *testing.T, store *storagetest.Store, change func(*Config)) *Server {
	t.Helper()
	config := Config{
		Store: store.DB, Version: "1.0.0", SchemaVersion: uint32(migrations.Latest()), Now: func() time.Time { return now },
		Ingest: &Ingest{OTLPGRPC: "127.0.0.1:4317", OTLPHTTP: "127.0.0.1:4318"},
		Web:    fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}, "assets/app-1.js": {Data: []byte("1")}},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&config)
	}
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// get asks the handler as a client on loopback does.
func get(t *testing.T, server *Server, target string) (*http.Response, []byte) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	request.Host = "127.0.0.1:8484"
	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, request)
	response := recorder.Result()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, body
}

const lateTrace = "4bf90000000000000000000000000001"

func TestOnTheEngine(t *testing.T) {
	store := storagetest.Open(t)
	seed(t, store)
	judge(t, store)
	seedLimits(t, store)
	server := newServer(t, store, nil)
	t.Run("real answers follow the contract", func(t *testing.T) { testAnswers(t, server) })
	t.Run("search", func(t *testing.T) { testSearch(t, server) })
	t.Run("facets leave out alike", func(t *testing.T) { testFacetsLeaveOutAlike(t, server) })
	t.Run("cells lead to their traces", func(t *testing.T) { testCellsLeadToTheirTraces(t, server) })
	t.Run("search by an inner service", func(t *testing.T) { testRowOfAnInnerService(t, server) })
	t.Run("search among attempts", func(t *testing.T) { testSearchFindsTheAttemptThatFits(t, store.Engine) })
	t.Run("pages of search", func(t *testing.T) { testSearchPages(t, server) })
	t.Run("pages of margins", func(t *testing.T) { testMarginPages(t, server) })
	t.Run("one span, one margin", func(t *testing.T) { testOneSpanOneMargin(t, store.Engine) })
	t.Run("a client leaves", func(t *testing.T) {
		kept := storagetest.OpenOn(t, store.Engine)
		kept.InsertRaw(t, lateAnswer().spans...)
		testClientThatLeavesStopsTheQuery(t, kept)
	})
}

// The golden answers are the fixtures of the page's tests, so the page is tested with what is really sent.
func testAnswers(t *testing.T, server *Server) {
	doc := loadContract(t)
	for _, c := range []struct{ name, schema, target string }{
		{"margin", "MarginReport", "/api/v1/reports/margin?from=now-7h"},
		{"orphans", "OrphanReport", "/api/v1/reports/orphans?from=now-7h"},
		{"findings", "FindingReport", "/api/v1/reports/findings?from=now-7h"},
		{"stages", "StageReport", "/api/v1/reports/stages?from=now-7h"},
		{"cancellations", "CancellationReport", "/api/v1/reports/cancellations?from=now-7h"},
		{"local", "LocalReport", "/api/v1/reports/local?from=now-7h"},
		{"phases", "PhaseReport", "/api/v1/reports/phases?from=now-7h"},
		{"retries", "RetryReport", "/api/v1/reports/retries?from=now-7h"},
		{"propagation", "PropagationReport", "/api/v1/reports/propagation?from=now-7h"},
		{"dependencies", "DependencyReport", "/api/v1/reports/dependencies?from=now-7h"},
		{"conformance", "ConformanceReport", "/api/v1/reports/conformance?from=now-7h"},
		{"limits", "LimitReport", "/api/v1/reports/limits?from=now-7h"},
		{"cells", "CellReport", "/api/v1/reports/cells?from=now-7h"},
		{"patience", "PatienceReport", "/api/v1/reports/patience?from=now-7h"},
		{"spend", "SpendReport", "/api/v1/reports/spend?from=now-7h"},
		{"map", "MapReport", "/api/v1/reports/map?from=now-7h"},
		{"reserves", "ReserveReport", "/api/v1/reports/reserves?from=now-7h"},
		{"attribution", "AttributionReport", "/api/v1/reports/attribution?from=now-7h"},
		{"advice", "Advice", "/api/v1/policies/advice?from=now-7h"},
		{"policy", "PolicyFile", "/api/v1/policies/advice?from=now-7h&format=file"},
		{"measured", "Measured", "/api/v1/contracts/measured?from=now-7h&service=assistant&route=/answer"},
		{"facets", "Facets", "/api/v1/facets?from=now-7h"},
		{"markers", "MarkerList", "/api/v1/markers?from=now-7h&observed=true"},
		{"services", "ServiceList", "/api/v1/services"},
		{"traces", "TraceSearch", "/api/v1/traces"},
		{"trace", "Trace", "/api/v1/traces/" + lateTrace},
		{"statement", "Statement", "/api/v1/traces/" + lateTrace + "/statement"},
		{"incident", "Incident", "/api/v1/traces/" + lateTrace + "/incident?format=json"},
		{"problem", "Problem", "/api/v1/reports/margin?from=yesterday"},
		{"health", "Health", "/api/v1/health"},
	} {
		response, body := get(t, server, c.target)
		wantStatus, wantType := http.StatusOK, "application/json"
		if c.schema == "Problem" {
			wantStatus, wantType = http.StatusBadRequest, "application/problem+json"
		}
		if got := response.Header.Get("Content-Type"); response.StatusCode != wantStatus || !strings.HasPrefix(got, wantType) {
			t.Errorf("%s: %d %s: %s", c.target, response.StatusCode, got, body)
			continue
		}
		follows(t, doc, c.schema, body)
		golden(t, c.name, body)
	}
	response, body := get(t, server, "/api/v1/traces/"+lateTrace+"/incident")
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/markdown; charset=utf-8" || !bytes.Contains(body, []byte(lateTrace)) {
		t.Errorf("incident: %d %s: %s", response.StatusCode, response.Header.Get("Content-Type"), body)
	}
}

// changing are values that differ from run to run, and words, which have tests of their own where they are made.
var changing = regexp.MustCompile(`"(engine_version|go_version|schema_version|hops|judged_until)": [^,\n]*|answers in \d+ ms|ClickHouse [0-9.]+|\d+ hops|` +
	`schema version \d+|"(text|markdown)": "([^"\\]|\\.)*"`)

func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, bytes.TrimSpace(body), "", "  "); err != nil {
		t.Fatal(err)
	}
	indented.WriteByte('\n')
	file := "testdata/" + name + ".json"
	if *update {
		if err := os.WriteFile(file, indented.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := indented.Bytes(); !bytes.Equal(changing.ReplaceAll(got, nil), changing.ReplaceAll(want, nil)) {
		t.Errorf("%s differs from its golden file; run with -update and look at the difference. Got:\n%s", name, got)
	}
}

// Every path of the description is a route, and every route is described.
func TestRoutesAreDescribed(t *testing.T) {
	doc := loadContract(t)
	var described, served []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" /api/v1"+strings.NewReplacer("{", ":", "}", "").Replace(path))
		}
	}
	for _, route := range newServer(t, &storagetest.Store{}, func(c *Config) { c.Store = unopened(t) }).routes {
		if route.Path != "/api/v1/openapi.yaml" {
			served = append(served, route.Method+" "+route.Path)
		}
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described: %v\nserved:    %v", described, served)
	}
}
