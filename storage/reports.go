package storage

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
)

// ReportQuestion asks for one page of a report over many traces. Empty texts match any; a report uses those that its rows
// have. Rows carry the names that answers have in JSON.
type ReportQuestion struct {
	Window
	Service, Route, Stage, Peer, Cause, Phase, Rule string
	EntryFilter
	// Not leaves out what has one of these: services, routes, stages, peers, causes, phases, rules.
	Not         Exclusions
	Limit, Skip int

	// tally, if not nil, says that and where tallies answer; see PlanReport.
	tally   *tallyPlan
	planned bool
}

// EntryFilter narrows a report by facts of entries. Empty texts and nil match any. In reports about hops, Environment and Version
// are those of the hop.
type EntryFilter struct {
	Environment, Version, Outcome string
	Late                          *bool
	MarginLess, MarginMore        *time.Duration
}

func (f EntryFilter) add(parameters map[string]any) {
	parameters["environment"], parameters["version"], parameters["outcome"] = f.Environment, f.Version, f.Outcome
	parameters["late"], parameters["margin_lt"], parameters["margin_gt"] = flag(f.Late), length(f.MarginLess), length(f.MarginMore)
}

// baseline is how far before a window a dependency's usual behaviour is taken from.
const baseline = 7 * 24 * time.Hour

// Baseline is the time before the window that it is compared with.
func (q ReportQuestion) Baseline() Window {
	return Window{From: time.Unix(0, max(q.From.Add(-baseline).UnixNano(), 0)).UTC(), To: q.From}
}

func (q ReportQuestion) parameters() map[string]any {
	parameters := map[string]any{
		"from": q.From.UnixNano(), "to": q.To.UnixNano(), "before": q.Baseline().From.UnixNano(),
		"service": q.Service, "route": q.Route, "stage": q.Stage, "peer": q.Peer, "cause": q.Cause, "phase": q.Phase, "rule": q.Rule,
		"limit": q.Limit, "skip": q.Skip,
	}
	q.EntryFilter.add(parameters)
	q.Not.add(parameters)
	return parameters
}

// reported answers a report from tallies or from hops, as planned. The statements have the same columns.
func reported[Row any](ctx context.Context, db *DB, name, hops string, q ReportQuestion, columns func(*Row) []any) ([]Row, error) {
	q, err := db.PlanReport(ctx, q)
	if err != nil {
		return nil, err
	}
	if q.tally == nil {
		return report(ctx, db, name, hops, q, columns)
	}
	return tallied(ctx, db, name, q.tally, q.parameters(), columns)
}

// report asks for a report from hops, verdicts or accounts.
func report[Row any](ctx context.Context, db *DB, name, sql string, q interface{ parameters() map[string]any }, columns func(*Row) []any) ([]Row, error) {
	return rowsOf(ctx, db, "report "+name, sql, q.parameters(), columns)
}

// rowsOf asks for rows, each scanned into a new one.
func rowsOf[Row any](ctx context.Context, db *DB, noun, sql string, parameters map[string]any, columns func(*Row) []any) ([]Row, error) {
	answer := []Row{}
	err := db.ask(ctx, sql, func(rows driver.Rows) error {
		var row Row
		if err := rows.Scan(columns(&row)...); err != nil {
			return err
		}
		answer = append(answer, row)
		return nil
	}, parameters)
	return answer, question(noun, err)
}

// optionalSeconds scans nanoseconds, NULL as nil.
type optionalSeconds struct{ to **span.Seconds }

func (o optionalSeconds) Scan(value any) error {
	*o.to = nil
	switch v := value.(type) {
	case nil:
	case int64:
		s := span.Seconds(v)
		*o.to = &s
	default:
		return fmt.Errorf("nanoseconds come as %T", value)
	}
	return nil
}

// optionalRatio scans a number and keeps six decimals, NULL as nil.
type optionalRatio struct{ to **float64 }

func (o optionalRatio) Scan(value any) error {
	*o.to = nil
	switch v := value.(type) {
	case nil:
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		r := rounded(v)
		*o.to = &r
	default:
		return fmt.Errorf("a ratio comes as %T", value)
	}
	return nil
}

// rounded keeps six decimals.
func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// instant scans nanoseconds since 1970.
type instant struct{ to *time.Time }

func (i instant) Scan(value any) error {
	at, ok := value.(int64)
	if !ok {
		return fmt.Errorf("an instant comes as %T", value)
	}
	*i.to = time.Unix(0, at).UTC()
	return nil
}

