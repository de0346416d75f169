package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"time"

	"github.com/laxity-dev/laxity/internal/bench/load"
	"github.com/laxity-dev/laxity/storage"
)

//go:embed sql
var statements embed.FS

func statement(name string) string {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // names are those of the folder
	}
	return string(text)
}

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// report is one question: what it reads, and how it is asked over 30 days, or as far as it looks. The statement over raw spans has
// its name.
type report struct {
	name, reads string
	ask         func(context.Context, *database) error
}

func (db *database) window() storage.Window {
	return storage.Window{From: db.plan.From, To: db.plan.To}
}

// lastWeek is for reports that compare weeks.
func (db *database) lastWeek() storage.Window {
	return storage.Window{From: db.plan.To.Add(-week), To: db.plan.To}
}

// rows asks a report whose rows come from storage as they are.
func rows[Row any](of func(*storage.DB, context.Context, storage.ReportQuestion) ([]Row, error), window func(*database) storage.Window) func(context.Context, *database) error {
	return func(ctx context.Context, db *database) error {
		found, err := of(db.DB, ctx, storage.ReportQuestion{Window: window(db), Limit: 1000})
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("no rows")
		}
		return err
	}
}

var reports = []report{
	{"margin", "rollups", func(ctx context.Context, db *database) error {
		q, err := db.PlanMargins(ctx, storage.MarginQuestion{Window: db.window(), Limit: 1000}, day)
		if err != nil {
			return err
		}
		_, err = db.Margins(ctx, q)
		return err
	}},
	{"trend", "rollups", func(ctx context.Context, db *database) error {
		_, err := db.MarginDays(ctx, db.window(), "", "")
		return err
	}},
	{"spent", "tallies", func(ctx context.Context, db *database) error {
		_, err := db.SpentDays(ctx, db.window(), nil, nil)
		return err
	}},
	{"attribution", "tallies", func(ctx context.Context, db *database) error {
		w := db.lastWeek()
		_, err := db.Compare(ctx, storage.ComparisonQuestion{Window: w, Before: w.Shift(-week)})
		return err
	}},
	{"findings", "tallies", rows((*storage.DB).Findings, (*database).window)},
	{"orphans", "tallies", rows((*storage.DB).Orphans, (*database).window)},
	{"stages", "tallies", rows((*storage.DB).Stages, (*database).window)},
	{"cancellations", "tallies", rows((*storage.DB).Cancellations, (*database).window)},
	{"local", "tallies", rows((*storage.DB).Local, (*database).window)},
	{"phases", "tallies", rows((*storage.DB).Phases, (*database).window)},
	{"retries", "tallies", rows((*storage.DB).Retries, (*database).window)},
	{"propagation", "tallies", rows((*storage.DB).Propagation, (*database).window)},
	{"dependencies", "tallies", rows((*storage.DB).Dependencies, (*database).lastWeek)},
	{"services", "tallies", func(ctx context.Context, db *database) error {
		_, err := db.Services(ctx, storage.ServiceQuestion{Window: db.window(), Limit: 1000})
		return err
	}},
	{"facets", "tallies", func(ctx context.Context, db *database) error {
		_, err := db.Facets(ctx, storage.FacetQuestion{SearchQuestion: storage.SearchQuestion{Window: db.window(), Limit: 100}})
		return err
	}},
	{"conformance", "tallies", rows((*storage.DB).Conformance, (*database).window)},
	{"reserves", "tallies", rows((*storage.DB).Reserves, (*database).window)},
	{"advice", "tallies", func(ctx context.Context, db *database) error {
		_, err := db.Advice(ctx, storage.AdviceQuestion{ReportQuestion: storage.ReportQuestion{Window: db.window(), Limit: 1000}, Rate: 0.001})
		return err
	}},
	{"safe_budgets", "tallies", func(ctx context.Context, db *database) error {
		_, err := db.SafeBudgets(ctx, storage.AdviceQuestion{ReportQuestion: storage.ReportQuestion{Window: db.window(), Limit: 1000}, Rate: 0.001})
		return err
	}},
	{"map", "tallies", func(ctx context.Context, db *database) error {
		_, err := db.Blamed(ctx, storage.ReportQuestion{Window: db.lastWeek()}, "")
		return err
	}},
	{"limits", "limits", func(ctx context.Context, db *database) error {
		_, err := db.Limits(ctx, storage.ReportQuestion{Window: db.window(), Limit: 1000})
		return err
	}},
	{"search", "hops", func(ctx context.Context, db *database) error {
		_, err := db.Search(ctx, storage.SearchQuestion{Window: db.window(), Limit: 100})
		return err
	}},
}

// fillRaw makes raw spans of the hops of the last days, unless there are some.
func fillRaw(ctx context.Context, url string, plan load.Plan, days int) error {
	store, err := storage.Open(storage.Config{DSN: url + "/laxity", MaxExecutionTime: time.Hour})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	for i := range days {
		window := map[string]any{"from": plan.To.Add(-time.Duration(i+1) * day).UnixNano(), "to": plan.To.Add(-time.Duration(i) * day).UnixNano()}
		var held uint64
		const count = "SELECT count() FROM otel_traces WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})"
		if err := store.Query(ctx, count, window, func(row storage.Row) error { return row.Scan(&held) }); err != nil {
			return err
		}
		if held > 0 {
			continue
		}
		if err := store.Run(ctx, statement("fill_raw"), window); err != nil {
			return fmt.Errorf("raw spans: %w", err)
		}
		fmt.Fprintf(os.Stderr, "raw spans of %d of %d days\n", i+1, days)
	}
	return nil
}

// hasRaw reports whether raw spans can tell what a report tells.
func (r report) hasRaw() bool {
	_, err := statements.Open("sql/raw_" + r.name + ".sql")
	return err == nil
}

// askRaw asks the statement over raw spans, of which there are so many days.
func (db *database) askRaw(ctx context.Context, r report, days int) error {
	return db.Query(ctx, statement("raw_"+r.name)+"SETTINGS max_memory_usage = 0", map[string]any{
		"from": db.plan.To.Add(-time.Duration(days) * day).UnixNano(), "to": db.plan.To.UnixNano(),
	}, func(storage.Row) error { return nil })
}

// looks is how many days a report reads.
func (r report) looks() int {
	if r.name == "attribution" || r.name == "dependencies" {
		return 14
	}
	return load.Days
}

// bytesPerHop prints what is kept on disk for each hop.
func (db *database) bytesPerHop(ctx context.Context) error {
	sum, hops := 0.0, float64(db.plan.Hops())
	err := db.Query(ctx, statement("bytes"), nil, func(row storage.Row) error {
		var table string
		var rows, bytes uint64
		err := row.Scan(&table, &rows, &bytes)
		fmt.Printf("%-12s %12d rows %8.1f bytes/hop\n", table, rows, float64(bytes)/hops)
		sum += float64(bytes)
		return err
	})
	fmt.Printf("figure bytes_per_hop %.1f B\n", sum/hops)
	return err
}
