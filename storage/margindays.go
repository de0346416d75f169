package storage

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// MarginDay is what one route had left on one day.
type MarginDay struct {
	Service, Route string
	Day            time.Time
	// Answered counts requests with a margin; P05 is theirs.
	Answered, WithBudget, Missed uint64
	P05                          time.Duration
}

//go:embed queries/margin_days.sql
var marginDaysSQL string

// maxDays is 1,000 routes of a quarter.
const maxDays = 92_000

// MarginDays answers with the whole days of the window that the rollup holds, by route and day.
func (db *DB) MarginDays(ctx context.Context, w Window, service, route string) ([]MarginDay, error) {
	const day = 24 * time.Hour
	var answer []MarginDay
	err := db.ask(ctx, marginDaysSQL, func(rows driver.Rows) error {
		var d MarginDay
		var at int64
		var slot int16
		var part float64
		if err := rows.Scan(&d.Service, &d.Route, &at, &d.Answered, &d.WithBudget, &d.Missed, &slot, &part); err != nil {
			return err
		}
		d.Day, d.P05 = time.Unix(0, at).UTC(), time.Duration(within(slot, part))
		answer = append(answer, d)
		return nil
	}, map[string]any{
		"from": ceil(w.From, day).UnixNano(), "to": w.To.Truncate(day).UnixNano(), "service": service, "route": route, "limit": maxDays,
	})
	return answer, question("margins by day", err)
}
