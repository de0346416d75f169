package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/listen"
)

// free returns an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	address, err := listen.FreePort("otlp-grpc", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// stockColumns lists the columns that SELECT * gives, and how the table is ordered and divided.
const stockColumns = `SELECT arrayStringConcat(groupArray(concat(name, ' ', type)), '\n') FROM
	(SELECT name, type FROM system.columns WHERE database = '%[1]s' AND table = '%[2]s' AND default_kind != 'MATERIALIZED' ORDER BY position)
	UNION ALL SELECT concat(partition_key, ' ', sorting_key) FROM system.tables WHERE database = '%[1]s' AND name = '%[2]s'`

// A plain collector configuration replaces the built-in one; here it lets the contrib exporter make its own tables, which are
// the layout that ours must have.
func TestOurRawTablesHaveTheStockLayout(t *testing.T) {
	engine := enginetest.Start(t)
	if code := run(t.Context(), []string{"migrate", "--clickhouse", engine.DSN("laxity")}); code != exitOK {
		t.Fatalf("migrate: exit code %d", code)
	}
	grpc, file := free(t), filepath.Join(t.TempDir(), "collector.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, `
receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}}
exporters: {clickhouse: {endpoint: %q, database: stock, create_schema: true, async_insert: false}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [clickhouse]}}
`, grpc, engine.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	launch(t, "collector", "--config-file", file)
	send := newOTLPClient(t, grpc)
	if err := send.untilAcknowledged(t.Context(), makeRequest(0, 1)); err != nil {
		t.Fatal(err)
	}
	expect(t, engine.URL, "SELECT count() FROM stock.otel_traces", fmt.Sprint(spansPerTrace))
	for _, table := range []string{"otel_traces", "otel_traces_trace_id_ts"} {
		want, err := ask(engine.URL, fmt.Sprintf(stockColumns, "stock", table))
		if err != nil {
			t.Fatal(err)
		}
		expect(t, engine.URL, fmt.Sprintf(stockColumns, "laxity", table), want)
		if !strings.Contains(want, "toDate(") {
			t.Errorf("%s: %s", table, want)
		}
	}
}

func TestSendersNeedTheToken(t *testing.T) {
	engine := enginetest.Start(t)
	if code := run(t.Context(), []string{"migrate", "--clickhouse", engine.DSN("laxity")}); code != exitOK {
		t.Fatalf("migrate: exit code %d", code)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	grpc := free(t)
	launch(t, "collector", "--clickhouse", engine.DSN("laxity"), "--otlp-grpc", grpc, "--otlp-http", "127.0.0.1:0",
		"--metrics-listen", "127.0.0.1:0", "--token-file", token, "--raw-spans=false")
	send := newOTLPClient(t, grpc)
	with := func(value string) error {
		return send.once(metadata.AppendToOutgoingContext(t.Context(), "authorization", value), makeRequest(0, 1))
	}
	eventually(t, time.Minute, func() error { return with("Bearer s3cret") })
	for _, value := range []string{"", "Bearer other"} {
		if err := with(value); err == nil {
			t.Errorf("%q was let in", value)
		}
	}
	expect(t, engine.URL, "SELECT count() FROM laxity.hops FINAL", fmt.Sprint(hopsPerTrace))
	expect(t, engine.URL, "SELECT count() FROM laxity.otel_traces", "0")
}
