package storage

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/span"
)

// VerdictKey is what makes two rows the same finding.
type VerdictKey struct {
	Trace               span.TraceID
	Span                span.ID
	Service, Kind, Rule string
}

// Verdict is one finding of one trace as a row of verdicts.
type Verdict struct {
	VerdictKey
	Start               int64 // of the span, nanoseconds since 1970
	Severity            string
	Entry               span.ID // whose account was judged
	EntryService, Route string
	Stage, Peer         string
	Amount              int64 // nanoseconds
	Evidence, Cause     string
	IncludedIn          span.ID
	Inferred            bool
	Weight              float64 // how many spans the span stands for
	Text                string
}

//go:embed queries/verdicts_of.sql
var verdictsOfSQL string

// Verdicts answers with the findings that are kept of some traces.
func (db *DB) Verdicts(ctx context.Context, ids []span.TraceID) ([]Verdict, error) {
	var answer []Verdict
	err := db.ask(ctx, verdictsOfSQL, func(rows driver.Rows) error {
		var v Verdict
		var trace, id, entry, inside string
		if err := rows.Scan(&trace, &id, &v.Service, &v.Kind, &v.Rule, &v.Start, &v.Severity, &entry, &v.EntryService, &v.Route,
			&v.Stage, &v.Peer, &v.Amount, &v.Evidence, &v.Cause, &inside, &v.Inferred, &v.Weight, &v.Text); err != nil {
			return err
		}
		var err error
		if v.Trace, err = span.ParseTraceID(trace); err != nil {
			return err
		}
		for _, part := range []struct {
			to   *span.ID
			text string
		}{{&v.Span, id}, {&v.Entry, entry}, {&v.IncludedIn, inside}} {
			if *part.to, err = span.ParseID(part.text); err != nil {
				return err
			}
		}
		answer = append(answer, v)
		return nil
	}, map[string]any{"ids": hexIDs(ids)})
	return answer, question("verdicts", err)
}

// WriteVerdicts writes findings that hold and takes back those that no longer do, in one insert.
func (db *DB) WriteVerdicts(ctx context.Context, hold, taken []Verdict) error {
	rows := append(append(make([]Verdict, 0, len(hold)+len(taken)), taken...), hold...)
	if len(rows) == 0 {
		return nil
	}
	deleted := make([]uint8, len(rows))
	for i := range taken {
		deleted[i] = 1
	}
	text := func(f func(*Verdict) string) []string { return each(rows, f) }
	return question("verdicts", db.insert(ctx, "verdicts", []column{
		{"trace_id", "FixedString(16)", text(func(v *Verdict) string { return string(v.Trace[:]) })},
		{"span_id", "FixedString(8)", text(func(v *Verdict) string { return string(v.Span[:]) })},
		{"service", "String", text(func(v *Verdict) string { return v.Service })},
		{"kind", "String", text(func(v *Verdict) string { return v.Kind })},
		{"rule", "String", text(func(v *Verdict) string { return v.Rule })},
		{"ts", "DateTime64(9, 'UTC')", each(rows, func(v *Verdict) time.Time { return time.Unix(0, v.Start).UTC() })},
		{"severity", "String", text(func(v *Verdict) string { return v.Severity })},
		{"entry_span_id", "FixedString(8)", text(func(v *Verdict) string { return string(v.Entry[:]) })},
		{"entry_service", "String", text(func(v *Verdict) string { return v.EntryService })},
		{"route", "String", text(func(v *Verdict) string { return v.Route })},
		{"stage", "String", text(func(v *Verdict) string { return v.Stage })},
		{"peer", "String", text(func(v *Verdict) string { return v.Peer })},
		{"amount_ns", "Nullable(Int64)", each(rows, func(v *Verdict) *int64 { return &v.Amount })},
		{"evidence", "String", text(func(v *Verdict) string { return v.Evidence })},
		{"cause", "String", text(func(v *Verdict) string { return v.Cause })},
		{"included_in", "FixedString(8)", text(func(v *Verdict) string { return string(v.IncludedIn[:]) })},
		{"inferred", "Bool", each(rows, func(v *Verdict) bool { return v.Inferred })},
		{"weight", "Float64", each(rows, func(v *Verdict) float64 { return v.Weight })},
		{"text", "String", text(func(v *Verdict) string { return v.Text })},
		{"is_deleted", "UInt8", deleted},
	}))
}