// OrphanRow is work for nobody at one place.
type OrphanRow struct {
	Service string `json:"service"`
	Stage   string `json:"stage"`
	Peer    string `json:"peer"`
	Cause   string `json:"cause"`
	// Spans counts those with orphan work.
	Spans        uint64             `json:"spans"`
	Orphan       span.Seconds       `json:"orphan_s"`
	PostCancel   span.Seconds       `json:"post_cancel_s"`
	StillRunning uint64             `json:"still_running"`
	ShareOfBusy  *float64           `json:"share_of_busy"`
	Costs        map[string]float64 `json:"costs"`
	Examples     []string           `json:"example_trace_ids"`
}

//go:embed queries/report_orphans.sql
var orphansSQL string

// Orphans answers who works for nobody.
func (db *DB) Orphans(ctx context.Context, q ReportQuestion) ([]OrphanRow, error) {
	q, err := db.PlanReport(ctx, q)
	if err != nil {
		return nil, err
	}
	if q.tally == nil {
		return report(ctx, db, "orphans", orphansSQL, q, func(r *OrphanRow) []any {
			return append(r.columns(), optionalRatio{&r.ShareOfBusy})
		})
	}
	type busyRow struct {
		service string
		time    float64
	}
	var services []busyRow
	asking, ctx := errgroup.WithContext(ctx)
	asking.Go(func() (err error) {
		services, err = tallied(ctx, db, "busy", q.tally, q.parameters(), func(r *busyRow) []any { return []any{&r.service, &r.time} })
		return err
	})
	rows, err := tallied(ctx, db, "orphans", q.tally, q.parameters(), (*OrphanRow).columns)
	if err := errors.Join(err, asking.Wait()); err != nil {
		return nil, err
	}
	busy := map[string]float64{}
	for _, s := range services {
		busy[s.service] = s.time
	}
	for i, r := range rows {
		if time := busy[r.Service]; time > 0 {
			share := rounded(float64(r.Orphan) / time)
			rows[i].ShareOfBusy = &share
		}
	}
	return rows, nil
}

// columns are those of both statements, in their order.
func (r *OrphanRow) columns() []any {
	return []any{&r.Service, &r.Stage, &r.Peer, &r.Cause, &r.Spans, (*int64)(&r.Orphan), (*int64)(&r.PostCancel), &r.StillRunning, &r.Costs, &r.Examples}
}

// FindingRow is one rule at one place.
type FindingRow struct {
	Rule     string       `json:"rule"`
	Severity string       `json:"severity"`
	Service  string       `json:"service"`
	Stage    string       `json:"stage"`
	Peer     string       `json:"peer"`
	Spans    uint64       `json:"spans"`
	Traces   uint64       `json:"traces"`
	Amount   span.Seconds `json:"amount_s"`
	LastSeen time.Time    `json:"last_seen_at"`
	Examples []string     `json:"example_trace_ids"`
}

//go:embed queries/report_findings.sql
var findingsSQL string

// Findings answers which findings there were: those of single traces, and those of dependencies over many. A dependency has no
// route and no cause.
func (db *DB) Findings(ctx context.Context, q ReportQuestion) ([]FindingRow, error) {
	q, err := db.PlanReport(ctx, q)
	if err != nil {
		return nil, err
	}
	rule := verdict.Rule(q.Rule)
	var ofMany []FindingRow
	asking, ctx := errgroup.WithContext(ctx)
	if q.Route == "" && q.Cause == "" && (rule == "" || rule.OverMany()) {
		asking.Go(func() error {
			blamed, err := db.Blamed(ctx, q, rule)
			if err != nil && (rule != "" || !IsTooExpensive(err)) {
				return err
			}
			for _, d := range blamed {
				ofMany = append(ofMany, slices.DeleteFunc(d.findings(rule), func(r FindingRow) bool { return slices.Contains(q.Not.Rules, r.Rule) })...)
			}
			return nil
		})
	}
	rows, err := db.findingsOfTraces(ctx, q)
	if err := errors.Join(err, asking.Wait()); err != nil {
		return nil, err
	}
	rows = append(rows, ofMany...)
	slices.SortStableFunc(rows, func(a, b FindingRow) int {
		return cmp.Or(cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)), cmp.Compare(b.Traces, a.Traces), cmp.Compare(b.Amount, a.Amount),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Peer, b.Peer))
	})
	return rows[min(q.Skip, len(rows)):min(q.Skip+q.Limit, len(rows))], nil
}

// maxFindings bounds the places of findings that tallies tell of, which do not know how grave a rule is.
const maxFindings = 50_000

