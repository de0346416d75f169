package storage

import (
	"cmp"
	"context"
	_ "embed"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/laxity-dev/laxity/internal/trend"
)

// ComparisonQuestion asks how margins differ between two windows. Empty texts match any.
type ComparisonQuestion struct {
	Window
	Before                               Window
	Service, Route, Environment, Version string
}

// Bounds of a comparison: routes, and rows of what their margins were made of.
const (
	maxCompared = 10_000
	maxMakeups  = 500_000
)

func (q ComparisonQuestion) parameters(limit int) map[string]any {
	return map[string]any{
		"from": q.From.UnixNano(), "to": q.To.UnixNano(), "before": q.Before.From.UnixNano(), "until": q.Before.To.UnixNano(),
		"service": q.Service, "route": q.Route, "environment": q.Environment, "version": q.Version, "limit": limit,
	}
}

// RouteComparison is one route in two windows, and what its margin was made of in each, by kind of traffic.
type RouteComparison struct {
	Service, Route string
	Before, After  MarginSample
	Makeup         [2]map[string]trend.Makeup // before and after, in nanoseconds
	// Approximate: percentiles come from the buckets of tallies.
	Approximate bool
}

// MarginSample is what the answers of one route had left in one window.
type MarginSample struct {
	WithBudget, Missed uint64
	// Seen counts the answers with a margin themselves, not those that they stand for.
	Seen                uint64
	P05, P50, BudgetP50 *time.Duration
	// Variance of the margin in square seconds; NaN with fewer than two.
	Variance float64
}

// MissedRatio is the share of requests with a budget that were late or exhausted, nil without any.
func (s MarginSample) MissedRatio() *float64 {
	return Margins{WithBudget: s.WithBudget, Late: s.Missed}.MissedRatio()
}

//go:embed queries/report_comparison.sql
var comparisonSQL string

//go:embed queries/report_attribution.sql
var attributionSQL string

// Compare answers with the routes that had budgets in one of the windows, the busiest first.
func (db *DB) Compare(ctx context.Context, q ComparisonQuestion) ([]RouteComparison, error) {
	if q.Environment == "" && q.Version == "" { // tallies do not know these
		later, before, err := db.planComparison(ctx, q)
		if err != nil {
			return nil, err
		}
		if later != nil && before != nil {
			return db.compareTallied(ctx, q, later, before)
		}
	}
	var answer []RouteComparison
	index := map[[2]string]int{}
	err := db.ask(ctx, comparisonSQL, func(rows driver.Rows) error {
		var r RouteComparison
		columns := []any{&r.Service, &r.Route}
		var margins [2][3]int64
		for i, s := range []*MarginSample{&r.After, &r.Before} {
			columns = append(columns, &s.WithBudget, &s.Seen, &s.Missed, &margins[i][0], &margins[i][1], &margins[i][2], &s.Variance)
		}
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		for i, s := range []*MarginSample{&r.After, &r.Before} {
			if s.Seen > 0 {
				s.P05, s.P50 = nanoseconds(margins[i][0]), nanoseconds(margins[i][1])
			}
			if s.WithBudget > 0 {
				s.BudgetP50 = nanoseconds(margins[i][2])
			}
			s.Variance = varianceOf(s.Seen, s.Variance)
		}
		r.Makeup = [2]map[string]trend.Makeup{{}, {}}
		index[[2]string{r.Service, r.Route}] = len(answer)
		answer = append(answer, r)
		return nil
	}, q.parameters(maxCompared))
	if err != nil {
		return nil, question("comparison", err)
	}
	err = db.ask(ctx, attributionSQL, func(rows driver.Rows) error {
		var service, route, channel, class, region string
		var later bool
		m := trend.Makeup{Spent: map[string]float64{}}
		var places []string
		var amounts []float64
		if err := rows.Scan(&service, &route, &later, &channel, &class, &region, &m.Requests, &m.Margin, &m.Budget, &places, &amounts); err != nil {
			return err
		}
		for i, place := range places {
			m.Spent[place] = amounts[i]
		}
		if i, ok := index[[2]string{service, route}]; ok {
			window := 0
			if later {
				window = 1
			}
			answer[i].Makeup[window][strings.Join([]string{channel, class, region}, "\x00")] = m
		}
		return nil
	}, q.parameters(maxMakeups))
	return answer, question("makeup of margins", err)
}

