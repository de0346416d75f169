package storage

import (
	"context"
	_ "embed"
	"maps"
	"reflect"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// FacetQuestion asks what the traces that fit may be narrowed by. The filters are those of a search; of rules and classes of
// outcome it is enough that a worker judged them.
type FacetQuestion struct {
	SearchQuestion
	Class string
}

// Facets are counts of traces over the whole of a window.
type Facets struct {
	Traces uint64
	Values []FacetValue
}

// FacetValue is one value of one facet. Distinct is how many values the facet has, also those that are not here.
type FacetValue struct {
	Facet, Value     string
	Traces, Distinct uint64
}

// all reports whether the question has no filter. Tallies know only how many traces of all have a value.
func (q FacetQuestion) all() bool {
	q.Window, q.Judged, q.Before, q.Limit = Window{}, time.Time{}, Entry{}, 0
	return reflect.ValueOf(q).IsZero()
}

//go:embed queries/facets.sql
var facetsSQL string

// Facets answers with the most frequent values of each facet, at most limit of them.
func (db *DB) Facets(ctx context.Context, q FacetQuestion) (Facets, error) {
	var answer Facets
	parameters := q.filters()
	parameters["class"], parameters["rule"] = q.Class, q.Rule
	parameters["limit"] = q.Limit
	sql := facetsSQL
	if q.all() {
		plan, err := db.planTally(ctx, q.Window, q.Window, asOne)
		if err != nil {
			return answer, err
		}
		if plan != nil {
			sql = plan.statement("tally_facets")
			maps.Copy(parameters, plan.parameters())
		}
	}
	err := db.ask(ctx, sql, func(rows driver.Rows) error {
		var v FacetValue
		if err := rows.Scan(&v.Facet, &v.Value, &v.Traces, &v.Distinct); err != nil {
			return err
		}
		if v.Facet == "traces" {
			answer.Traces = v.Traces
			return nil
		}
		answer.Values = append(answer.Values, v)
		return nil
	}, parameters)
	return answer, question("facets", err)
}
