package storage

import (
	"cmp"
	"context"
	_ "embed"
	"math"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
)

// SpendRow is what the answered requests of one route with a budget spent at one place. The place of no kind is the whole request:
// its Mean is the budget granted. The means of all other places and the mean margin sum to it, in all and in each bucket.
type SpendRow struct {
	Service, Route string
	Place
	// Requests are those of the route, also those that spent nothing here.
	Requests float64
	Mean     span.Seconds
	// Share of the mean budget, nil without one.
	Share *float64
	// Calls of a request on average; Degraded is the share of them that were not run, nil without calls.
	Calls    float64
	Degraded *float64
	Buckets  []SpendBucket
}

// SpendBucket is the mean of the requests of a route that began within one stretch of time.
type SpendBucket struct {
	At       time.Time
	Requests float64
	Mean     span.Seconds
}

//go:embed queries/report_spend.sql
var spendSQL string

// Spend answers with what requests were granted and what they spent where, in buckets of a width: route by route, the budget first,
// then the places that took the most. Every place has all buckets of its route.
func (db *DB) Spend(ctx context.Context, q ReportQuestion, width time.Duration) ([]SpendRow, error) {
	found, err := db.spent(ctx, q, width, nil, nil)
	if err != nil {
		return nil, err
	}
	answer := []SpendRow{}
	for route := range runs(found, func(a, b SpentAt) bool { return a.Service == b.Service && a.Route == b.Route }) {
		answer = append(answer, spendOf(route)...)
	}
	return answer[min(q.Skip, len(answer)):min(q.Skip+q.Limit, len(answer))], nil
}

// runs yields the stretches of neighbours that are the same.
func runs[T any](all []T, same func(a, b T) bool) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		for begin, i := 0, 1; i <= len(all); i++ {
			if i == len(all) || !same(all[i-1], all[i]) {
				if !yield(all[begin:i]) {
					return
				}
				begin = i
			}
		}
	}
}

// spendOf makes the rows of one route, whose place of no kind comes first.
func spendOf(route []SpentAt) []SpendRow {
	var rows []SpendRow
	var requests float64
	var buckets []SpendBucket
	index := map[time.Time]int{}
	for place := range runs(route, func(a, b SpentAt) bool { return a.Place == b.Place }) {
		if len(rows) == 0 {
			for i, s := range place {
				index[s.At], requests = i, requests+s.Requests
				buckets = append(buckets, SpendBucket{At: s.At, Requests: s.Requests})
			}
		}
		row := SpendRow{Service: place[0].Service, Route: place[0].Route, Place: place[0].Place, Requests: requests, Buckets: slices.Clone(buckets)}
		var amount, calls, degraded float64
		for _, s := range place {
			b := &row.Buckets[index[s.At]]
			b.Mean = inSeconds(s.Amount / b.Requests)
			amount, calls, degraded = amount+s.Amount, calls+s.Calls, degraded+s.Degraded
		}
		row.Mean, row.Calls = inSeconds(amount/requests), rounded(calls/requests)
		if calls > 0 {
			r := rounded(degraded / calls)
			row.Degraded = &r
		}
		rows = append(rows, row)
	}
	for i := range rows {
		if granted := rows[0].Mean; granted > 0 {
			share := rounded(float64(rows[i].Mean) / float64(granted))
			rows[i].Share = &share
		}
	}
	slices.SortStableFunc(rows[1:], func(a, b SpendRow) int { return cmp.Compare(b.Mean, a.Mean) })
	return rows
}

func inSeconds(s float64) span.Seconds { return span.Seconds(math.Round(s * 1e9)) }