// planComparison plans both windows.
func (db *DB) planComparison(ctx context.Context, q ComparisonQuestion) (later, before *tallyPlan, err error) {
	wide := Window{From: earliest(q.From, q.Before.From), To: q.To}
	if q.Before.To.After(q.To) {
		wide.To = q.Before.To
	}
	if later, err = db.planTally(ctx, q.Window, wide, asOne); err == nil && later != nil {
		before = later.over(q.Before)
	}
	return later, before, err
}

// spending is one row of tally_spending.sql.
type spending struct {
	service, route, traffic string
	MarginSample
	margins                           [3]int64 // p05, p50, and the median of the budget
	requests, margin, budget, squares float64
	spent                             map[string]float64
}

// wholeRoute is the kind of traffic of the row that tells of all.
const wholeRoute = "*"

// compareTallied compares two windows by the tallies of each.
func (db *DB) compareTallied(ctx context.Context, q ComparisonQuestion, later, before *tallyPlan) ([]RouteComparison, error) {
	var found [2][]spending
	asking, ctx := errgroup.WithContext(ctx)
	for window, plan := range []*tallyPlan{before, later} {
		asking.Go(func() (err error) {
			found[window], err = tallied(ctx, db, "spending", plan, q.parameters(maxMakeups), func(r *spending) []any {
				return []any{&r.service, &r.route, &r.traffic, &r.WithBudget, &r.Seen, &r.Missed, &r.margins[0], &r.margins[1], &r.margins[2], &r.requests, &r.margin,
					&r.budget, &r.squares, &r.spent}
			})
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		return nil, err
	}
	var answer []RouteComparison
	index := map[[2]string]int{}
	for window, rows := range found {
		for i := range rows {
			r := &rows[i]
			at, ok := index[[2]string{r.service, r.route}]
			if !ok {
				at = len(answer)
				index[[2]string{r.service, r.route}] = at
				answer = append(answer, RouteComparison{Service: r.service, Route: r.route, Approximate: true, Makeup: [2]map[string]trend.Makeup{{}, {}}})
			}
			switch {
			case r.traffic == wholeRoute:
				*[]*MarginSample{&answer[at].Before, &answer[at].After}[window] = r.sample()
			case r.Seen > 0:
				answer[at].Makeup[window][r.traffic] = trend.Makeup{Requests: r.requests, Margin: r.margin, Budget: r.budget, Spent: r.spent}
			}
		}
	}
	slices.SortFunc(answer, func(a, b RouteComparison) int {
		return cmp.Or(cmp.Compare(b.Before.WithBudget+b.After.WithBudget, a.Before.WithBudget+a.After.WithBudget), cmp.Compare(a.Service, b.Service),
			cmp.Compare(a.Route, b.Route))
	})
	return answer[:min(maxCompared, len(answer))], nil
}

func (r *spending) sample() MarginSample {
	s := r.MarginSample
	if s.Seen > 0 {
		s.P05, s.P50 = nanoseconds(r.margins[0]), nanoseconds(r.margins[1])
	}
	if s.WithBudget > 0 {
		s.BudgetP50 = nanoseconds(r.margins[2])
	}
	sum, n := r.margin/1e9, float64(s.Seen)
	s.Variance = varianceOf(s.Seen, (r.squares-sum*sum/r.requests)/r.requests*n/(n-1))
	return s
}

// varianceOf is what sums of squares gave for some margins: of one they tell nothing, of equal ones they may differ by less than nothing.
func varianceOf(seen uint64, sums float64) float64 {
	if seen < 2 {
		return math.NaN()
	}
	return max(0, sums)
}

// PlaceOf reads the place of a part of a change; kind is the name of what is no place.
func PlaceOf(part string) Place {
	kind, rest, _ := strings.Cut(part, "\x00")
	stage, peer, _ := strings.Cut(rest, "\x00")
	return Place{Kind: kind, Stage: stage, Peer: peer}
}

// MeanMargin returns the mean margin of a window of the comparison in seconds, nil without answers.
func (r RouteComparison) MeanMargin(window int) *float64 {
	var requests, margin float64
	for _, m := range r.Makeup[window] {
		requests, margin = requests+m.Requests, margin+m.Margin
	}
	if requests <= 0 {
		return nil
	}
	mean := margin / requests / 1e9
	return &mean
}

// ChangeError is the standard error of the change of the mean margin in seconds, taking requests as independent; nil where it
// cannot be told.
func (r RouteComparison) ChangeError() *float64 {
	if r.Before.Seen < 2 || r.After.Seen < 2 {
		return nil
	}
	e := math.Sqrt(r.Before.Variance/float64(r.Before.Seen) + r.After.Variance/float64(r.After.Seen))
	if math.IsNaN(e) || math.IsInf(e, 0) {
		return nil
	}
	return &e
}
