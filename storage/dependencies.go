package storage

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
)

// Quadrant tells a slow dependency from a caller that hands down too little.
type Quadrant string

// The quadrants.
const (
	QuadrantHealthy        Quadrant = "healthy"
	QuadrantStingyCaller   Quadrant = "stingy_caller"
	QuadrantSlowDependency Quadrant = "slow_dependency"
	QuadrantBoth           Quadrant = "both"
)

// Who is blamed: a dependency from a slowdown of SlowFrom, a caller below a generosity of StingyBelow; neither without
// MinBaseline calls in the baseline to compare with and MinCalls in the window.
const (
	SlowFrom    = 1.5
	StingyBelow = 1
	MinBaseline = 20
	MinCalls    = 10
)

func quadrantOf(generosity, slowdown *float64) Quadrant {
	stingy, slow := generosity != nil && *generosity < StingyBelow, slowdown != nil && *slowdown >= SlowFrom
	switch {
	case stingy && slow:
		return QuadrantBoth
	case stingy:
		return QuadrantStingyCaller
	case slow:
		return QuadrantSlowDependency
	}
	return QuadrantHealthy
}

// Rules are the findings over many traces that stand for a quadrant.
func (q Quadrant) Rules() []verdict.Rule {
	switch q {
	case QuadrantSlowDependency:
		return []verdict.Rule{verdict.RuleSlowDependency}
	case QuadrantStingyCaller:
		return []verdict.Rule{verdict.RuleUnrealisticBudget}
	case QuadrantBoth:
		return []verdict.Rule{verdict.RuleSlowDependency, verdict.RuleUnrealisticBudget}
	}
	return []verdict.Rule{}
}

// Connections are calls over one kind of connection.
type Connections struct {
	Calls uint64        `json:"calls"`
	P50   *span.Seconds `json:"latency_p50_s"`
	P99   *span.Seconds `json:"latency_p99_s"`
}

// DependencyRow is one dependency of one caller.
type DependencyRow struct {
	Service string `json:"service"`
	Peer    string `json:"peer"`
	Stage   string `json:"stage"`
	Calls   uint64 `json:"calls"`
	// Cut counts calls that were cancelled or timed out.
	Cut           uint64         `json:"cut"`
	BaselineCalls uint64         `json:"baseline_calls"`
	AllowanceP50  *span.Seconds  `json:"allowance_p50_s"`
	UsualP99      *span.Seconds  `json:"usual_p99_s"`
	LatencyP50    *span.Seconds  `json:"latency_p50_s"`
	BaselineP50   *span.Seconds  `json:"baseline_p50_s"`
	Generosity    *float64       `json:"generosity"`
	Slowdown      *float64       `json:"slowdown"`
	Quadrant      Quadrant       `json:"quadrant"`
	Rules         []verdict.Rule `json:"rules"`
	BetweenP50    *span.Seconds  `json:"between_p50_s"`
	Fresh         Connections    `json:"fresh"`
	Reused        Connections    `json:"reused"`
	Examples      []string       `json:"example_trace_ids"`
	lastSeen      time.Time
}

//go:embed queries/report_dependencies.sql
var dependenciesSQL string

// foundDependency is a row with what means nothing without a count.
type foundDependency struct {
	DependencyRow
	seen, allowed, answered                                                        uint64
	allowance, usual, latency, base, between, fresh, freshTail, reused, reusedTail int64
}

// Dependencies answers whether a dependency is slow or its caller stingy.
func (db *DB) Dependencies(ctx context.Context, q ReportQuestion) ([]DependencyRow, error) {
	q, err := db.PlanReport(ctx, q)
	if err != nil {
		return nil, err
	}
	var rows []foundDependency
	if q.tally != nil {
		rows, err = db.talliedDependencies(ctx, q)
	} else {
		rows, err = report(ctx, db, "dependencies", dependenciesSQL, q, func(r *foundDependency) []any {
			return []any{&r.Service, &r.Peer, &r.Stage, &r.Calls, &r.seen, &r.Cut, &r.BaselineCalls, &r.allowed, &r.allowance, &r.usual, &r.latency,
				&r.base, &r.answered, &r.between, &r.Fresh.Calls, &r.fresh, &r.freshTail, &r.Reused.Calls, &r.reused, &r.reusedTail, &r.Examples, instant{&r.lastSeen}}
		})
	}
	answer := make([]DependencyRow, len(rows))
	for i := range rows {
		answer[i] = rows[i].judge()
	}
	return answer, err
}

