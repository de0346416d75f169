package storage

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"
)

// Window is a span of time, To exclusive.
type Window struct{ From, To time.Time }

func (w Window) parameters() map[string]any {
	return map[string]any{"from": w.From.UnixNano(), "to": w.To.UnixNano()}
}

// Shift moves the window.
func (w Window) Shift(by time.Duration) Window { return Window{From: w.From.Add(by), To: w.To.Add(by)} }

// MarginQuestion asks how much of their budgets routes had left. Empty texts match any; no keys means all routes.
type MarginQuestion struct {
	Window
	Service, Route string
	EntryFilter
	Keys        []uint64
	Limit, Skip int

	// cover and whole, if not nil, say that and where rollups answer: per bucket, and for the window as one.
	cover, whole *cover
}

// Approximate reports whether percentiles come from the buckets of rollups: at most 2.2 % off. Counts are exact always.
func (q MarginQuestion) Approximate() bool { return q.cover != nil }

//go:embed queries/margin_cover.sql
var marginCoverSQL string

// exactHops is up to how many hops a window is read from them alone.
const exactHops = 1_000_000

// PlanMargins decides where a question about routes is answered from, for answers with buckets of a width: from hops where they
// are few and all there, else from rollups and, where something arrived after their watermark, hops.
func (db *DB) PlanMargins(ctx context.Context, q MarginQuestion, width time.Duration) (MarginQuestion, error) {
	q.cover, q.whole = nil, nil
	if q.EntryFilter != (EntryFilter{}) {
		return q, nil // rollups do not know these
	}
	known, err := db.tallyState(ctx)
	if err != nil {
		return q, err
	}
	var crowded bool
	asking, asked := errgroup.WithContext(ctx)
	asking.Go(func() (err error) {
		crowded, err = db.isCrowded(asked, known, q.Window)
		return question("cover of margins", err)
	})
	state, ok, err := db.rollupState(asked, known, q.Window)
	if err := errors.Join(err, asking.Wait()); err != nil {
		return q, err
	}
	if ok && crowded {
		buckets, whole := state.plan(q.Window, width), state.plan(q.Window, 24*time.Hour)
		q.cover, q.whole = &buckets, &whole
	}
	return q, nil
}

// isCrowded reports whether a window has more hops than margins are read from, or not all of those that rollups know of.
func (db *DB) isCrowded(ctx context.Context, known *tallyState, w Window) (bool, error) {
	if known.within(w) > db.exact {
		return true, nil
	}
	var hops, entries, rolled uint64
	parameters := w.parameters()
	parameters["exact"] = db.exact
	err := db.ask(ctx, marginCoverSQL, func(rows driver.Rows) error { return rows.Scan(&hops, &entries, &rolled) }, parameters)
	return hops > db.exact || entries < rolled, err
}

//go:embed queries/margin_rolled.sql
var marginRolledSQL string

//go:embed queries/margin_part.sql
var marginPartSQL string

//go:embed queries/margin_edges.sql
var marginEdgesSQL string

// marginRows is the statement of what a cover is read from: buckets, and hops where no bucket is or what it has may have changed.
func (c cover) marginRows() string {
	parts := c.buckets(marginPartSQL, StepDays, StepHours, StepMinutes)
	if c.edged() || len(c.dirtyMinutes) > 0 {
		parts = append(parts, marginEdgesSQL)
	}
	return strings.Join(parts, "    UNION ALL\n")
}

// rolledMargin is one row of margin_rolled.sql.
type rolledMargin struct {
	RouteMargins
	at int64
}

// rolledMargins answers from a cover, per bucket of a width or, with 0, per route.
func (db *DB) rolledMargins(ctx context.Context, q MarginQuestion, from *cover, width time.Duration, limit, skip int) ([]rolledMargin, error) {
	parameters := from.parameters()
	for name, value := range q.parameters() {
		if _, planned := parameters[name]; !planned {
			parameters[name] = value
		}
	}
	parameters["bucket"], parameters["limit"], parameters["skip"] = int64(width), limit, skip
	var answer []rolledMargin
	err := db.ask(ctx, strings.Replace(marginRolledSQL, "@rows", from.marginRows(), 1), func(rows driver.Rows) error {
		var r rolledMargin
		var found marginColumns
		var budget int64
		var budgets uint64
		if err := rows.Scan(&r.Service, &r.Route, &r.Key, &r.at, &r.Requests, &r.Seen, &r.WithBudget, &r.Answered, &r.Late, &r.Exhausted,
			&found.count, &found.margins, &found.used, &found.usable, &budget, &budgets); err != nil {
			return err
		}
		found.fill(&r.Margins)
		if budgets > 0 {
			r.BudgetP50 = nanoseconds(budget)
		}
		answer = append(answer, r)
		return nil
	}, parameters)
	return answer, question("margins from rollups", err)
}

