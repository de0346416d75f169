package storage

import (
	"context"
	_ "embed"

	"github.com/laxity-dev/laxity/internal/span"
)

// ReserveVerdict says whether a reserve fits what it is for.
type ReserveVerdict string

// The verdicts. Unknown: too little was measured, or there is no reserve.
const (
	ReserveFits     ReserveVerdict = "fits"
	ReserveTooSmall ReserveVerdict = "too_small"
	ReserveWasteful ReserveVerdict = "wasteful"
	ReserveUnknown  ReserveVerdict = "unknown"
)

// Bounds of the audit: how many measurements it needs, and from which multiple and excess of the need a reserve is wasteful.
const (
	minAudited     = 100
	wastefulFrom   = 2
	wastefulExcess = span.Seconds(20e6)
)

// ReserveRow audits the reserve of one stage and its starts.
type ReserveRow struct {
	Service string `json:"service"`
	Route   string `json:"route"`
	Stage   string `json:"stage"`
	Peer    string `json:"peer"`
	Calls   uint64 `json:"calls"`
	// Reserve is the median of those recorded, Needed what followed the hop until the answer, of Measured hops.
	Reserve   *span.Seconds  `json:"reserve_p50_s"`
	NeededP50 *span.Seconds  `json:"needed_p50_s"`
	NeededP99 *span.Seconds  `json:"needed_p99_s"`
	Measured  uint64         `json:"measured"`
	Verdict   ReserveVerdict `json:"verdict"`
	// Eaten hops used time of their reserve.
	Eaten      uint64   `json:"eaten"`
	EatenRatio *float64 `json:"eaten_ratio"`
	// Hopeless hops started with less than the usual median of their stage and peer.
	Hopeless      uint64   `json:"hopeless_starts"`
	HopelessRatio *float64 `json:"hopeless_ratio"`
	Examples      []string `json:"example_trace_ids"`
}

//go:embed queries/report_reserves.sql
var reservesSQL string

// Reserves answers whether reserves fit, and which hops start without hope.
func (db *DB) Reserves(ctx context.Context, q ReportQuestion) ([]ReserveRow, error) {
	type found struct {
		ReserveRow
		reserved, withReserve, judged uint64
		reserve, p50, p99             int64
	}
	rows, err := reported(ctx, db, "reserves", reservesSQL, q, func(r *found) []any {
		return []any{&r.Service, &r.Route, &r.Stage, &r.Peer, &r.Calls, &r.reserved, &r.reserve, &r.Measured, &r.p50, &r.p99, &r.Eaten, &r.withReserve,
			&r.Hopeless, &r.judged, &r.Examples}
	})
	answer := make([]ReserveRow, len(rows))
	for i, r := range rows {
		answer[i] = r.ReserveRow
		a := &answer[i]
		a.Reserve, a.NeededP50, a.NeededP99 = known(r.reserve, r.reserved), known(r.p50, r.Measured), known(r.p99, r.Measured)
		a.EatenRatio, a.HopelessRatio = ratioOf(r.Eaten, r.withReserve), ratioOf(r.Hopeless, r.judged)
		a.Verdict = auditReserve(a.Reserve, a.NeededP99, a.Measured)
	}
	return answer, err
}

func auditReserve(reserve, needed *span.Seconds, measured uint64) ReserveVerdict {
	switch {
	case reserve == nil || needed == nil || measured < minAudited:
		return ReserveUnknown
	case *needed > *reserve:
		return ReserveTooSmall
	case *reserve > wastefulFrom**needed && *reserve-*needed > wastefulExcess:
		return ReserveWasteful
	}
	return ReserveFits
}

// known returns nanoseconds, nil where nothing was counted.
func known(n int64, counted uint64) *span.Seconds {
	if counted == 0 {
		return nil
	}
	s := span.Seconds(n)
	return &s
}

// ratioOf returns a share with six decimals, nil of nothing.
func ratioOf(part, whole uint64) *float64 {
	if whole == 0 {
		return nil
	}
	r := rounded(float64(part) / float64(whole))
	return &r
}
