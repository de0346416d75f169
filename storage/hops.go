package storage

import (
	"context"
	_ "embed"
	"math"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
)

//go:embed queries/hops.sql
var hopsSQL string

// hopSpans adds what hops holds in a window, as far as a hop tells.
func (db *DB) hopSpans(ctx context.Context, ids []span.TraceID, w Window, inOrder bool, perTrace int, into map[span.TraceID]*Trace) error {
	reader := newHopReader()
	sql := hopsSQL
	if !inOrder {
		sql = inAnyOrder(sql)
	}
	parameters := w.parameters()
	parameters["ids"], parameters["limit"] = hexIDs(ids), perTrace+1
	return db.ask(ctx, sql, func(rows driver.Rows) error {
		row, err := reader.read(rows)
		if err != nil {
			return err
		}
		s := row.ToSpan()
		into[s.Trace] = into[s.Trace].add(*s, SourceHops)
		return nil
	}, parameters)
}

// hopReader scans rows of hops.sql. Its fields are overwritten by each row.
type hopReader struct {
	row                   hop.Row
	trace, id, parent     string
	kind, status          string
	open                  [4][]string
	linkTraces, linkSpans []string
	ints                  []*int64
	floats                []*float64
	flags                 []*bool
	texts                 []string
	destinations          []any
}

func newHopReader() *hopReader {
	n := len(hop.Facts)
	r := &hopReader{ints: make([]*int64, n), floats: make([]*float64, n), flags: make([]*bool, n), texts: make([]string, n)}
	w := &r.row
	r.destinations = []any{
		&r.trace, &r.id, &r.parent, &w.Service, &w.Name, &r.kind, &r.status, &w.StatusMessage, &w.Start, &w.Duration, &w.Route,
		&w.Peer, &w.Instance, &w.Host, &w.PID, &w.ServiceVersion, &w.Environment, &w.ErrorType,
		&r.open[0], &r.open[1], &r.open[2], &r.open[3], &r.linkTraces, &r.linkSpans, &w.Weight,
	}
	for i, f := range hop.Facts {
		switch f.Type {
		case hop.Nanoseconds, hop.Count:
			r.destinations = append(r.destinations, &r.ints[i])
		case hop.Number:
			r.destinations = append(r.destinations, &r.floats[i])
		case hop.Flag:
			r.destinations = append(r.destinations, &r.flags[i])
		default:
			r.destinations = append(r.destinations, &r.texts[i])
		}
	}
	return r
}

// read returns the current row. It shares nothing with the reader but strings.
func (r *hopReader) read(rows driver.Rows) (*hop.Row, error) {
	if err := rows.Scan(r.destinations...); err != nil {
		return nil, err
	}
	row := r.row
	var err error
	if row.Trace, err = span.ParseTraceID(r.trace); err != nil {
		return nil, err
	}
	if row.Span, err = span.ParseID(r.id); err != nil {
		return nil, err
	}
	if row.Parent, err = span.ParseID(r.parent); err != nil {
		return nil, err
	}
	row.Kind, row.Status = span.ParseKind(r.kind), span.ParseStatus(r.status)
	for i := range r.open[0] {
		row.OpenChildren = append(row.OpenChildren, hop.OpenChild{Span: r.open[0][i], Stage: r.open[1][i], Peer: r.open[2][i], Cause: r.open[3][i]})
	}
	for i := range r.linkTraces {
		var link hop.Link
		if link.Trace, err = span.ParseTraceID(r.linkTraces[i]); err != nil {
			return nil, err
		}
		if link.Span, err = span.ParseID(r.linkSpans[i]); err != nil {
			return nil, err
		}
		row.Links = append(row.Links, link)
	}
	row.Values = r.values()
	return &row, nil
}

// values collects the facts that the row has.
func (r *hopReader) values() []hop.Value {
	var values []hop.Value
	for i, f := range hop.Facts {
		v, has := hop.Value{Fact: i}, false
		switch f.Type {
		case hop.Nanoseconds, hop.Count:
			if has = r.ints[i] != nil; has {
				v.Bits = *r.ints[i]
			}
		case hop.Number:
			if has = r.floats[i] != nil; has {
				v.Bits = int64(math.Float64bits(*r.floats[i]))
			}
		case hop.Flag:
			if has = r.flags[i] != nil; has && *r.flags[i] {
				v.Bits = 1
			}
		default:
			v.Text = r.texts[i]
			has = v.Text != ""
		}
		if has {
			values = append(values, v)
		}
	}
	return values
}
