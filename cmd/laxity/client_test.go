package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/render"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// command runs one command line and returns what it wrote.
func command(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var stdout bytes.Buffer
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(&stdout)
	root.SetErr(io.Discard)
	err = root.ExecuteContext(t.Context())
	return stdout.String(), err
}

const lateTrace = "0af7651916cd43dd8448eb211c80319c"

// lateSpan is late by 0.3 s and says only what it received.
func lateSpan(t *testing.T) span.Span {
	t.Helper()
	trace, err := span.ParseTraceID(lateTrace)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(-time.Minute).UnixNano()
	return span.Span{
		Trace: trace, ID: span.ID{1}, Service: "assistant", Name: "POST /answer", Kind: span.KindServer,
		Start: start, End: start + int64(1300*time.Millisecond),
		Attrs:    span.Attributes{"http.route": "/a/rather/long/route/that/does/not/fit/in/its/column", budgetattr.BudgetReceivedKey: 1.0},
		Resource: span.Attributes{"service.name": "assistant"},
	}
}

func TestClientCommands(t *testing.T) {
	store := storagetest.Open(t)
	late := lateSpan(t)
	store.Insert(t, late)
	handler, err := newAPI(apiFlags{}, "", store.DB, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	api := "--api=" + server.URL

	t.Run("trace", func(t *testing.T) {
		out, err := command(t, "trace", lateTrace, api)
		if err != nil {
			t.Fatal(err)
		}
		verdict.JudgeSpan(&late).Annotate(&late)
		var want bytes.Buffer
		if err := render.Text(&want, verdict.Judge([]span.Span{late}, verdict.Options{}), statementWidth); err != nil {
			t.Fatal(err)
		}
		if out != want.String() {
			t.Errorf("trace says\n%s\nexplain would say\n%s", out, want.String())
		}
		out, err = command(t, "trace", lateTrace, api, "-o", "json")
		var statement verdict.Statement
		if err != nil || json.Unmarshal([]byte(out), &statement) != nil || statement.Margin == nil || statement.Margin.Duration() != -300*time.Millisecond {
			t.Errorf("json: %s, %v", out, err)
		}
		out, err = command(t, "trace", lateTrace, api, "-o", "md")
		if err != nil || !strings.HasPrefix(out, "# ") {
			t.Errorf("md: %s, %v", out, err)
		}
	})
	t.Run("report", func(t *testing.T) {
		out, err := command(t, "report", "margin", api)
		if err != nil || !strings.Contains(out, "100.0%  -0.300s  -0.300s   1.000s") {
			t.Errorf("table: %s, %v", out, err)
		}
		for line := range strings.Lines(out) {
			if width := len([]rune(strings.TrimRight(line, "\n"))); width > 80 {
				t.Errorf("%d columns: %s", width, line)
			}
		}
		out, err = command(t, "report", "margin", api, "-o", "csv")
		rows, csvErr := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || csvErr != nil || len(rows) != 2 || rows[1][8] != "-0.3" {
			t.Errorf("csv: %s, %v, %v", out, err, csvErr)
		}
		out, err = command(t, "report", "margin", api, "-o", "json")
		if err != nil || !json.Valid([]byte(out)) {
			t.Errorf("json: %s, %v", out, err)
		}
		out, err = command(t, "report", "margin", api, "--service", "nobody")
		if err != nil || !strings.HasPrefix(out, "No requests between") {
			t.Errorf("nothing: %s, %v", out, err)
		}
	})
	t.Run("errors say what to do", func(t *testing.T) {
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"trace", strings.Repeat("1", 32), api}, "check the id"},
			{[]string{"trace", "xyz", api}, "32 hexadecimal digits"},
			{[]string{"report", "margin", "--since", "yesterday", api}, "now-7d"},
			{[]string{"trace", lateTrace, "--api=http://127.0.0.1:1"}, "laxity up"},
		} {
			if _, err := command(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v, want %q in it", c.args, err, c.want)
			}
		}
	})
	t.Run("doctor", func(t *testing.T) {
		metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, collectorMetrics) }))
		t.Cleanup(metrics.Close)
		address := strings.TrimPrefix(metrics.URL, "http://")
		out, err := command(t, "doctor", api, "--otlp-grpc", address, "--metrics-listen", address)
		if err != nil || strings.Contains(out, "fail") || !strings.Contains(out, "ok    engine") || !strings.Contains(out, "ok    versions") {
			t.Errorf("a sound installation: %v\n%s", err, out)
		}
		out, err = command(t, "doctor", api, "--otlp-grpc", "127.0.0.1:1", "--metrics-listen", "127.0.0.1:1")
		if err == nil || !strings.Contains(out, "fail  collector") || !strings.Contains(out, "laxity collector") {
			t.Errorf("without a collector: %v\n%s", err, out)
		}
		out, err = command(t, "doctor", "--api=http://127.0.0.1:1", "--clickhouse", "http://name:secret@127.0.0.1:1/laxity")
		if err == nil || !strings.Contains(out, "fail  api") || !strings.Contains(out, "fail  engine") || strings.Contains(out, "secret") {
			t.Errorf("without anything: %v\n%s", err, out)
		}
	})
}

