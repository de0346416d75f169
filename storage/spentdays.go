package storage

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// SpentDay is what answered requests of one route spent at one place on one day. The place of no kind is the whole request; its
// Amount is the budget granted.
type SpentDay struct {
	Service, Route string
	Day            time.Time
	Place
	// Amount in seconds and Calls are those of all requests that the sampled ones stand for.
	Amount, Calls, Degraded float64
	// Seen counts requests themselves, Requests what they stand for; both only those that have the place.
	Seen     uint64
	Requests float64
}

//go:embed queries/spent_days.sql
var spentDaysSQL string

// maxSpentDays bounds the rows of one answer.
const maxSpentDays = 1_000_000

// SpentDays answers with what the routes of some services, or those of some keys, spent on the whole days of a window; each place's
// days are together, oldest first.
func (db *DB) SpentDays(ctx context.Context, w Window, services []string, keys []uint64) ([]SpentDay, error) {
	const day = 24 * time.Hour
	w = Window{From: ceil(w.From, day), To: w.To.Truncate(day)}
	parameters := w.parameters()
	parameters["services"], parameters["keys"], parameters["limit"] = append([]string{}, services...), append([]uint64{}, keys...), maxSpentDays
	columns := func(d *SpentDay) []any {
		return []any{&d.Service, &d.Route, instant{&d.Day}, &d.Kind, &d.Stage, &d.Peer, &d.Amount, &d.Calls, &d.Degraded, &d.Seen, &d.Requests}
	}
	plan, err := db.planTally(ctx, w, w)
	if err != nil {
		return nil, err
	}
	if plan != nil {
		parameters["service"] = ""
		return tallied(ctx, db, "spent_days", plan, parameters, columns)
	}
	var answer []SpentDay
	err = db.ask(ctx, spentDaysSQL, func(rows driver.Rows) error {
		var d SpentDay
		err := rows.Scan(columns(&d)...)
		answer = append(answer, d)
		return err
	}, parameters)
	return answer, question("spent by day", err)
}
