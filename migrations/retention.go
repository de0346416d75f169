package migrations

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Retention says how long rows stay, counted from their ingest. Zero fields take the defaults.
type Retention struct {
	Raw        time.Duration // otel_traces
	Hops       time.Duration
	Verdicts   time.Duration // and accounts, and what was learned for them: limits, offsets
	Minutes    time.Duration // rollup_1m, tally_5m
	Hours      time.Duration // rollup_1h, tally_1h
	Days       time.Duration // rollup_1d, tally_1d
	Quarantine time.Duration
}

// The default retentions.
const (
	DefaultRaw        = 7 * day
	DefaultHops       = 30 * day
	DefaultVerdicts   = 90 * day
	DefaultMinutes    = 7 * day
	DefaultHours      = 90 * day
	DefaultDays       = 800 * day
	DefaultQuarantine = 30 * day

	day     = 24 * time.Hour
	minimum = time.Hour
)

// ttl is the retention of one table: the expression of its TTL without the interval.
type ttl struct {
	table, column string
	keep          time.Duration
}

func (r Retention) tables() []ttl {
	raw := cmp.Or(r.Raw, DefaultRaw)
	return []ttl{
		{"otel_traces", "IngestedAt", raw},
		{"otel_traces_trace_id_ts", "IngestedAt", raw},
		{"hops", "toDateTime(ingested_at)", cmp.Or(r.Hops, DefaultHops)},
		{"trace_extents", "ingested_at", max(raw, cmp.Or(r.Hops, DefaultHops))},
		{"verdicts", "toDateTime(ingested_at)", cmp.Or(r.Verdicts, DefaultVerdicts)},
		{"limits", "toDateTime(ingested_at)", cmp.Or(r.Verdicts, DefaultVerdicts)},
		{"offsets", "toDateTime(ingested_at)", cmp.Or(r.Verdicts, DefaultVerdicts)},
		{"accounts", "toDateTime(ingested_at)", cmp.Or(r.Verdicts, DefaultVerdicts)},
		{"rollup_1m", "toDateTime(ingested_at)", cmp.Or(r.Minutes, DefaultMinutes)},
		{"rollup_1h", "toDateTime(ingested_at)", cmp.Or(r.Hours, DefaultHours)},
		{"rollup_1d", "toDateTime(ingested_at)", cmp.Or(r.Days, DefaultDays)},
		{"tally_5m", "toDateTime(ingested_at)", cmp.Or(r.Minutes, DefaultMinutes)},
		{"tally_1h", "toDateTime(ingested_at)", cmp.Or(r.Hours, DefaultHours)},
		{"tally_1d", "toDateTime(ingested_at)", cmp.Or(r.Days, DefaultDays)},
		{"markers", "toDateTime(ingested_at)", cmp.Or(r.Days, DefaultDays)},
		{"quarantine", "toDateTime(ingested_at)", cmp.Or(r.Quarantine, DefaultQuarantine)},
	}
}

// Validate refuses retentions that would delete rows while they are still judged.
func (r Retention) Validate() error {
	for _, t := range r.tables() {
		if t.keep < minimum {
			return fmt.Errorf("retention of %s is %s; the least is %s", t.table, t.keep, minimum)
		}
	}
	return nil
}

// apply changes the TTL of the tables where it differs. Tables that are not there, and tables of others that lack our
// columns, are left alone.
func (r Retention) apply(ctx context.Context, conn driver.Conn, cluster string) error {
	current := map[string]string{}
	rows, err := conn.Query(ctx, "SELECT name, engine_full FROM system.tables WHERE database = currentDatabase()")
	if err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, engine string
		if err := rows.Scan(&name, &engine); err != nil {
			return fmt.Errorf("retention: %w", err)
		}
		current[name] = engine
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	for _, t := range r.tables() {
		expression := fmt.Sprintf("%s + toIntervalSecond(%d)", t.column, int64(t.keep.Seconds()))
		table, on := keeper(t.table, cluster)
		engine, found := current[table]
		if !found || !strings.Contains(engine, t.column) || strings.Contains(engine, "TTL "+expression) {
			continue
		}
		if err := conn.Exec(ctx, "ALTER TABLE "+table+on+" MODIFY TTL "+expression+" SETTINGS materialize_ttl_after_modify = 0"); err != nil {
			return fmt.Errorf("retention of %s: %w", t.table, err)
		}
	}
	return nil
}

// keeper returns the table that keeps the rows, and where to change it.
func keeper(table, cluster string) (name, on string) {
	if cluster == "" {
		return table, ""
	}
	return table + localSuffix, " ON CLUSTER " + text(cluster)
}