func TestClientUsage(t *testing.T) {
	short := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(short, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"trace"}, {"trace", "a", "b"}, {"trace", lateTrace, "-o", "xml"}, {"trace", lateTrace, "--api", "nowhere"},
		{"trace", lateTrace, "--token-file", short}, {"trace", lateTrace, "--token-file", short + ".missing"},
		{"report"}, {"report", "weather"}, {"report", "margin", "-o", "xml"}, {"report", "margin", "now"}, {"doctor", "now"}, {"api", "now"},
		{"api", "--clickhouse", "nowhere"},
	} {
		if code := run(t.Context(), args); code != exitUsage {
			t.Errorf("%v: exit code %d, want %d", args, code, exitUsage)
		}
	}
	if code := run(t.Context(), []string{"api", "--listen", "0.0.0.0:0"}); code != exitFailed {
		t.Errorf("the API off loopback without a token: exit code %d, want %d", code, exitFailed)
	}
}

const collectorMetrics = `# TYPE otelcol_exporter_queue_capacity gauge
otelcol_exporter_queue_capacity{data_type="traces",exporter="clickhouse"} 5e+06
otelcol_exporter_queue_capacity{data_type="traces",exporter="deadline"} 5e+06
otelcol_exporter_queue_size{data_type="traces",exporter="clickhouse"} 0
otelcol_exporter_queue_size{data_type="traces",exporter="deadline"} 12
otelcol_receiver_refused_spans{receiver="otlp",transport="grpc"} 0
`

func TestJudgeQueue(t *testing.T) {
	for _, c := range []struct{ name, metrics, status, text string }{
		{"sound", collectorMetrics, "ok", "12 of at most 5000000"},
		{"filling", strings.Replace(collectorMetrics, `exporter="deadline"} 12`, `exporter="deadline"} 2.6e+06`, 1), "warn", "2600000"},
		{"full", strings.Replace(collectorMetrics, `exporter="deadline"} 12`, `exporter="deadline"} 4.9e+06`, 1), "fail", "about to be refused"},
		{"lossy", collectorMetrics + "otelcol_exporter_send_failed_spans_total{exporter=\"deadline\"} 7\n", "warn", "7 spans could not be written"},
		{"busy", strings.Replace(collectorMetrics, `"grpc"} 0`, `"grpc"} 9`, 1), "warn", "9 spans were refused"},
		{"another program", "up 1\n", "warn", "reports no queue"},
	} {
		found := false
		for _, d := range judgeQueue(c.metrics) {
			found = found || d.Status == c.status && strings.Contains(d.Text, c.text)
			if d.Status != "ok" && d.Advice == "" {
				t.Errorf("%s: no advice: %+v", c.name, d)
			}
		}
		if !found {
			t.Errorf("%s: %+v", c.name, judgeQueue(c.metrics))
		}
	}
}
