package storage

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"strconv"

	"github.com/laxity-dev/laxity/internal/span"
)

// AdviceQuestion asks what dependencies and routes need.
type AdviceQuestion struct {
	ReportQuestion
	// Rate is the accepted share of false timeouts, between 0 and 1.
	Rate float64
}

func (q AdviceQuestion) parameters() map[string]any {
	parameters := q.ReportQuestion.parameters()
	parameters["rate"] = q.Rate
	return parameters
}

// advised answers from tallies or from hops, as planned. The statements have the same columns.
func advised[Row any](ctx context.Context, db *DB, name, hops string, q AdviceQuestion, columns func(*Row) []any) ([]Row, error) {
	var err error
	if q.ReportQuestion, err = db.PlanReport(ctx, q.ReportQuestion); err != nil {
		return nil, err
	}
	if q.tally == nil {
		return report(ctx, db, name, hops, q, columns)
	}
	return tallied(ctx, db, name, q.tally, q.parameters(), columns)
}

// minAdvised is from how many calls advice is given, as the sdk's own estimator wants them.
const minAdvised = 100

// Terms are the bounds of a dependency as a policy file holds them; nil does not bound.
type Terms struct {
	Cap       *span.Seconds `json:"cap_s"`
	Observed  *span.Seconds `json:"observed_limit_s"`
	Reserve   *span.Seconds `json:"reserve_s"`
	MinUseful *span.Seconds `json:"min_useful_s"`
}

// TermReasons say why each term is what it is.
type TermReasons struct {
	Cap       string `json:"cap"`
	Observed  string `json:"observed_limit"`
	Reserve   string `json:"reserve"`
	MinUseful string `json:"min_useful"`
}

// AdviceRow is what the calls of one dependency need. Current holds the medians of what they recorded.
type AdviceRow struct {
	Service string `json:"service"`
	Stage   string `json:"stage"`
	Peer    string `json:"peer"`
	Calls   uint64 `json:"calls"`
	// Seen counts the spans themselves, Cut those that time ended.
	Seen       uint64        `json:"seen"`
	Cut        uint64        `json:"cut"`
	LatencyP50 *span.Seconds `json:"latency_p50_s"`
	Tail       *span.Seconds `json:"tail_s"`
	// Enough calls for advice; without it Advised is empty.
	Enough  bool        `json:"enough"`
	Advised Terms       `json:"advised"`
	Reasons TermReasons `json:"reasons"`
	Current Terms       `json:"current"`
}

// dependencyNeeds is one row of advice.sql.
type dependencyNeeds struct {
	AdviceRow
	p50, tail, longest, needed    int64
	measured                      uint64
	counts                        [4]uint64 // of cap, observed limit, reserve, smallest useful
	cap, observed, reserve, floor int64
}

//go:embed queries/advice.sql
var adviceSQL string

// Advice answers what the calls of dependencies need, the busiest first.
func (db *DB) Advice(ctx context.Context, q AdviceQuestion) ([]AdviceRow, error) {
	rows, err := advised(ctx, db, "advice", adviceSQL, q, func(r *dependencyNeeds) []any {
		return []any{&r.Service, &r.Stage, &r.Peer, &r.Calls, &r.Seen, &r.Cut, &r.p50, &r.tail, &r.longest, &r.measured, &r.needed,
			&r.counts[0], &r.cap, &r.counts[1], &r.observed, &r.counts[2], &r.reserve, &r.counts[3], &r.floor}
	})
	answer := make([]AdviceRow, len(rows))
	for i := range rows {
		answer[i] = rows[i].advise(q.Rate)
	}
	return answer, err
}

