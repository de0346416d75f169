package storage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
)

// column is one column of an insert: a slice with a value for each row, of the type that is sent. LowCardinality columns are
// sent as String, which the server converts faster than the client builds dictionaries.
type column struct {
	name, typ string
	values    any
}

// InsertHops writes rows in one insert. To repeat it is harmless: rows of one span replace each other. The server stamps
// version and ingested_at. Rows may lie in any number of partitions.
func (db *DB) InsertHops(ctx context.Context, rows []hop.Row) error {
	if len(rows) == 0 {
		return nil
	}
	if err := db.insert(ctx, "hops", hopColumns(rows)); err != nil {
		return fmt.Errorf("insert of %d hops: %w", len(rows), err)
	}
	return nil
}

// InsertQuarantine writes spans that cannot be kept with the others. Repeated, it writes them twice.
func (db *DB) InsertQuarantine(ctx context.Context, rows []hop.Quarantined) error {
	if len(rows) == 0 {
		return nil
	}
	if err := db.insert(ctx, "quarantine", quarantineColumns(rows)); err != nil {
		return fmt.Errorf("insert of %d quarantined spans: %w", len(rows), err)
	}
	return nil
}

// insert sends whole columns as one block. A span of more than a hundred partitions is allowed: a client whose clock is wrong
// must not make the rows of all others wait.
func (db *DB) insert(ctx context.Context, table string, columns []column) error {
	names := make([]string, len(columns))
	types := make([]clickhouse.ColumnNameAndType, len(columns))
	for i, c := range columns {
		names[i] = "`" + c.name + "`"
		types[i] = clickhouse.ColumnNameAndType{Name: c.name, Type: c.typ}
	}
	settings := map[string]any{
		"max_partitions_per_insert_block": 0,
		// To replace rows inside one block while inserting costs more than all the rest; merges and FINAL do it anyway.
		"optimize_on_insert": 0,
	}
	ctx = db.limited(ctx, settings, clickhouse.WithColumnNamesAndTypes(types))
	batch, err := db.conn.PrepareBatch(ctx, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+")")
	if err != nil {
		return err
	}
	defer batch.Close()
	for i, c := range columns {
		if err := batch.Column(i).Append(c.values); err != nil {
			return &errColumn{c.name, err}
		}
	}
	return batch.Send()
}

// hopColumns lays rows out as columns. Facts that no row has are left to the defaults of the table.
func hopColumns(rows []hop.Row) []column {
	traces, spans, parents := identifiers(len(rows), func(i int) (span.TraceID, span.ID, span.ID) {
		return rows[i].Trace, rows[i].Span, rows[i].Parent
	})
	text := func(f func(*hop.Row) string) []string { return each(rows, f) }
	columns := []column{
		{"service", "String", text(func(r *hop.Row) string { return r.Service })},
		{"kind", "String", text(func(r *hop.Row) string { return r.Kind.String() })},
		{"name", "String", text(func(r *hop.Row) string { return r.Name })},
		{"ts", "DateTime64(9, 'UTC')", each(rows, func(r *hop.Row) time.Time { return time.Unix(0, r.Start).UTC() })},
		{"trace_id", "FixedString(16)", traces},
		{"span_id", "FixedString(8)", spans},
		{"parent_span_id", "FixedString(8)", parents},
		{"duration_ns", "Int64", each(rows, func(r *hop.Row) int64 { return r.Duration })},
		{"status", "String", text(func(r *hop.Row) string { return r.Status.String() })},
		{"status_message", "String", text(func(r *hop.Row) string { return r.StatusMessage })},
		{"weight", "Float64", each(rows, func(r *hop.Row) float64 { return r.Weight })},
		{"entry", "Bool", each(rows, func(r *hop.Row) bool { return r.Entry })},
		{"answered", "Bool", each(rows, func(r *hop.Row) bool { return r.Answered })},
		{"exhausted", "Bool", each(rows, func(r *hop.Row) bool { return r.Exhausted })},
		{"route", "String", text(func(r *hop.Row) string { return r.Route })},
		{"peer", "String", text(func(r *hop.Row) string { return r.Peer })},
		{"instance", "String", text(func(r *hop.Row) string { return r.Instance })},
		{"host", "String", text(func(r *hop.Row) string { return r.Host })},
		{"pid", "Int64", each(rows, func(r *hop.Row) int64 { return r.PID })},
		{"service_version", "String", text(func(r *hop.Row) string { return r.ServiceVersion })},
		{"environment", "String", text(func(r *hop.Row) string { return r.Environment })},
		{"error_type", "String", text(func(r *hop.Row) string { return r.ErrorType })},
	}
	columns = append(columns, partColumns(rows)...)
	return append(columns, factColumns(rows)...)
}

