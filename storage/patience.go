package storage

import (
	"context"
	_ "embed"

	"github.com/laxity-dev/laxity/internal/span"
)

// PatienceRow is the clients that left after waiting from After, inclusive, to UpTo, exclusive; nil is open.
type PatienceRow struct {
	After      span.Seconds  `json:"after_s"`
	UpTo       *span.Seconds `json:"up_to_s"`
	Left       uint64        `json:"left"`
	WithBudget uint64        `json:"with_budget"`
	// Early counts those whose budget had not ended.
	Early uint64 `json:"early"`
	// Gone is the share of all who left that had left by UpTo.
	Gone *float64 `json:"gone_ratio"`
	// Examples are the newest.
	Examples []string `json:"example_trace_ids"`
}

// Patience is how long clients waited that left.
type Patience struct {
	Left       uint64 `json:"left"`
	WithBudget uint64 `json:"with_budget"`
	// Early counts those whose budget had not ended.
	Early      uint64        `json:"early"`
	EarlyRatio *float64      `json:"early_ratio"`
	P50        *span.Seconds `json:"patience_p50_s"`
	P95        *span.Seconds `json:"patience_p95_s"`
	BudgetP50  *span.Seconds `json:"budget_p50_s"`
	Rows       []PatienceRow `json:"-"`
}

//go:embed queries/report_patience.sql
var patienceSQL string

// Patience answers when clients left.
func (db *DB) Patience(ctx context.Context, q ReportQuestion) (Patience, error) {
	type found struct {
		PatienceRow
		all              Patience
		p50, p95, budget int64
		budgets          uint64
	}
	rows, err := report(ctx, db, "patience", patienceSQL, q, func(r *found) []any {
		return []any{(*int64)(&r.After), optionalSeconds{&r.UpTo}, &r.Left, &r.WithBudget, &r.Early, optionalRatio{&r.Gone}, &r.Examples,
			&r.all.Left, &r.all.WithBudget, &r.all.Early, &r.p50, &r.p95, &r.budget, &r.budgets}
	})
	answer := Patience{Rows: []PatienceRow{}}
	for i, r := range rows {
		if i == 0 {
			answer = r.all
			answer.P50, answer.P95, answer.BudgetP50 = known(r.p50, 1), known(r.p95, 1), known(r.budget, r.budgets)
			answer.EarlyRatio = ratioOf(r.all.Early, r.all.WithBudget)
		}
		answer.Rows = append(answer.Rows, r.PatienceRow)
	}
	return answer, err
}
