package migrations

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
)

// Rows go when their time since ingest is over, however old or young the spans in them are.
func TestRowsExpireByIngest(t *testing.T) {
	engine := enginetest.Start(t)
	database := engine.NewDatabase(t)
	keep := Retention{Raw: 2 * time.Hour, Hops: 2 * time.Hour, Verdicts: 2 * time.Hour, Minutes: 2 * time.Hour, Hours: 2 * time.Hour,
		Days: 2 * time.Hour, Quarantine: 2 * time.Hour}
	if _, err := Up(t.Context(), Config{DSN: engine.DSN(database), Retention: keep}); err != nil {
		t.Fatal(err)
	}
	query := func(sql string) string {
		t.Helper()
		out, err := engine.Query(sql)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	const month = 30 * 24 * time.Hour
	for table, c := range map[string]struct{ key, ingested, span string }{
		"otel_traces":             {"SpanName", "IngestedAt", "Timestamp"},
		"otel_traces_trace_id_ts": {"TraceId", "IngestedAt", "Start"},
		"hops":                    {"name", "ingested_at", "ts"},
		"verdicts":                {"text", "ingested_at", "ts"},
		"rollup_1m":               {"route", "ingested_at", "at"},
		"rollup_1h":               {"route", "ingested_at", "at"},
		"rollup_1d":               {"route", "ingested_at", "at"},
		"tally_5m":                {"route", "ingested_at", "at"},
		"tally_1h":                {"route", "ingested_at", "at"},
		"tally_1d":                {"route", "ingested_at", "at"},
		"quarantine":              {"name", "ingested_at", ""},
	} {
		for _, row := range []struct {
			name          string
			ingested, age time.Duration
		}{{"old span, new row", 0, month}, {"new span, old row", 3 * time.Hour, 0}} {
			columns, values := c.key+", "+c.ingested, fmt.Sprintf("'%s', now() - %d", row.name, int(row.ingested.Seconds()))
			if c.span != "" {
				columns, values = columns+", "+c.span, values+fmt.Sprintf(", now() - %d", int(row.age.Seconds()))
			}
			query(fmt.Sprintf("INSERT INTO %s.%s (%s) SETTINGS insert_allow_materialized_columns = 1 SELECT %s", database, table, columns, values))
		}
		query(fmt.Sprintf("OPTIMIZE TABLE %s.%s FINAL", database, table))
		left := ""
		for deadline := time.Now().Add(2 * time.Minute); left != "old span, new row" && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			left = query(fmt.Sprintf("SELECT arrayStringConcat(groupArray(%s), ' and ') FROM %s.%s", c.key, database, table))
		}
		if left != "old span, new row" {
			t.Errorf("%s: %q is left", table, left)
		}
	}
}