// findingsOfTraces answers with the findings of single traces, enough for the page that was asked for.
func (db *DB) findingsOfTraces(ctx context.Context, q ReportQuestion) ([]FindingRow, error) {
	q.Limit, q.Skip = q.Skip+q.Limit, 0
	// In tallies a trace counts at its first finding of a place, whose route or cause may be another than those of the rest.
	if q.tally == nil || q.Route != "" || q.Cause != "" || len(q.Not.Routes)+len(q.Not.Causes) > 0 {
		return report(ctx, db, "findings", findingsSQL, q, func(r *FindingRow) []any {
			return []any{&r.Rule, &r.Severity, &r.Service, &r.Stage, &r.Peer, &r.Spans, &r.Traces, (*int64)(&r.Amount), instant{&r.LastSeen}, &r.Examples}
		})
	}
	q.Limit = maxFindings
	rows, err := tallied(ctx, db, "findings", q.tally, q.parameters(), func(r *FindingRow) []any {
		return []any{&r.Rule, &r.Service, &r.Stage, &r.Peer, &r.Spans, &r.Traces, (*int64)(&r.Amount), instant{&r.LastSeen}, &r.Examples}
	})
	for i := range rows {
		rows[i].Severity = string(verdict.Rule(rows[i].Rule).Severity())
	}
	return rows, err
}

func severityRank(severity string) int {
	return slices.Index([]verdict.Severity{verdict.SeverityError, verdict.SeverityWarn, verdict.SeverityInfo}, verdict.Severity(severity))
}

// StageRow is one stage of the chains of one route.
type StageRow struct {
	Service       string            `json:"service"`
	Route         string            `json:"route"`
	Stage         string            `json:"stage"`
	Peer          string            `json:"peer"`
	Calls         uint64            `json:"calls"`
	SpendP50      *span.Seconds     `json:"spend_p50_s"`
	SpendP95      *span.Seconds     `json:"spend_p95_s"`
	Degraded      uint64            `json:"degraded"`
	DegradedRatio *float64          `json:"degraded_ratio"`
	Decisions     map[string]uint64 `json:"decisions"`
	Causes        map[string]uint64 `json:"causes"`
	Phases        map[string]uint64 `json:"phases"`
}

//go:embed queries/report_stages.sql
var stagesSQL string

// Stages answers where chains degrade.
func (db *DB) Stages(ctx context.Context, q ReportQuestion) ([]StageRow, error) {
	return reported(ctx, db, "stages", stagesSQL, q, func(r *StageRow) []any {
		return []any{&r.Service, &r.Route, &r.Stage, &r.Peer, &r.Calls, optionalSeconds{&r.SpendP50}, optionalSeconds{&r.SpendP95}, &r.Degraded,
			optionalRatio{&r.DegradedRatio}, &r.Decisions, &r.Causes, &r.Phases}
	})
}

// CancellationRow is one cause at one route.
type CancellationRow struct {
	Service     string        `json:"service"`
	Route       string        `json:"route"`
	Cause       string        `json:"cause"`
	Sent        uint64        `json:"sent"`
	Confirmed   uint64        `json:"confirmed"`
	PatienceP50 *span.Seconds `json:"patience_p50_s"`
	PatienceP95 *span.Seconds `json:"patience_p95_s"`
	BudgetP50   *span.Seconds `json:"budget_p50_s"`
}

//go:embed queries/report_cancellations.sql
var cancellationsSQL string

// Cancellations answers why requests were cancelled, and how long clients wait.
func (db *DB) Cancellations(ctx context.Context, q ReportQuestion) ([]CancellationRow, error) {
	return reported(ctx, db, "cancellations", cancellationsSQL, q, func(r *CancellationRow) []any {
		return []any{&r.Service, &r.Route, &r.Cause, &r.Sent, &r.Confirmed, optionalSeconds{&r.PatienceP50}, optionalSeconds{&r.PatienceP95},
			optionalSeconds{&r.BudgetP50}}
	})
}

// LocalRow is what one route does before it calls anybody.
type LocalRow struct {
	Service            string        `json:"service"`
	Route              string        `json:"route"`
	Requests           uint64        `json:"requests"`
	BeforeFirstCallP50 *span.Seconds `json:"before_first_call_p50_s"`
	ShareOfBudgetP50   *float64      `json:"share_of_budget_p50"`
	QueueP50           *span.Seconds `json:"queue_p50_s"`
}

//go:embed queries/report_local.sql
var localSQL string

// Local answers who spends the budget before calling anybody.
func (db *DB) Local(ctx context.Context, q ReportQuestion) ([]LocalRow, error) {
	return reported(ctx, db, "local", localSQL, q, func(r *LocalRow) []any {
		return []any{&r.Service, &r.Route, &r.Requests, optionalSeconds{&r.BeforeFirstCallP50}, optionalRatio{&r.ShareOfBudgetP50},
			optionalSeconds{&r.QueueP50}}
	})
}
