package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/laxity-dev/laxity/internal/tracefile/tracetest"
	"github.com/laxity-dev/laxity/internal/verdict"
)

func explainTest(t *testing.T, file, id string, flags explainFlags) (out, notes string, err error) {
	t.Helper()
	if flags.output == "" {
		flags.output = "text"
	}
	var o, n bytes.Buffer
	err = explain(&o, &n, samplePath(file), id, flags)
	return o.String(), n.String(), err
}

func TestParseLimits(t *testing.T) {
	got, err := parseLimits([]string{"adservice=1s", "web,adservice=2s", ",,hipstershop.AdService/GetAds=1500ms", "web,db,select a=b, c=5ms"})
	want := map[verdict.Edge]time.Duration{
		{Peer: "adservice"}:                                     time.Second,
		{Caller: "web", Peer: "adservice"}:                      2 * time.Second,
		{Operation: "hipstershop.AdService/GetAds"}:             1500 * time.Millisecond,
		{Caller: "web", Peer: "db", Operation: "select a=b, c"}: 5 * time.Millisecond,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, text := range []string{"adservice", "adservice=soon", "adservice=-1s"} {
		if _, err := parseLimits([]string{text}); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestExplainUsage(t *testing.T) {
	for name, flags := range map[string]explainFlags{
		"-o":            {output: "xml"},
		"--entry":       {entry: "0"},
		"--budget-from": {budgetFrom: []string{"request_budget"}},
		"unit":          {budgetFrom: []string{"request_budget=days"}},
		"--known-limit": {limits: []string{"x"}},
		"column map":    {csvMap: "x"},
	} {
		_, _, err := explainTest(t, "zipkin-shapes/skew.json", "", flags)
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	var usage *usageError
	if _, _, err := explainTest(t, "zipkin-shapes/skew.json", samplePath("zipkin-shapes/yelp.json"), explainFlags{}); !errors.As(err, &usage) {
		t.Errorf("two files: %v", err)
	}
}

// TestExplainWithRowsOfOnesOwn: an error that only this shop knows is named by its row.
func TestExplainWithRowsOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	trace, rules := filepath.Join(dir, "trace.json"), filepath.Join(dir, "rules.yaml")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(trace, `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"spans":[
		{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"GET /","kind":2,"startTimeUnixNano":"1000000000","endTimeUnixNano":"3000000000"},
		{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203332","parentSpanId":"b7ad6b7169203331","name":"stock","kind":3,
		 "startTimeUnixNano":"1000000000","endTimeUnixNano":"2000000000","status":{"code":2,"message":"Stock ran out of patience"}}]}]}]}`)
	write(rules, "rules:\n  - {text: ran out of patience, rule: patience, cause: local_deadline, phase: first_byte}\n")
	run := func(flags explainFlags) string {
		t.Helper()
		var out strings.Builder
		if err := explain(&out, io.Discard, trace, "", flags); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if out := run(explainFlags{output: "json"}); strings.Contains(out, "first_byte") {
		t.Errorf("without the row: %s", out)
	}
	if out := run(explainFlags{output: "json", rules: rules}); !strings.Contains(out, `"phase": "first_byte"`) {
		t.Errorf("with the row: %s", out)
	}
	write(rules, "rules:\n  - {text: ran out of patience, rule: patience}\n")
	var usage *usageError
	if err := explain(io.Discard, io.Discard, trace, "", explainFlags{output: "json", rules: rules}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a bad row: %v", err)
	}
}

func TestExplainChoosesTheTrace(t *testing.T) {
	for _, id := range []string{"5b8aa5a2d2c872e8321cf37308d69df2", "5B8AA5A2D2C872E8321CF37308D69DF2", "5b8a", "parallel_trace_example"} {
		out, _, err := explainTest(t, "analyzer-sample-otlp/sample-trace.json", id, explainFlags{output: "json"})
		var s verdict.Statement
		if jsonErr := json.Unmarshal([]byte(out), &s); err != nil || jsonErr != nil || s.TraceID == "" {
			t.Errorf("%s: %v %v\n%s", id, err, jsonErr, out)
		}
	}
	_, _, err := explainTest(t, "analyzer-sample-otlp/sample-trace.json", "deadbeef", explainFlags{})
	if err == nil || !strings.Contains(err.Error(), "no trace deadbeef among its 5") {
		t.Errorf("got %v", err)
	}
}

func TestExplainSeveralTraces(t *testing.T) {
	out, _, err := explainTest(t, "analyzer-sample-otlp/sample-trace.json", "", explainFlags{output: "json"})
	var all []verdict.Statement
	if jsonErr := json.Unmarshal([]byte(out), &all); err != nil || jsonErr != nil || len(all) != 5 {
		t.Fatalf("%v %v: %d statements", err, jsonErr, len(all))
	}
	out, _, err = explainTest(t, "analyzer-sample-otlp/sample-trace.json", "", explainFlags{})
	if err != nil || !strings.Contains(out, "To see one of them:\n  laxity explain") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, _, err = explainTest(t, "analyzer-sample-otlp/sample-trace.json", "", explainFlags{output: "md"}); err == nil || !strings.Contains(err.Error(), "name it") {
		t.Errorf("got %v", err)
	}
}

func TestExplainReadsAForeignBudget(t *testing.T) {
	out, _, err := explainTest(t, "zipkin-shapes/yelp.json", "", explainFlags{output: "json", budgetFrom: []string{"request_budget=ms"}})
	var s verdict.Statement
	if jsonErr := json.Unmarshal([]byte(out), &s); err != nil || jsonErr != nil || s.Budget == nil {
		t.Fatalf("%v %v\n%s", err, jsonErr, out)
	}
}

func TestExplainOnEntry(t *testing.T) {
	out, _, err := explainTest(t, "zipkin-shapes/skew.json", "", explainFlags{output: "json", entry: "bf396325699c84bf"})
	var s verdict.Statement
	if jsonErr := json.Unmarshal([]byte(out), &s); err != nil || jsonErr != nil || s.EntrySpanID != "bf396325699c84bf" {
		t.Errorf("%v %v\n%s", err, jsonErr, out)
	}
	if _, _, err := explainTest(t, "zipkin-shapes/skew.json", "", explainFlags{entry: "77"}); err == nil || !strings.Contains(err.Error(), "no span 77") {
		t.Errorf("got %v", err)
	}
}

func TestExplainNoFile(t *testing.T) {
	if _, _, err := explainTest(t, "nothing.json", "", explainFlags{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}

// A list in the settings file is a flag given several times.
func TestExplainTakesSettings(t *testing.T) {
	file, err := filepath.Abs(samplePath("zipkin-shapes/yelp.json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("laxity.yaml", []byte("budget-from: [other=s, request_budget=ms]\nknown-limit: [spectre=5ms]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, "explain", file, "-o", "json")
	var s verdict.Statement
	if jsonErr := json.Unmarshal([]byte(out), &s); err != nil || jsonErr != nil || s.Budget == nil {
		t.Fatalf("%v %v\n%s", err, jsonErr, out)
	}
}

// What no span records is found in the traces of the file: its limit in the list, and a trace judged by it.
func TestExplainFindsHiddenLimits(t *testing.T) {
	dir, ok := tracetest.Dir(t)
	if !ok {
		return
	}
	said := func(file, id string) string {
		var out, notes bytes.Buffer
		if err := explain(&out, &notes, filepath.Join(dir, file), id, explainFlags{output: "text"}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	const file = "nezha-hipster/cut40-16_33_trace.csv"
	list := said(file, "")
	for _, want := range []string{"29 with a violation", "Hidden limit: 1 s from frontend to adservice hipstershop.AdService/GetAds", "30 of 36 calls",
		"23 callees went on working for at least 34.343 s", "29 for about 44.527 s"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in the list: %s", want, list)
		}
	}
	if one := said(file, "3bf33ec5211b1cd0fe07360f70c5baec"); !strings.Contains(one, "a limit of 1 s that nobody recorded and at which at least 20 calls ended") {
		t.Errorf("one trace: %s", one)
	}
	if control := said("nezha-trainticket/10_22_trace.csv", ""); strings.Contains(control, "Hidden") {
		t.Errorf("the control: %s", control)
	}
}