// partColumns holds what a row has many of.
func partColumns(rows []hop.Row) []column {
	var open, links bool
	for i := range rows {
		open = open || len(rows[i].OpenChildren) > 0
		links = links || len(rows[i].Links) > 0
	}
	var columns []column
	if open {
		part := func(f func(hop.OpenChild) string) [][]string {
			return each(rows, func(r *hop.Row) []string {
				list := make([]string, len(r.OpenChildren))
				for i, c := range r.OpenChildren {
					list[i] = f(c)
				}
				return list
			})
		}
		columns = append(columns,
			column{"open_child.span_id", "Array(String)", part(func(c hop.OpenChild) string { return c.Span })},
			column{"open_child.stage", "Array(String)", part(func(c hop.OpenChild) string { return c.Stage })},
			column{"open_child.peer", "Array(String)", part(func(c hop.OpenChild) string { return c.Peer })},
			column{"open_child.cause", "Array(String)", part(func(c hop.OpenChild) string { return c.Cause })})
	}
	if links {
		part := func(f func(hop.Link) string) [][]string {
			return each(rows, func(r *hop.Row) []string {
				list := make([]string, len(r.Links))
				for i, l := range r.Links {
					list[i] = f(l)
				}
				return list
			})
		}
		columns = append(columns,
			column{"link.trace_id", "Array(FixedString(16))", part(func(l hop.Link) string { return string(l.Trace[:]) })},
			column{"link.span_id", "Array(FixedString(8))", part(func(l hop.Link) string { return string(l.Span[:]) })})
	}
	return columns
}

// factColumns holds the deadline.* facts.
func factColumns(rows []hop.Row) []column {
	used := make([]bool, len(hop.Facts))
	for i := range rows {
		for _, v := range rows[i].Values {
			used[v.Fact] = true
		}
	}
	var columns []column
	yes, no := true, false
	fill := make([]func(row int, v *hop.Value), len(hop.Facts))
	for i, f := range hop.Facts {
		if !used[i] {
			continue
		}
		c := column{name: f.Column}
		switch f.Type {
		case hop.Nanoseconds, hop.Count:
			values := make([]*int64, len(rows))
			c.typ, c.values = "Nullable(Int64)", values
			fill[i] = func(row int, v *hop.Value) { values[row] = &v.Bits }
		case hop.Number:
			values := make([]*float64, len(rows))
			c.typ, c.values = "Nullable(Float64)", values
			fill[i] = func(row int, v *hop.Value) { n := v.Float(); values[row] = &n }
		case hop.Flag:
			values := make([]*bool, len(rows))
			c.typ, c.values = "Nullable(Bool)", values
			fill[i] = func(row int, v *hop.Value) {
				if values[row] = &no; v.Bits == 1 {
					values[row] = &yes
				}
			}
		default:
			values := make([]string, len(rows))
			c.typ, c.values = "String", values
			fill[i] = func(row int, v *hop.Value) { values[row] = v.Text }
		}
		columns = append(columns, c)
	}
	for row := range rows {
		for i := range rows[row].Values {
			v := &rows[row].Values[i]
			fill[v.Fact](row, v)
		}
	}
	return columns
}

func quarantineColumns(rows []hop.Quarantined) []column {
	traces, spans, parents := identifiers(len(rows), func(i int) (span.TraceID, span.ID, span.ID) {
		return rows[i].Trace, rows[i].Span, rows[i].Parent
	})
	text := func(f func(*hop.Quarantined) string) []string { return each(rows, f) }
	return []column{
		{"reason", "String", text(func(q *hop.Quarantined) string { return string(q.Reason) })},
		{"service", "String", text(func(q *hop.Quarantined) string { return q.Service })},
		{"name", "String", text(func(q *hop.Quarantined) string { return q.Name })},
		{"kind", "String", text(func(q *hop.Quarantined) string { return q.Kind.String() })},
		{"trace_id", "FixedString(16)", traces},
		{"span_id", "FixedString(8)", spans},
		{"parent_span_id", "FixedString(8)", parents},
		{"start_ns", "UInt64", each(rows, func(q *hop.Quarantined) uint64 { return q.Start })},
		{"end_ns", "UInt64", each(rows, func(q *hop.Quarantined) uint64 { return q.End })},
		{"span", "String", text(func(q *hop.Quarantined) string { return q.JSON })},
	}
}

// identifiers returns three columns of raw bytes, cut from one string.
func identifiers(n int, of func(i int) (span.TraceID, span.ID, span.ID)) (traces, spans, parents []string) {
	const size = 32
	raw := make([]byte, 0, n*size)
	for i := range n {
		trace, id, parent := of(i)
		raw = append(append(append(raw, trace[:]...), id[:]...), parent[:]...)
	}
	all := string(raw)
	traces, spans, parents = make([]string, n), make([]string, n), make([]string, n)
	for i := range n {
		at := i * size
		traces[i], spans[i], parents[i] = all[at:at+16], all[at+16:at+24], all[at+24:at+32]
	}
	return traces, spans, parents
}

// each maps rows to one column.
func each[R, V any](rows []R, f func(*R) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = f(&rows[i])
	}
	return values
}
