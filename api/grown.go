package api

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/trend"
	"github.com/laxity-dev/laxity/storage"
)

// grownStage is one place whose mean spend per request grew while the margin of its route shrank. A budget that shrank is a part
// of its own.
type grownStage struct {
	Part  string `json:"part"`
	Stage string `json:"stage"`
	Peer  string `json:"peer"`
	// PerDay is what it takes more each day; Share its part of all that grew.
	PerDay span.Seconds `json:"s_per_day"`
	P      float64      `json:"p_value"`
	Share  float64      `json:"share"`
}

// spentSeries is one place of one route by day.
type spentSeries struct {
	service, route string
	place          storage.Place
	days           []storage.SpentAt
}

// seriesOf cuts days, which come in order, into series.
func seriesOf(days []storage.SpentAt) []spentSeries {
	var all []spentSeries
	for i := 0; i < len(days); {
		j := i
		for j < len(days) && days[j].Service == days[i].Service && days[j].Route == days[i].Route && days[j].Place == days[i].Place {
			j++
		}
		all = append(all, spentSeries{days[i].Service, days[i].Route, days[i].Place, days[i:j]})
		i = j
	}
	return all
}

// addGrown says of the shrinking margins among the rows what grew. keys are those of the rows.
func (s *Server) addGrown(ctx context.Context, w storage.Window, rows []marginRow, keys []uint64) error {
	index := map[[2]string]int{}
	var wanted []uint64
	var services []string
	for i := range rows {
		if t := rows[i].Trend; t != nil && t.Significant && t.Slope < 0 {
			index[[2]string{rows[i].Service, rows[i].Route}] = i
			wanted = append(wanted, keys[i])
			services = append(services, rows[i].Service)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	days, err := s.config.Store.SpentDays(ctx, w, services, wanted)
	if err != nil {
		return err
	}
	byRoute := map[[2]string][]spentSeries{}
	for _, series := range seriesOf(days) {
		route := [2]string{series.service, series.route}
		byRoute[route] = append(byRoute[route], series)
	}
	for route, series := range byRoute {
		if i, ok := index[route]; ok {
			rows[i].Trend.GrownStages = grownStages(series)
		}
	}
	return nil
}

// grownStages fits the mean spend of each place of one route, and the budget it was granted, and returns what takes significantly
// more each day, the most first. On a day without a call nothing was spent there.
func grownStages(series []spentSeries) []grownStage {
	whole := slices.IndexFunc(series, func(s spentSeries) bool { return s.place.Kind == "" })
	if whole < 0 {
		return []grownStage{}
	}
	var days []storage.SpentAt
	for _, d := range series[whole].days {
		if d.Seen >= trend.MinAnswered {
			days = append(days, d)
		}
	}
	type fitted struct {
		place storage.Place
		fit   *trend.Fit
	}
	var all []fitted
	var fits []*trend.Fit
	for _, s := range series {
		amounts := map[time.Time]float64{}
		for _, d := range s.days {
			amounts[d.At] = d.Amount
		}
		points := make([]trend.Point, len(days))
		for i, d := range days {
			points[i] = trend.Point{Day: d.At, Value: amounts[d.At] / d.Requests}
			if s.place.Kind == "" {
				points[i].Value *= -1 // a budget that shrinks takes from the margin
			}
		}
		if fit, ok := trend.Of(points); ok {
			all = append(all, fitted{s.place, &fit})
			fits = append(fits, &fit)
		}
	}
	trend.Correct(fits)
	all = slices.DeleteFunc(all, func(f fitted) bool { return !f.fit.Significant || f.fit.Slope <= 0 })
	slices.SortFunc(all, func(a, b fitted) int {
		return cmp.Or(cmp.Compare(b.fit.Slope, a.fit.Slope), cmp.Compare(a.place.Kind, b.place.Kind), cmp.Compare(a.place.Stage, b.place.Stage), cmp.Compare(a.place.Peer, b.place.Peer))
	})
	sum := 0.0
	for _, f := range all {
		sum += f.fit.Slope
	}
	grown := []grownStage{}
	for _, f := range all {
		share, p := f.fit.Slope/sum, f.fit.P
		grown = append(grown, grownStage{
			Part: partName(f.place.Kind), Stage: f.place.Stage, Peer: f.place.Peer, PerDay: secondsFrom(f.fit.Slope), P: *rounded(&p), Share: *rounded(&share),
		})
	}
	return grown
}

// partName is the name that a kind of debit has for readers; no kind is the budget.
func partName(kind string) string {
	switch kind {
	case "":
		return trend.PartBudget
	case "hop":
		return "dependency"
	}
	return kind
}

// stageTrend is how a stage went by day: the share of its calls that were not run, and the mean spend of its requests.
type stageTrend struct {
	Days        int          `json:"days"`
	Degraded    float64      `json:"degraded_ratio_per_day"`
	DegradedP   float64      `json:"degraded_p_value"`
	Degrading   bool         `json:"degraded_significant"`
	Spend       span.Seconds `json:"spend_s_per_day"`
	SpendP      float64      `json:"spend_p_value"`
	Significant bool         `json:"spend_significant"`
}

// stageKey names a row of the stages report.
type stageKey struct{ service, route, stage, peer string }

// stageTrends fits every stage of the services up to the end of a window; all of them are judged together.
func (s *Server) stageTrends(ctx context.Context, w storage.Window, services []string) (map[stageKey]*stageTrend, error) {
	days, err := s.config.Store.SpentDays(ctx, w, services, nil)
	if err != nil {
		return nil, err
	}
	type fitted struct {
		key             stageKey
		days            int
		degraded, spend *trend.Fit
	}
	var all []fitted
	var degraded, spend []*trend.Fit
	for _, series := range seriesOf(days) {
		if series.place.Kind != "hop" {
			continue
		}
		var ratios, means []trend.Point
		for _, d := range series.days {
			if d.Seen >= trend.MinAnswered && d.Calls > 0 {
				ratios = append(ratios, trend.Point{Day: d.At, Value: d.Degraded / d.Calls})
				means = append(means, trend.Point{Day: d.At, Value: d.Amount / d.Requests})
			}
		}
		a, ok := trend.Of(ratios)
		if !ok {
			continue
		}
		b, _ := trend.Of(means)
		all = append(all, fitted{stageKey{series.service, series.route, series.place.Stage, series.place.Peer}, len(ratios), &a, &b})
		degraded, spend = append(degraded, &a), append(spend, &b)
	}
	trend.Correct(degraded)
	trend.Correct(spend)
	found := map[stageKey]*stageTrend{}
	for _, f := range all {
		found[f.key] = &stageTrend{
			Days: f.days, Degraded: *rounded(&f.degraded.Slope), DegradedP: *rounded(&f.degraded.P), Degrading: f.degraded.Significant,
			Spend: secondsFrom(f.spend.Slope), SpendP: *rounded(&f.spend.P), Significant: f.spend.Significant,
		}
	}
	return found, nil
}

// stageRow is a row of the stages report.
type stageRow struct {
	storage.StageRow
	// Trend needs days of judged accounts; nil until there are enough.
	Trend *stageTrend `json:"trend"`
}

// stages answers where chains degrade, with how each stage went over weeks. Its days do not know what filters of entries or of causes
// ask for: such rows have no trend.
func (s *Server) stages(ctx context.Context, q storage.ReportQuestion) ([]stageRow, error) {
	found, err := s.config.Store.Stages(ctx, q)
	if err != nil || len(found) == 0 {
		return []stageRow{}, err
	}
	rows, services := make([]stageRow, len(found)), map[string]bool{}
	for i := range found {
		rows[i].StageRow = found[i]
		services[found[i].Service] = true
	}
	if q.EntryFilter != (storage.EntryFilter{}) || q.Cause != "" {
		return rows, nil
	}
	trends, err := s.stageTrends(ctx, trendWindow(q.Window), slices.Sorted(maps.Keys(services)))
	if err != nil {
		return nil, err
	}
	// The called service may have another name than its caller recorded; a stage with one peer is known without it.
	anyPeer := map[stageKey]*stageTrend{}
	for key, t := range trends {
		key.peer = ""
		if _, several := anyPeer[key]; several {
			t = nil
		}
		anyPeer[key] = t
	}
	for i := range rows {
		key := stageKey{rows[i].Service, rows[i].Route, rows[i].Stage, rows[i].Peer}
		if rows[i].Trend = trends[key]; rows[i].Trend == nil {
			key.peer = ""
			rows[i].Trend = anyPeer[key]
		}
	}
	return rows, nil
}
