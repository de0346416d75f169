package storage

import (
	"context"
	"time"
)

// SpentAt is what answered requests of one route spent at one place within one stretch of time. The place of no kind is the whole request;
// its Amount is the budget granted.
type SpentAt struct {
	Service, Route string
	At             time.Time
	Place
	// Amount in seconds and Calls are those of all requests that the sampled ones stand for.
	Amount, Calls, Degraded float64
	// Seen counts requests themselves, Requests what they stand for; both only those that have the place.
	Seen     uint64
	Requests float64
}

func (s *SpentAt) columns() []any {
	return []any{&s.Service, &s.Route, instant{&s.At}, &s.Kind, &s.Stage, &s.Peer, &s.Amount, &s.Calls, &s.Degraded, &s.Seen, &s.Requests}
}

// maxSpent bounds the rows of one answer.
const maxSpent = 1_000_000

// SpentDays answers with what the routes of some services, or those of some keys, spent on the whole days of a window; each place's
// days are together, oldest first.
func (db *DB) SpentDays(ctx context.Context, w Window, services []string, keys []uint64) ([]SpentAt, error) {
	const day = 24 * time.Hour
	w = Window{From: ceil(w.From, day), To: w.To.Truncate(day)}
	return db.spent(ctx, ReportQuestion{Window: w}, day, services, keys)
}

// spent answers with what was spent in buckets of a width: from tallies if they know what is asked for and are as short, else from accounts.
func (db *DB) spent(ctx context.Context, q ReportQuestion, width time.Duration, services []string, keys []uint64) ([]SpentAt, error) {
	parameters := q.parameters()
	parameters["bucket"], parameters["limit"] = int64(width), maxSpent
	parameters["services"], parameters["keys"] = append([]string{}, services...), append([]uint64{}, keys...)
	if q.EntryFilter == (EntryFilter{}) && q.Rule == "" && len(q.Not.Rules) == 0 && width%time.Hour == 0 {
		plan, err := db.planTally(ctx, q.Window, q.Window, width)
		if err != nil {
			return nil, err
		}
		if plan != nil {
			return tallied(ctx, db, "spent", plan, parameters, (*SpentAt).columns)
		}
	}
	return rowsOf(ctx, db, "report spend", spendSQL, parameters, (*SpentAt).columns)
}
