package deadlineprocessor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// TestManifestNamesOurVersions: the manifest for builders asks for the versions that this module is tested with, and replaces
// every module of this checkout that this one needs.
func TestManifestNamesOurVersions(t *testing.T) {
	manifest, err := os.ReadFile("testdata/builder.yaml")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\s+(go\.opentelemetry\.io/collector/\S+) (v\S+)`).FindAllStringSubmatch(string(module), -1) {
		want[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`gomod: (go\.opentelemetry\.io/collector/\S+) (v\S+)`).FindAllStringSubmatch(string(manifest), -1) {
		if v, used := want[m[1]]; used && v != m[2] {
			t.Errorf("%s: the manifest asks for %s, go.mod for %s", m[1], m[2], v)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^replace (\S+) =>|^\t(github\.com/laxity-dev/laxity/\S+) =>`).FindAllStringSubmatch(string(module), -1) {
		if name := m[1] + m[2]; !strings.Contains(string(manifest), "- "+name+" => ") {
			t.Errorf("the manifest does not replace %s", name)
		}
	}
}

// TestBuilder builds a collector by the manifest, runs it, sends it a span and looks for our attributes on what it exports.
// It takes minutes, so it runs by make soak-builder only.
func TestBuilder(t *testing.T) {
	if os.Getenv("LAXITY_SOAK") == "" {
		t.Skip("builds a whole collector; make soak-builder runs it")
	}
	binary := build(t)
	exported := make(chan ptrace.Traces, 1)
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := ptraceotlp.NewExportRequest()
		if err := request.UnmarshalProto(body); err != nil {
			t.Errorf("exported: %v", err)
			return
		}
		exported <- request.Traces()
		response, _ := ptraceotlp.NewExportResponse().MarshalProto()
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(response)
	}))
	defer sink.Close()
	// A socket instead of a port: nothing else can have taken it.
	socket := filepath.Join(t.TempDir(), "otlp.sock")
	run(t, binary, fmt.Sprintf(`
receivers:
  otlp: {protocols: {http: {endpoint: %q, transport: unix}}}
processors:
  deadline:
    rules: [{text: stock ran out of patience, rule: patience, cause: local_deadline, phase: first_byte}]
exporters:
  otlp_http: {endpoint: %q, compression: none}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], processors: [deadline], exporters: [otlp_http]}}
`, socket, sink.URL))

	td := one(1_000, 1_000_001_000, map[string]any{budgetattr.BudgetReceivedKey: 0.7})
	call := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty()
	one(1_000, 2_000, nil).ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).CopyTo(call)
	call.SetParentSpanID(pcommon.SpanID{1})
	call.SetKind(ptrace.SpanKindClient)
	call.Status().SetCode(ptrace.StatusCodeError)
	call.Status().SetMessage("stock ran out of patience")
	send(t, socket, td)

	select {
	case out := <-exported:
		spans := out.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
		entry, call := spans.At(0).Attributes().AsRaw(), spans.At(1).Attributes().AsRaw()
		if entry[budgetattr.LateKey] != true || entry[budgetattr.OutcomeKey] != "done" || entry[budgetattr.InferredKey] != true {
			t.Errorf("the entry span: %v", entry)
		}
		if call[budgetattr.TimeoutPhaseKey] != "first_byte" || call[budgetattr.InferredRuleKey] != "patience" {
			t.Errorf("the call: %v", call)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing was exported")
	}
}

// build lets the builder write a collector and compiles it without the builder's -trimpath, which would compile everything
// a second time.
func build(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile("testdata/builder.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := strings.ReplaceAll(string(manifest), "/path/to/laxity", root)
	text = strings.ReplaceAll(text, "./otelcol-deadline", filepath.Join(dir, "src"))
	config := filepath.Join(dir, "builder.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(in, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s %v: %v\n%s%s", name, args, err, out.String(), errs.String())
		}
		return strings.TrimSpace(out.String())
	}
	builder := command(filepath.Join(root, "tools"), "go", "tool", "-n", "builder")
	command(dir, builder, "--config", config, "--skip-compilation")
	binary := filepath.Join(dir, "otelcol-deadline")
	command(filepath.Join(dir, "src"), "go", "build", "-o", binary, ".")
	return binary
}

// run starts the collector and ends it with the test.
func run(t *testing.T, binary, config string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, "--config", path)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the collector's log:\n%s", log.String())
		}
	})
}

// send posts traces as soon as the collector listens.
func send(t *testing.T, socket string, td ptrace.Traces) {
	t.Helper()
	body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		response, err := client.Post("http://collector/v1/traces", "application/x-protobuf", bytes.NewReader(body))
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
			err = fmt.Errorf("status %s", response.Status)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the collector takes no spans: %v", err)
		}
	}
}