// Margins are the requests of one route in a window or bucket; sampled ones count as many as they stand for, Seen counts them
// themselves. Percentiles cover answered requests with a budget only and
// are nil without any.
type Margins struct {
	Requests, Seen, WithBudget, Answered, Late, Exhausted uint64

	P05, P50, P95 *time.Duration
	// UsedP50 is the median of spent ÷ received.
	UsedP50 *float64
}

// MissedRatio is the share of requests with a budget that were late or exhausted, nil without any.
func (m Margins) MissedRatio() *float64 {
	if m.WithBudget == 0 {
		return nil
	}
	ratio := float64(m.Late+m.Exhausted) / float64(m.WithBudget)
	return &ratio
}

// RouteMargins are the margins of one route over a window.
type RouteMargins struct {
	Service, Route string
	// Key stands for the route in MarginQuestion.Keys.
	Key uint64
	Margins
	BudgetP50 *time.Duration
}

//go:embed queries/margin.sql
var marginSQL string

// Margins answers with the routes, the least margin first.
func (db *DB) Margins(ctx context.Context, q MarginQuestion) ([]RouteMargins, error) {
	var answer []RouteMargins
	if q.cover != nil {
		rolled, err := db.rolledMargins(ctx, q, q.whole, 0, q.Limit, q.Skip)
		for _, r := range rolled {
			answer = append(answer, r.RouteMargins)
		}
		return answer, err
	}
	parameters := q.parameters()
	parameters["limit"], parameters["skip"] = q.Limit, q.Skip
	err := db.ask(ctx, marginSQL, func(rows driver.Rows) error {
		var r RouteMargins
		var found marginColumns
		var budget int64
		var budgets uint64
		if err := rows.Scan(&r.Service, &r.Route, &r.Key, &r.Requests, &r.Seen, &r.WithBudget, &r.Answered, &r.Late, &r.Exhausted,
			&found.count, &found.margins, &found.used, &found.usable, &budget, &budgets); err != nil {
			return err
		}
		found.fill(&r.Margins)
		if budgets > 0 {
			r.BudgetP50 = nanoseconds(budget)
		}
		answer = append(answer, r)
		return nil
	}, parameters)
	return answer, question("margins of routes", err)
}

// MarginBucket is one bucket of one route.
type MarginBucket struct {
	Key uint64
	At  time.Time
	Margins
}

//go:embed queries/margin_buckets.sql
var marginBucketsSQL string

// maxBuckets is more than the buckets of the longest list of routes: 1,000 routes of 60 and an incomplete one at each end.
const maxBuckets = 62_000

// MarginBuckets answers with the buckets that have requests of the routes in Keys, each route's oldest first.
func (db *DB) MarginBuckets(ctx context.Context, q MarginQuestion, width time.Duration) ([]MarginBucket, error) {
	var answer []MarginBucket
	if q.cover != nil {
		rolled, err := db.rolledMargins(ctx, q, q.cover, width, maxBuckets, 0)
		for _, r := range rolled {
			answer = append(answer, MarginBucket{Key: r.Key, At: time.Unix(0, r.at).UTC(), Margins: r.Margins})
		}
		return answer, err
	}
	parameters := q.parameters()
	parameters["limit"], parameters["bucket"] = maxBuckets, int64(width)
	err := db.ask(ctx, marginBucketsSQL, func(rows driver.Rows) error {
		var b MarginBucket
		var found marginColumns
		var at int64
		if err := rows.Scan(&b.Key, &at, &b.Requests, &b.Seen, &b.WithBudget, &b.Answered, &b.Late, &b.Exhausted,
			&found.count, &found.margins, &found.used, &found.usable); err != nil {
			return err
		}
		b.At = time.Unix(0, at).UTC()
		found.fill(&b.Margins)
		answer = append(answer, b)
		return nil
	}, parameters)
	return answer, question("margins over time", err)
}

func (q MarginQuestion) parameters() map[string]any {
	parameters := q.Window.parameters()
	q.EntryFilter.add(parameters)
	parameters["service"], parameters["route"] = q.Service, q.Route
	parameters["keys"] = q.Keys
	if q.Keys == nil {
		parameters["keys"] = []uint64{}
	}
	return parameters
}

// marginColumns are the columns that mean nothing without a count.
type marginColumns struct {
	count   uint64 // answered requests with a margin
	margins []int64
	used    float64
	usable  uint64 // of these, with a budget above zero
}

func (c marginColumns) fill(m *Margins) {
	if c.count > 0 && len(c.margins) == 3 {
		m.P05, m.P50, m.P95 = nanoseconds(c.margins[0]), nanoseconds(c.margins[1]), nanoseconds(c.margins[2])
	}
	if c.usable > 0 {
		m.UsedP50 = &c.used
	}
}

func nanoseconds(n int64) *time.Duration {
	d := time.Duration(n)
	return &d
}
