package api

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

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
	response, body := get(t, newServer(t, store, nil), "/api/v1/reports/margin?from=now-7d")
	var report struct {
		Rows []struct {
			Route string `json:"route"`
			Trend *struct {
				Slope       float64 `json:"slope_s_per_day"`
				P           float64 `json:"p_value"`
				Significant bool    `json:"significant"`
				Days        int     `json:"days"`
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
	for _, row := range report.Rows {
		trend := row.Trend
		switch {
		case trend == nil || trend.Days != 27:
			t.Errorf("%s: %+v", row.Route, trend)
		case row.Route != "/r0":
			if trend.Significant || trend.CrossesZero != nil {
				t.Errorf("a stationary route alarms: %s %+v", row.Route, trend)
			}
		case !trend.Significant || math.Abs(trend.Slope+0.02) > 0.001:
			t.Errorf("the planted slope of -0.02 s a day: %+v", trend)
		default:
			// 0.8 - 0.09 - 0.02 × day is zero after 35.5 days.
			zero := time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC).Add(852 * time.Hour)
			if c := trend.CrossesZero; c == nil || c.To == nil || c.From.After(zero.Add(12*time.Hour)) || c.To.Before(zero.Add(-12*time.Hour)) || c.To.Sub(c.From) > 7*24*time.Hour {
				t.Errorf("crosses zero %+v, want %s", c, zero)
			}
		}
	}
}
