package storage

import (
	"context"
	_ "embed"
	"math"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// ConformanceRow is what one service records of budgets. Facts that were derived later do not count.
type ConformanceRow struct {
	Service  string   `json:"service"`
	Versions []string `json:"versions"`
	Spans    uint64   `json:"spans"`
	Requests uint64   `json:"requests"`
	Budgets  uint64   `json:"budgets"`
	// Outcomes and Margins are of requests with a budget.
	Outcomes uint64 `json:"outcomes"`
	Margins  uint64 `json:"margins"`
	Calls    uint64 `json:"calls"`
	// Remainders are calls with what was left before them, Ends those of them with what was left after.
	Remainders uint64 `json:"remainders"`
	Ends       uint64 `json:"ends"`
	// HeadersDue are calls with a remainder whose callee is here, HeadersPassed those whose callee took its budget from it.
	HeadersDue    uint64 `json:"headers_due"`
	HeadersPassed uint64 `json:"headers_passed"`
	// Signals are cancellations with their time, Told those that say whether they were confirmed, InTime those that stopped in time.
	Signals uint64 `json:"signals"`
	Told    uint64 `json:"told"`
	InTime  uint64 `json:"in_time"`
	// LeftOpen are hops that still ran when a response went out.
	LeftOpen uint64 `json:"left_open"`
	Derived  uint64 `json:"derived"`
	// Incomplete is the share of spans that lack a companion of what they carry.
	Incomplete float64 `json:"incomplete_ratio"`
	// Missing names what too few of the spans that could record it do, the worst first where it matters most.
	Missing []MissingFact `json:"missing"`
}

// MissingFact is a fact that Has of Of spans record.
type MissingFact struct {
	Fact string `json:"fact"`
	Has  uint64 `json:"has"`
	Of   uint64 `json:"of"`
}

// conforming is the least share of spans that record a fact which is not called missing.
const conforming = 0.95

//go:embed queries/report_conformance.sql
var conformanceSQL string

// Conformance answers what services record of budgets, and names what they do not.
func (db *DB) Conformance(ctx context.Context, q ReportQuestion) ([]ConformanceRow, error) {
	incomplete := []uint64{}
	rows, err := reported(ctx, db, "conformance", conformanceSQL, q, func(r *ConformanceRow) []any {
		incomplete = append(incomplete, 0)
		return []any{&r.Service, &r.Versions, &r.Spans, &r.Requests, &r.Budgets, &r.Outcomes, &r.Margins, &r.Calls, &r.Remainders, &r.Ends,
			&r.HeadersDue, &r.HeadersPassed, &r.Signals, &r.Told, &r.InTime, &r.LeftOpen, &r.Derived, &incomplete[len(incomplete)-1]}
	})
	for i := range rows {
		rows[i].Incomplete = math.Round(float64(incomplete[i])/float64(rows[i].Spans)*1e6) / 1e6
		rows[i].Missing = rows[i].missing()
	}
	return rows, err
}

// missing names the facts that too few spans record, in the order in which to set them.
func (r *ConformanceRow) missing() []MissingFact {
	missing := []MissingFact{}
	for _, f := range []MissingFact{
		{budgetattr.BudgetReceivedKey, r.Budgets, r.Requests},
		{budgetattr.OutcomeKey, r.Outcomes, r.Budgets},
		{budgetattr.MarginKey, r.Margins, r.Budgets},
		{budgetattr.RemainingBeforeKey, r.Remainders, r.Calls},
		{budgetattr.RemainingAfterKey, r.Ends, r.Remainders},
		{"remainder in the callee", r.HeadersPassed, r.HeadersDue},
		{budgetattr.CancelConfirmedKey, r.Told, r.Signals},
		{"stop in time", r.InTime, r.Told},
	} {
		if f.Of > 0 && float64(f.Has) < conforming*float64(f.Of) {
			missing = append(missing, f)
		}
	}
	if r.Spans > 0 && len(r.Versions) == 0 {
		missing = append(missing, MissingFact{"service.version", 0, r.Spans})
	}
	return missing
}
