package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/laxity-dev/laxity/internal/tracefile/tracetest"
	"github.com/laxity-dev/laxity/internal/verdict"
)

// What was imported is stored span by span, a second time changes nothing, and storage tells the same story of a trace as
// its file does.
func TestImportIntoARunningLaxity(t *testing.T) {
	up := startUp(t, t.TempDir())
	for range 2 {
		// The protobuf and the JSON file of one folder hold the same 19 spans.
		importInto(t, up, samplePath(""), "266", "36")
	}
	compared := 0
	for _, file := range []string{"oteldemo-sibling-errors/sibling_errors.json", "zipkin-shapes/skew.json", "zipkin-shapes/yelp.json",
		"zipkin-messaging/messaging2.json", "trainticket-zipkin1/cancel-2.json", "jaegerui-shapes/spanLongerAsParent.json",
		"crisp-cases/15.json", "dsb-social-jaeger/traces-first3.json.gz", "agents-okahu/sample_trace.json",
		"analyzer-sample-otlp/sample-trace.json", "nezha-hipster/one-trace.csv"} {
		compared += compareStatements(t, up, samplePath(file))
	}
	if compared != 17 {
		t.Errorf("%d statements compared", compared)
	}
}

// The same for the whole collection of recorded traces, among the long proofs.
func TestImportOfTheCollection(t *testing.T) {
	if os.Getenv("LAXITY_SOAK") == "" {
		return
	}
	dir, ok := tracetest.Dir(t)
	if !ok {
		return
	}
	up := startUp(t, t.TempDir())
	importInto(t, up, dir, "7817", "375")
	compared := 0
	for _, file := range tracetest.Files(t, dir) {
		if strings.HasPrefix(file, "crisp-cases/") {
			continue // three traces of one id
		}
		compared += compareStatements(t, up, filepath.Join(dir, filepath.FromSlash(file)))
	}
	if compared != 393 {
		t.Errorf("%d statements compared", compared)
	}
}

func importInto(t *testing.T, up *stack, path, spans, traces string) {
	t.Helper()
	if out, err := command(t, "import", path, "--otlp-grpc", up.grpc); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	expect(t, up.clickhouse, "SELECT uniqExact(TraceId, SpanId, ServiceName, SpanKind) FROM otel_traces", spans)
	expect(t, up.clickhouse, "SELECT uniqExact(TraceId) FROM otel_traces", traces)
	expect(t, up.clickhouse, "SELECT count() FROM quarantine", "0")
}

// compareStatements returns how many statements of a file it has compared with those of storage.
func compareStatements(t *testing.T, up *stack, path string) int {
	t.Helper()
	out, err := command(t, "explain", path, "-o", "json")
	if err != nil {
		t.Fatal(path, err)
	}
	if strings.HasPrefix(out, "{") {
		out = "[" + out + "]"
	}
	var statements []verdict.Statement
	if err := json.Unmarshal([]byte(out), &statements); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
	for _, fromFile := range statements {
		var stored verdict.Statement
		out, err = command(t, "trace", fromFile.TraceID, "--api", up.page, "-o", "json")
		if err == nil {
			err = json.Unmarshal([]byte(out), &stored)
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, out)
		}
		if diff := cmp.Diff(fromFile, stored); diff != "" {
			t.Errorf("%s: from the file (-) and from storage (+):\n%s", path, diff)
		}
	}
	return len(statements)
}
