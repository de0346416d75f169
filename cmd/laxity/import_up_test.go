package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/laxity-dev/laxity/internal/verdict"
)

// What was imported is stored span by span, a second time changes nothing, and storage tells the same story of a trace as
// its file does.
func TestImportIntoARunningLaxity(t *testing.T) {
	up := startUp(t, t.TempDir())
	for range 2 {
		if out, err := command(t, "import", samplePath(""), "--otlp-grpc", up.grpc); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		// The protobuf and the JSON file of one folder hold the same 19 spans.
		expect(t, up.clickhouse, "SELECT uniqExact(TraceId, SpanId, ServiceName, SpanKind) FROM otel_traces", "266")
		expect(t, up.clickhouse, "SELECT uniqExact(TraceId) FROM otel_traces", "36")
		expect(t, up.clickhouse, "SELECT count() FROM quarantine", "0")
	}
	compared := 0
	for _, file := range []string{"oteldemo-sibling-errors/sibling_errors.json", "zipkin-shapes/skew.json", "zipkin-shapes/yelp.json",
		"zipkin-messaging/messaging2.json", "trainticket-zipkin1/cancel-2.json", "jaegerui-shapes/spanLongerAsParent.json",
		"crisp-cases/15.json", "dsb-social-jaeger/traces-first3.json.gz", "agents-okahu/sample_trace.json",
		"analyzer-sample-otlp/sample-trace.json", "nezha-hipster/one-trace.csv"} {
		out, err := command(t, "explain", samplePath(file), "-o", "json")
		if err != nil {
			t.Fatal(file, err)
		}
		if out[0] == '{' {
			out = "[" + out + "]"
		}
		var statements []verdict.Statement
		if err := json.Unmarshal([]byte(out), &statements); err != nil {
			t.Fatalf("%s: %v\n%s", file, err, out)
		}
		for _, fromFile := range statements {
			compared++
			var stored verdict.Statement
			out, err = command(t, "trace", fromFile.TraceID, "--api", up.page, "-o", "json")
			if err == nil {
				err = json.Unmarshal([]byte(out), &stored)
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", file, err, out)
			}
			if diff := cmp.Diff(fromFile, stored); diff != "" {
				t.Errorf("%s: from the file (-) and from storage (+):\n%s", file, diff)
			}
		}
	}
	if compared != 17 {
		t.Errorf("%d statements compared", compared)
	}
}
