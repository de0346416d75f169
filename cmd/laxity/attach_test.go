package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/worker"
)

// What the contrib exporter wrote into tables of its own, before anybody thought of us, gives the hops and findings that our
// collector gives.
func TestAttachToWhatTheContribExporterWrote(t *testing.T) {
	engine := enginetest.Start(t)
	theirs, ours, file := free(t), free(t), filepath.Join(t.TempDir(), "collector.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, `
receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}}
exporters: {clickhouse: {endpoint: %q, database: stock, create_schema: true, async_insert: false}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [clickhouse]}}
`, theirs, engine.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) {
		if code := run(t.Context(), args); code != exitOK {
			t.Fatalf("%v: exit code %d", args, code)
		}
	}
	command("migrate", "--clickhouse", engine.DSN("laxity"))
	launch(t, "collector", "--config-file", file)
	launch(t, "collector", "--clickhouse", engine.DSN("laxity"), "--otlp-grpc", ours, "--otlp-http", "127.0.0.1:0")
	const traces = 20
	for _, address := range []string{theirs, ours} {
		if err := newOTLPClient(t, address).untilAcknowledged(t.Context(), makeRequest(0, traces)); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, engine.URL, "SELECT count() FROM stock.otel_traces", fmt.Sprint(traces*spansPerTrace))
	expect(t, engine.URL, "SELECT count() FROM laxity.hops FINAL", fmt.Sprint(traces*hopsPerTrace))
	expect(t, engine.URL, "SELECT count() FROM laxity.otel_traces", fmt.Sprint(traces*spansPerTrace))
	command("migrate", "--clickhouse", engine.DSN("attached"), "--attach", "stock.otel_traces", "--attach-for", "999h")
	for _, database := range []string{"laxity", "attached"} {
		db, err := storage.Open(storage.Config{DSN: engine.DSN(database)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		// Spans of the last seconds are read once they have settled; these are.
		w, err := worker.New(worker.Config{Store: db})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.PassNow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"hops", "verdicts"} {
		rows := func(database string) string {
			out, err := ask(engine.URL, fmt.Sprintf("SELECT * EXCEPT (version, ingested_at) FROM %s.%s FINAL ORDER BY ALL", database, table))
			if err != nil || out == "" {
				t.Fatalf("%s of %s: %q, %v", table, database, out, err)
			}
			return out
		}
		if got, want := rows("attached"), rows("laxity"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", table, got, want)
		}
	}
	if code := run(t.Context(), []string{"migrate", "--clickhouse", engine.DSN("attached"), "--budget-from", "x=ms"}); code != exitUsage {
		t.Errorf("--budget-from without --attach: exit code %d", code)
	}
}
