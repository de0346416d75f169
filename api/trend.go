package api

import (
	"context"
	"math"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/trend"
	"github.com/laxity-dev/laxity/storage"
)

// How far back a trend looks: four weeks before the end of the window, or the whole window, up to a quarter.
const (
	trendDays    = 28 * 24 * time.Hour
	maxTrendDays = 90 * 24 * time.Hour
	// missedTarget is the share of missed requests that a route may have.
	missedTarget = 0.01
)

type marginTrend struct {
	Slope         span.Seconds  `json:"slope_s_per_day"`
	P             float64       `json:"p_value"`
	Significant   bool          `json:"significant"`
	CrossesZero   *interval     `json:"crosses_zero"`
	MissedCrosses *interval     `json:"missed_crosses"`
	GrownStages   []grownStage  `json:"grown_stages"`
	Days          int           `json:"days"`
	Level         *span.Seconds `json:"level_s"`
}

type interval struct {
	From instant  `json:"from"`
	To   *instant `json:"to"`
}

// routeTrend is one route while its trends are fitted.
type routeTrend struct {
	service, route string
	days           int
	margin, missed *trend.Fit
}

// fitTrends fits the margins and missed ratios of routes by their days, and judges all of them together.
func fitTrends(days []storage.MarginDay) []routeTrend {
	var all []routeTrend
	var margins, missed []*trend.Fit
	for i := 0; i < len(days); {
		j := i
		var margin, ratio []trend.Point
		for ; j < len(days) && days[j].Service == days[i].Service && days[j].Route == days[i].Route; j++ {
			d := days[j]
			if d.Answered >= trend.MinAnswered {
				margin = append(margin, trend.Point{Day: d.Day, Value: d.P05.Seconds()})
			}
			if d.WithBudget >= trend.MinAnswered {
				ratio = append(ratio, trend.Point{Day: d.Day, Value: float64(d.Missed) / float64(d.WithBudget)})
			}
		}
		r := routeTrend{service: days[i].Service, route: days[i].Route, days: len(margin)}
		if fit, ok := trend.Of(margin); ok {
			r.margin = &fit
			margins = append(margins, r.margin)
		}
		if fit, ok := trend.Of(ratio); ok {
			r.missed = &fit
			missed = append(missed, r.missed)
		}
		all = append(all, r)
		i = j
	}
	trend.Correct(margins)
	trend.Correct(missed)
	return all
}

// addTrends adds to each row the trend of its route up to the end of the window. Every route is fitted, also those that are not
// among the rows, because the correction counts how many were looked at. Days do not know what filters of entries ask for: such
// rows have no trend.
func (s *Server) addTrends(ctx context.Context, q storage.MarginQuestion, rows []marginRow) error {
	if q.EntryFilter != (storage.EntryFilter{}) {
		return nil
	}
	reach := trendWindow(q.Window)
	days, err := s.config.Store.MarginDays(ctx, reach, "", "")
	if err != nil {
		return err
	}
	found := map[[2]string]*marginTrend{}
	for _, r := range fitTrends(days) {
		if r.margin != nil {
			found[[2]string{r.service, r.route}] = shapeTrend(r)
		}
	}
	for i := range rows {
		rows[i].Trend = found[[2]string{rows[i].Service, rows[i].Route}]
	}
	return s.addGrown(ctx, reach, rows, q.Keys)
}

// trendWindow is what a trend up to the end of a window looks at.
func trendWindow(w storage.Window) storage.Window {
	length := min(max(w.To.Sub(w.From), trendDays), maxTrendDays)
	return storage.Window{From: w.To.Add(-length).Truncate(24 * time.Hour), To: w.To}
}

func shapeTrend(r routeTrend) *marginTrend {
	level := secondsFrom(r.margin.Level)
	t := &marginTrend{
		Slope: secondsFrom(r.margin.Slope), P: math.Round(r.margin.P*1e6) / 1e6, Significant: r.margin.Significant, Days: r.days, Level: &level,
		CrossesZero: shapeCrossing(r.margin.Crosses(0)), GrownStages: []grownStage{},
	}
	if r.missed != nil && r.missed.Slope > 0 {
		t.MissedCrosses = shapeCrossing(r.missed.Crosses(missedTarget))
	}
	return t
}

func secondsFrom(f float64) span.Seconds { return span.SecondsOf(time.Duration(math.Round(f * 1e9))) }

func shapeCrossing(c *trend.Crossing) *interval {
	if c == nil {
		return nil
	}
	shaped := &interval{From: instant(c.From)}
	if !c.To.IsZero() {
		to := instant(c.To)
		shaped.To = &to
	}
	return shaped
}