// talliedDependencies asks tallies for the window and for its baseline.
func (db *DB) talliedDependencies(ctx context.Context, q ReportQuestion) ([]foundDependency, error) {
	parameters := q.parameters()
	parameters["limit"] = maxDependencies * classes
	usual := map[[3]string]measuredCalls{}
	asking, asked := errgroup.WithContext(ctx)
	asking.Go(func() error {
		earlier, err := tallied(asked, db, "usual", q.tally.over(q.Baseline()), parameters, func(r *measuredCalls) []any {
			return []any{&r.place[0], &r.place[1], &r.place[2], &r.times, (*map[int16]uint64)(&r.slots)}
		})
		for _, r := range earlier {
			usual[r.place] = r
		}
		return err
	})
	measured, err := tallied(asked, db, "dependencies", q.tally, parameters, func(r *measuredCalls) []any {
		return []any{&r.place[0], &r.place[1], &r.place[2], &r.class, &r.represents, &r.times, (*map[int16]uint64)(&r.slots), instant{&r.latest}, &r.order, &r.shown}
	})
	if err := errors.Join(err, asking.Wait()); err != nil {
		return nil, err
	}
	rows := assemble(measured)
	for i := range rows {
		r := &rows[i]
		before := usual[[3]string{r.Service, r.Peer, r.Stage}]
		r.BaselineCalls, r.usual, r.base = before.times, before.slots.quantile(0.99), before.slots.quantile(0.5)
	}
	slices.SortFunc(rows, func(a, b foundDependency) int {
		return cmp.Or(cmp.Compare(b.prominence(), a.prominence()), cmp.Compare(b.seen, a.seen), cmp.Compare(a.Service, b.Service),
			cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Stage, b.Stage))
	})
	return rows[min(q.Skip, len(rows)):min(q.Skip+q.Limit, len(rows))], nil
}

// measuredCalls is a row of tally_dependencies.sql.
type measuredCalls struct {
	place             [3]string // caller, peer, stage
	class             string
	represents, times uint64
	slots             spread
	latest            time.Time
	order             []float64
	shown             []string
}

// classes is how many rows there are of a dependency, at most.
const classes = 6

// assemble makes dependencies of what was measured of their calls; a place without calls is none.
func assemble(measured []measuredCalls) []foundDependency {
	byPlace := map[[3]string]map[string]measuredCalls{}
	for _, m := range measured {
		if byPlace[m.place] == nil {
			byPlace[m.place] = make(map[string]measuredCalls, classes)
		}
		byPlace[m.place][m.class] = m
	}
	answer := make([]foundDependency, 0, len(byPlace))
	for place, of := range byPlace {
		whole, cut, allowance, between, fresh, reused := of["whole"], of["cut"], of["allowance"], of["between"], of["fresh"], of["reused"]
		if whole.times+cut.times == 0 {
			continue
		}
		r := foundDependency{
			seen: whole.times + cut.times, allowed: allowance.times, answered: between.times,
			allowance: allowance.slots.quantile(0.5), latency: whole.slots.plus(cut.slots).quantile(0.5), between: between.slots.quantile(0.5),
			fresh: fresh.slots.quantile(0.5), freshTail: fresh.slots.quantile(0.99), reused: reused.slots.quantile(0.5), reusedTail: reused.slots.quantile(0.99),
		}
		r.Service, r.Peer, r.Stage = place[0], place[1], place[2]
		r.Calls, r.Cut = whole.represents+cut.represents, cut.represents
		r.Fresh.Calls, r.Reused.Calls = fresh.represents, reused.represents
		r.Examples, r.lastSeen = examples(whole, cut), whole.latest
		if r.lastSeen.Before(cut.latest) {
			r.lastSeen = cut.latest
		}
		answer = append(answer, r)
	}
	return answer
}

// examples are three traces of calls, the longest first.
func examples(of ...measuredCalls) []string {
	type shown struct {
		order float64
		trace string
	}
	var all []shown
	for _, m := range of {
		for i, trace := range m.shown {
			all = append(all, shown{m.order[i], trace})
		}
	}
	slices.SortFunc(all, func(a, b shown) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.trace, b.trace)) })
	first := []string{}
	for _, s := range all {
		if len(first) < 3 && !slices.Contains(first, s.trace) {
			first = append(first, s.trace)
		}
	}
	return first
}

