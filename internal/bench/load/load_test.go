package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/api"
	"github.com/laxity-dev/laxity/internal/bench/load"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
	"github.com/laxity-dev/laxity/storage/worker"
)

// end of the fills, so that they are the same at any time.
var end = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)

// open gives a database in which a statement may take as long as a fill needs on a busy machine.
func open(t *testing.T) (*storage.DB, *storagetest.Store) {
	t.Helper()
	database := storagetest.Open(t)
	store, err := storage.Open(storage.Config{DSN: database.DSN(), MaxExecutionTime: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store, database
}

// The reports find what was planted with its values, and nothing else.
func TestReportsFindThePlantedStories(t *testing.T) {
	store, _ := open(t)
	plan, err := load.NewPlan(360_000, end)
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Fill(t.Context(), store, plan, t.Output()); err != nil {
		t.Fatal(err)
	}
	server, err := api.New(api.Config{Store: store, Now: func() time.Time { return end }})
	if err != nil {
		t.Fatal(err)
	}
	results, err := load.Check(t.Context(), server, plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Logf("%-5t %-13s %-36s %-40s %s", r.OK, r.Report, r.Subject, r.Planted, r.Found)
		if !r.OK {
			t.Errorf("%s of %s: planted %s, found %s", r.Report, r.Subject, r.Planted, r.Found)
		}
	}
	if len(results) < 20 {
		t.Errorf("%d results; every story has one", len(results))
	}
	held, err := load.Hold(t.Context(), store)
	if err != nil || held.Filled != uint64(plan.Hops()) || held.Other != 0 {
		t.Errorf("held %+v, %v, want %d hops of a fill alone", held, err, plan.Hops())
	}
}

// A worker that judges the filled hops writes the verdicts and accounts that the fill wrote, and the same rollups.
func TestFillIsWhatTheWorkerWrites(t *testing.T) {
	store, database := open(t)
	plan, err := load.NewPlan(load.MinHops, end)
	if err != nil {
		t.Fatal(err)
	}
	plan.PerDay, plan.To = 240, plan.From.Add(2*24*time.Hour)
	if err := load.Fill(t.Context(), store, plan, t.Output()); err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{
		"verdicts": "version, ingested_at", "accounts": "version, ingested_at",
		"rollup_1m": "version, ingested_at, first_at", "rollup_1h": "version, ingested_at, first_at", "rollup_1d": "version, ingested_at, first_at",
		"tally_5m": "version, ingested_at, first_at", "tally_1h": "version, ingested_at, first_at", "tally_1d": "version, ingested_at, first_at",
	}
	statement := func(sql string) string {
		t.Helper()
		answer, err := database.Engine.Query(sql)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	in := func(table string) string { return database.Database + "." + table }
	for table, but := range tables {
		statement("CREATE TABLE " + in("filled_"+table) + " ENGINE = Memory AS SELECT * EXCEPT (" + but + ") FROM " + in(table) + " FINAL")
		statement("TRUNCATE TABLE " + in(table))
	}
	for _, step := range []storage.Step{storage.StepVerdicts, storage.StepMinutes, storage.StepHours, storage.StepDays,
		storage.StepStretches, storage.StepTallyHours, storage.StepTallyDays, storage.StepFindings, storage.StepAccounts} {
		if err := store.SetProgress(t.Context(), step, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := worker.New(worker.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.PassNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	for table, but := range tables {
		filled, judged := "SELECT * FROM "+in("filled_"+table), "SELECT * EXCEPT ("+but+") FROM "+in(table)+" FINAL"
		// Stretches are kept for days, and the days of the fill may be older.
		if count := statement("SELECT count() FROM " + in(table) + " FINAL"); count == "0\n" && table != "tally_5m" {
			t.Errorf("%s: the worker wrote nothing", table)
		}
		for _, pair := range [][2]string{{filled, judged}, {judged, filled}} {
			if rest := statement("SELECT * FROM (" + pair[0] + " EXCEPT " + pair[1] + ") LIMIT 2 FORMAT Vertical"); rest != "" {
				t.Errorf("%s differs between fill and worker:\n%s", table, rest)
			}
		}
	}
}

// Other people's traces and another fill are left alone.
func TestPrepareRefusesWhatItDidNotFill(t *testing.T) {
	store, database := open(t)
	plan, err := load.NewPlan(load.MinHops, end)
	if err != nil {
		t.Fatal(err)
	}
	small := plan
	small.PerDay, small.To = 8, plan.From.Add(24*time.Hour)
	if _, err := load.Prepare(t.Context(), store, small, false, t.Output()); err != nil {
		t.Fatal(err)
	}
	if _, err := load.Prepare(t.Context(), store, plan, false, t.Output()); err == nil || !strings.Contains(err.Error(), "earlier fill of 32 hops") {
		t.Errorf("over an earlier fill: %v", err)
	}
	database.Insert(t, span.Span{
		Trace: span.TraceID{1}, ID: span.ID{1}, Service: "shop", Name: "GET /", Kind: span.KindServer, Start: end.UnixNano(), End: end.UnixNano() + 1,
	})
	if _, err := load.Prepare(t.Context(), store, small, false, t.Output()); err == nil || !strings.Contains(err.Error(), "1 other") {
		t.Errorf("over other traces: %v", err)
	}
}

func TestPlanHasTheSizeThatWasAsked(t *testing.T) {
	for hops, routes := range map[int]int{load.MinHops: 8, 360_000: 12, 10_000_000: 160, 100_000_000: 160} {
		plan, err := load.NewPlan(hops, end.Add(time.Hour))
		if err != nil || plan.Routes != routes || plan.To != end || float64(plan.Hops()) < 0.99*float64(hops) || plan.Hops() > hops {
			t.Errorf("%d hops: %+v of %d, %v", hops, plan, plan.Hops(), err)
		}
		// What a fill holds leads back to its plan.
		if again, err := load.NewPlan(plan.Hops(), end); err != nil || again.PerDay != plan.PerDay || again.Routes != plan.Routes {
			t.Errorf("%d hops: again %+v, %v", hops, again, err)
		}
	}
	if _, err := load.NewPlan(load.MinHops-1, end); err == nil {
		t.Error("too few hops for stories are taken")
	}
}