// advise turns what calls need into terms with reasons.
func (n *dependencyNeeds) advise(rate float64) AdviceRow {
	row := n.AdviceRow
	row.LatencyP50, row.Tail = known(n.p50, n.Seen), known(n.tail, n.Seen)
	row.Current = Terms{
		Cap: known(n.cap, n.counts[0]), Observed: known(n.observed, n.counts[1]), Reserve: known(n.reserve, n.counts[2]),
		MinUseful: known(n.floor, n.counts[3]),
	}
	if row.Enough = n.Seen >= minAdvised; !row.Enough {
		few := fmt.Sprintf("too few calls: %d of the %d that advice needs", n.Seen, minAdvised)
		row.Reasons = TermReasons{few, few, few, few}
		return row
	}
	share := percentText(rate)
	limit := n.tail
	switch {
	case float64(n.Seen)*rate < 1:
		limit = 2 * n.longest
		row.Reasons.Observed = fmt.Sprintf("twice the longest of %d calls, which are too few to see what cuts %s of them", n.Seen, share)
	case float64(n.Cut) > float64(n.Seen)*rate:
		row.Reasons.Observed = fmt.Sprintf("%d of %d calls were cut, more than %s: those count as four times as long, and the limit leaves them that", n.Cut, n.Seen, share)
	default:
		row.Reasons.Observed = fmt.Sprintf("cuts %s of %d calls at most", share, n.Seen)
	}
	row.Advised.Observed = roundUp(limit)
	row.Advised.Cap = roundUp(2 * int64(*row.Advised.Observed))
	row.Reasons.Cap = "twice the observed limit: bounds calls where that is not enforced"
	row.Advised.MinUseful = roundUp(min(n.p50, limit))
	row.Reasons.MinUseful = "half of the calls need longer, so a start with less is hopeless"
	if n.measured >= minAdvised {
		row.Advised.Reserve = roundUp(n.needed)
		row.Reasons.Reserve = fmt.Sprintf("99 of 100 answers were out this long after the call; measured %d times", n.measured)
	} else {
		row.Reasons.Reserve = fmt.Sprintf("what follows the call was measured %d times; advice needs %d", n.measured, minAdvised)
	}
	return row
}

// roundUp rounds to two significant digits upwards, but to no less than 0.1 ms.
func roundUp(nanos int64) *span.Seconds {
	unit := int64(100_000)
	for nanos/unit >= 100 {
		unit *= 10
	}
	up := (max(nanos, 1) + unit - 1) / unit * unit
	s := span.Seconds(up)
	return &s
}

func percentText(rate float64) string {
	return strconv.FormatFloat(rate*100, 'g', 4, 64) + " %"
}

// RouteAdviceRow is the budget that one route would need.
type RouteAdviceRow struct {
	Service  string `json:"service"`
	Route    string `json:"route"`
	Requests uint64 `json:"requests"`
	// ExhaustedRatio is the share of requests that ran out of time.
	ExhaustedRatio *float64      `json:"exhausted_ratio"`
	BudgetP50      *span.Seconds `json:"budget_p50_s"`
	SpentP50       *span.Seconds `json:"spent_p50_s"`
	// Safe is the budget that all but the accepted share of requests would have been answered in; nil where it cannot be told.
	Safe   *span.Seconds `json:"safe_budget_s"`
	Reason string        `json:"reason"`
}

//go:embed queries/advice_routes.sql
var adviceRoutesSQL string

// SafeBudgets answers what budget each route would need, the busiest first.
func (db *DB) SafeBudgets(ctx context.Context, q AdviceQuestion) ([]RouteAdviceRow, error) {
	type found struct {
		RouteAdviceRow
		seen, ended, endedSeen, budgets uint64
		budget, spent, safe             int64
	}
	rows, err := advised(ctx, db, "advice_routes", adviceRoutesSQL, q, func(r *found) []any {
		return []any{&r.Service, &r.Route, &r.seen, &r.Requests, &r.ended, &r.endedSeen, &r.budgets, &r.budget, &r.spent, &r.safe}
	})
	answer := make([]RouteAdviceRow, len(rows))
	for i, r := range rows {
		answer[i] = r.RouteAdviceRow
		a := &answer[i]
		a.ExhaustedRatio, a.BudgetP50 = ratioOf(r.ended, r.Requests), known(r.budget, r.budgets)
		if r.spent != math.MaxInt64 {
			a.SpentP50 = known(r.spent, r.seen)
		}
		share := percentText(q.Rate)
		switch {
		case r.seen < minAdvised:
			a.Reason = fmt.Sprintf("too few requests: %d of the %d that advice needs", r.seen, minAdvised)
		case r.safe == math.MaxInt64:
			a.Reason = fmt.Sprintf("%d of %d requests ran out of time, more than %s: what they would have needed is not known", r.endedSeen, r.seen, share)
		case float64(r.seen)*q.Rate < 1:
			a.Reason = fmt.Sprintf("%d requests are too few to see what %s of them need; ask for a longer window or a higher rate", r.seen, share)
		default:
			a.Safe = roundUp(r.safe)
			a.Reason = fmt.Sprintf("all but %s of %d requests took no longer", share, r.seen)
		}
	}
	return answer, err
}