// prominence is the larger of how much slower and how much stingier than usual a dependency is.
func (r *foundDependency) prominence() float64 {
	slow, stingy := 0.0, 0.0
	if r.base > 0 {
		slow = float64(r.latency) / float64(r.base)
	}
	if r.allowance > 0 && r.BaselineCalls > 0 {
		stingy = float64(r.usual) / float64(r.allowance)
	}
	return max(slow, stingy)
}

// judge says what a dependency shows.
func (r *foundDependency) judge() DependencyRow {
	a := r.DependencyRow
	a.AllowanceP50, a.LatencyP50, a.BetweenP50 = known(r.allowance, r.allowed), known(r.latency, r.seen), known(r.between, r.answered)
	a.UsualP99, a.BaselineP50 = known(r.usual, r.BaselineCalls), known(r.base, r.BaselineCalls)
	a.Fresh.P50, a.Fresh.P99 = known(r.fresh, r.Fresh.Calls), known(r.freshTail, r.Fresh.Calls)
	a.Reused.P50, a.Reused.P99 = known(r.reused, r.Reused.Calls), known(r.reusedTail, r.Reused.Calls)
	a.Generosity, a.Slowdown = quotient(a.AllowanceP50, a.UsualP99), quotient(a.LatencyP50, a.BaselineP50)
	a.Quadrant = QuadrantHealthy
	if r.BaselineCalls >= MinBaseline && r.seen >= MinCalls {
		a.Quadrant = quadrantOf(a.Generosity, a.Slowdown)
	}
	a.Rules = a.Quadrant.Rules()
	return a
}

// quotient is nil where a part is not known or nothing can be divided by.
func quotient(part, whole *span.Seconds) *float64 {
	if part == nil || whole == nil || *whole <= 0 {
		return nil
	}
	r := rounded(float64(*part) / float64(*whole))
	return &r
}

// maxDependencies bounds the dependencies that findings over many traces are looked for among.
const maxDependencies = 10_000

// Blamed answers with the dependencies that show a finding over many traces, or with all that show any for an empty rule.
func (db *DB) Blamed(ctx context.Context, q ReportQuestion, rule verdict.Rule) ([]DependencyRow, error) {
	q.Limit, q.Skip = maxDependencies, 0
	rows, err := db.Dependencies(ctx, q)
	return slices.DeleteFunc(rows, func(r DependencyRow) bool {
		return len(r.Rules) == 0 || rule != "" && !slices.Contains(r.Rules, rule)
	}), err
}

// Place is the calls that show a finding: longer than a slow dependency's usual, or allowed less than they usually need.
func (r DependencyRow) Place(rule verdict.Rule) CallPlace {
	place := CallPlace{Service: r.Service, Peer: r.Peer, Stage: r.Stage, Short: math.MaxInt64}
	switch {
	case rule == verdict.RuleSlowDependency && r.BaselineP50 != nil:
		place.Long = int64(SlowFrom * float64(*r.BaselineP50))
	case rule == verdict.RuleUnrealisticBudget && r.UsualP99 != nil:
		place.Short = int64(*r.UsualP99)
	}
	return place
}

// findings tells what a dependency shows as rows of the findings report. The amount is how much longer its calls took than usual, or
// how much less than needed they were allowed, by the medians.
func (r DependencyRow) findings(rule verdict.Rule) []FindingRow {
	var rows []FindingRow
	for _, shown := range r.Rules {
		if rule != "" && shown != rule {
			continue
		}
		excess := span.Seconds(0)
		switch {
		case shown == verdict.RuleSlowDependency && r.LatencyP50 != nil && r.BaselineP50 != nil:
			excess = *r.LatencyP50 - *r.BaselineP50
		case shown == verdict.RuleUnrealisticBudget && r.UsualP99 != nil && r.AllowanceP50 != nil:
			excess = *r.UsualP99 - *r.AllowanceP50
		}
		rows = append(rows, FindingRow{
			Rule: string(shown), Severity: string(shown.Severity()), Service: r.Service, Stage: r.Stage, Peer: r.Peer, Spans: r.Calls, Traces: r.Calls,
			Amount: excess * span.Seconds(r.Calls), LastSeen: r.lastSeen, Examples: r.Examples,
		})
	}
	return rows
}
