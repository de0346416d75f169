package api

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// Among stationary routes, one whose margin shrinks at a known rate is found with that rate, and nothing else.
func TestTrendFindsThePlantedRoute(t *testing.T) {
	store := storagetest.Open(t)
	// 28 days of 220 answers to each of five routes, within an hour of noon; noise of ±0.1 s from a hash.
	_, err := store.Engine.Query(strings.NewReplacer("DB", store.Database).Replace(`
INSERT INTO DB.hops (service, kind, name, ts, trace_id, span_id, duration_ns, entry, answered, outcome, route, budget_received_ns, margin_ns, late)
WITH
    number % 5 AS r,
    intDiv(number, 5) % 220 AS i,
    intDiv(number, 1100) AS day,
    toInt64((0.8 - if(r = 0, 0.02 * day, 0) + 0.2 * (sipHash64(number) / exp2(64) - 0.5)) * 1e9) AS left
SELECT 'shop', 'Server', 'GET', toDateTime64('2026-02-03 12:00:00', 9, 'UTC') + toIntervalDay(day) + toIntervalSecond(i),
    toFixedString(unhex(leftPad(hex(day * 5 + r + 1), 32, '0')), 16), toFixedString(unhex(leftPad(hex(number + 1), 16, '0')), 8),
    2000000000 - left, true, true, 'done', concat('/r', toString(r)), 2000000000, left, left < 0
FROM numbers(28 * 1100)`))
	if err != nil {
		t.Fatal(err)
	}
	judge(t, store)
	plantAccounts(t, store)
	server := newServer(t, store, nil)
	stages, err := server.stageTrends(t.Context(), trendWindow(storage.Window{From: now.Add(-7 * 24 * time.Hour), To: now}), []string{"shop"})
	if err != nil || len(stages) != 10 {
		t.Fatalf("%d stages, %v", len(stages), err)
	}
	for key, trend := range stages {
		if planted := key.route == "/r1" && key.stage == "generate"; trend.Degrading != planted || planted && math.Abs(trend.Degraded-1./220) > 1e-4 {
			t.Errorf("%v: %+v", key, trend)
		}
		if planted := key.route == "/r0" && key.stage == "generate"; trend.Significant != planted {
			t.Errorf("%v: %+v", key, trend)
		}
	}
	response, body := get(t, server, "/api/v1/reports/margin?from=now-7d")
	var report struct {
		Rows []struct {
			Route string `json:"route"`
			Trend *struct {
				Slope       float64 `json:"slope_s_per_day"`
				P           float64 `json:"p_value"`
				Significant bool    `json:"significant"`
				Days        int     `json:"days"`
				Grown       []struct {
					Part   string  `json:"part"`
					Stage  string  `json:"stage"`
					PerDay float64 `json:"s_per_day"`
					Share  float64 `json:"share"`
				} `json:"grown_stages"`
				CrossesZero *struct {
					From time.Time  `json:"from"`
					To   *time.Time `json:"to"`
				} `json:"crosses_zero"`
			} `json:"trend"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(body, &report); err != nil || len(report.Rows) != 5 {
		t.Fatalf("%d %s: %v", response.StatusCode, body, err)
	}
	follows(t, loadContract(t), "MarginReport", body)
	// Days of all requests say nothing about some of them.
	if _, some := get(t, server, "/api/v1/reports/margin?from=now-7d&outcome=done"); strings.Count(string(some), `"trend":null`) != 5 {
		t.Errorf("a trend of all requests stands by the margins of some: %s", some)
	}
	for _, row := range report.Rows {
		trend := row.Trend
		switch {
		case trend == nil || trend.Days != 27:
			t.Errorf("%s: %+v", row.Route, trend)
		case row.Route != "/r0":
			if trend.Significant || trend.CrossesZero != nil || len(trend.Grown) > 0 {
				t.Errorf("a stationary route alarms: %s %+v", row.Route, trend)
			}
		case !trend.Significant || math.Abs(trend.Slope+0.02) > 0.001:
			t.Errorf("the planted slope of -0.02 s a day: %+v", trend)
		case len(trend.Grown) != 2 || trend.Grown[0].Stage != "generate" || math.Abs(trend.Grown[0].PerDay-0.015) > 0.001 ||
			trend.Grown[1].Part != "budget" || math.Abs(trend.Grown[1].PerDay-0.005) > 0.001 || math.Abs(trend.Grown[0].Share-0.75) > 0.03:
			t.Errorf("of the planted 0.02 s a day, generate takes 0.015 and a shrinking budget 0.005: %+v", trend.Grown)
		default:
			// 0.8 - 0.09 - 0.02 × day is zero after 35.5 days.
			zero := time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC).Add(852 * time.Hour)
			if c := trend.CrossesZero; c == nil || c.To == nil || c.From.After(zero.Add(12*time.Hour)) || c.To.Before(zero.Add(-12*time.Hour)) || c.To.Sub(c.From) > 7*24*time.Hour {
				t.Errorf("crosses zero %+v, want %s", c, zero)
			}
		}
	}
}

// plantAccounts writes the accounts of the planted routes: on /r0 the stage generate takes 15 ms more each day, and the budget is 5 ms
// less; retrieve and everything on the other routes only vary.
func plantAccounts(t *testing.T, store *storagetest.Store) {
	t.Helper()
	for _, statement := range []string{"TRUNCATE TABLE DB.accounts", `
INSERT INTO DB.accounts (service, route, ts, trace_id, span_id, kind, holder, budget_ns, margin_ns, outcome, answered,
    ` + "`spent.kind`, `spent.stage`, `spent.peer`, `spent.ns`, `spent.calls`, `spent.degraded`" + `)
WITH
    number % 5 AS r,
    intDiv(number, 5) % 220 AS i,
    intDiv(number, 1100) AS day,
    toInt64((2 - if(r = 0, 0.005 * day, 0)) * 1e9) AS budget,
    toInt64((0.7 + if(r = 0, 0.015 * day, 0) + 0.2 * (sipHash64(number) / exp2(64) - 0.5)) * 1e9) AS generate,
    toInt64((0.3 + 0.1 * (sipHash64(number, 1) / exp2(64) - 0.5)) * 1e9) AS retrieve
SELECT 'shop', concat('/r', toString(r)), toDateTime64('2026-02-03 12:00:00', 9, 'UTC') + toIntervalDay(day) + toIntervalSecond(i),
    toFixedString(unhex(leftPad(hex(number + 1), 32, '0')), 16), toFixedString(unhex(leftPad(hex(number + 1), 16, '0')), 8), 'Server', true,
    budget, budget - generate - retrieve, 'done', true, ['hop', 'hop'], ['generate', 'retrieve'], ['model', 'search'], [generate, retrieve],
    [1, 1], [toUInt32(r = 1 AND i < day), 0]
FROM numbers(28 * 1100)`} {
		if _, err := store.Engine.Query(strings.ReplaceAll(statement, "DB", store.Database)); err != nil {
			t.Fatal(err)
		}
	}
}
