package storage

import (
	"context"
	_ "embed"

	"github.com/laxity-dev/laxity/internal/span"
)

// PhaseRow is one phase of the calls of one peer.
type PhaseRow struct {
	Service  string `json:"service"`
	Peer     string `json:"peer"`
	Phase    string `json:"phase"`
	Timeouts uint64 `json:"timeouts"`
	// Reused and Fresh are the timeouts of connections of which it is known.
	Reused   uint64        `json:"reused"`
	Fresh    uint64        `json:"fresh"`
	Measured uint64        `json:"measured"`
	P50      *span.Seconds `json:"p50_s"`
	P99      *span.Seconds `json:"p99_s"`
}

//go:embed queries/report_phases.sql
var phasesSQL string

// Phases answers in which phase calls time out.
func (db *DB) Phases(ctx context.Context, q ReportQuestion) ([]PhaseRow, error) {
	return reported(ctx, db, "phases", phasesSQL, q, func(r *PhaseRow) []any {
		return []any{&r.Service, &r.Peer, &r.Phase, &r.Timeouts, &r.Reused, &r.Fresh, &r.Measured, optionalSeconds{&r.P50}, optionalSeconds{&r.P99}}
	})
}

// RetryRow is what retries of one layer bring at one stage.
type RetryRow struct {
	Service         string           `json:"service"`
	Stage           string           `json:"stage"`
	Peer            string           `json:"peer"`
	Layer           string           `json:"layer"`
	Calls           uint64           `json:"calls"`
	Attempts        uint64           `json:"attempts"`
	AttemptsPerCall *float64         `json:"attempts_per_call"`
	Skipped         int64            `json:"skipped"`
	Reasons         map[string]int64 `json:"reasons"`
	Wasted          uint64           `json:"wasted"`
	WastedTime      span.Seconds     `json:"wasted_s"`
}

//go:embed queries/report_retries.sql
var retriesSQL string

// Retries answers what retries bring.
func (db *DB) Retries(ctx context.Context, q ReportQuestion) ([]RetryRow, error) {
	return reported(ctx, db, "retries", retriesSQL, q, func(r *RetryRow) []any {
		return []any{&r.Service, &r.Stage, &r.Peer, &r.Layer, &r.Calls, &r.Attempts, optionalRatio{&r.AttemptsPerCall}, &r.Skipped, &r.Reasons,
			&r.Wasted, (*int64)(&r.WastedTime)}
	})
}

// PropagationRow is one edge between two services.
type PropagationRow struct {
	From       string        `json:"from"`
	To         string        `json:"to"`
	Calls      uint64        `json:"calls"`
	WithBudget uint64        `json:"with_budget"`
	Renewed    uint64        `json:"renewed"`
	Dropped    uint64        `json:"dropped"`
	GrowthMax  *span.Seconds `json:"growth_max_s"`
	HandedP50  *span.Seconds `json:"handed_p50_s"`
	UsedP50    *span.Seconds `json:"used_p50_s"`
}

//go:embed queries/report_propagation.sql
var propagationSQL string

// Propagation answers whether budgets arrive.
func (db *DB) Propagation(ctx context.Context, q ReportQuestion) ([]PropagationRow, error) {
	columns := func(r *PropagationRow) []any {
		return []any{&r.From, &r.To, &r.Calls, &r.WithBudget, &r.Renewed, &r.Dropped, optionalSeconds{&r.GrowthMax}, optionalSeconds{&r.HandedP50},
			optionalSeconds{&r.UsedP50}}
	}
	q, err := db.PlanReport(ctx, q)
	if err != nil {
		return nil, err
	}
	if q.tally == nil {
		return report(ctx, db, "propagation", propagationSQL, q, columns)
	}
	parameters := q.parameters()
	parameters["service"], parameters["either"] = "", q.Service // edges are told apart by their callers
	return tallied(ctx, db, "propagation", q.tally, parameters, columns)
}
