package storage

import (
	"context"
	_ "embed"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
)

// Measure is what the cells of a heat map tell apart beside time.
type Measure string

// Margin counts answered requests with a budget, Duration all whose account is drawn.
const (
	MeasureMargin   Measure = "margin"
	MeasureDuration Measure = "duration"
)

// CellQuestion asks how requests are spread over time and one measure.
type CellQuestion struct {
	ReportQuestion
	Measure Measure
	// Width of a cell in time.
	Width time.Duration
}

func (q CellQuestion) parameters() map[string]any {
	parameters := q.ReportQuestion.parameters()
	parameters["measure"], parameters["bucket"] = string(q.Measure), int64(q.Width)
	return parameters
}

// CellRow is the requests that began in one stretch of time with a measure from Low, inclusive, to High, exclusive; nil is open.
type CellRow struct {
	At       time.Time     `json:"at"`
	Low      *span.Seconds `json:"low_s"`
	High     *span.Seconds `json:"high_s"`
	Requests uint64        `json:"requests"`
	// Seen counts requests themselves, not those that sampled ones stand for.
	Seen   uint64 `json:"seen"`
	Missed uint64 `json:"missed"`
	// Examples are those with the least left, or that took longest.
	Examples []string `json:"example_trace_ids"`
}

//go:embed queries/report_cells.sql
var cellsSQL string

// Cells answers with the cells that have requests, oldest first.
func (db *DB) Cells(ctx context.Context, q CellQuestion) ([]CellRow, error) {
	return report(ctx, db, "cells", cellsSQL, q, func(r *CellRow) []any {
		return []any{instant{&r.At}, optionalSeconds{&r.Low}, optionalSeconds{&r.High}, &r.Requests, &r.Seen, &r.Missed, &r.Examples}
	})
}
