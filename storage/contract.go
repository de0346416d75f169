package storage

import (
	"context"
	_ "embed"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/contract"
	"github.com/laxity-dev/laxity/internal/span"
)

// ContractQuestion asks what one route did. An empty environment means any.
type ContractQuestion struct {
	Window
	Service, Route, Environment string
}

// maxStages bounds the stages of one route.
const maxStages = 1000

//go:embed queries/contract_route.sql
var contractRouteSQL string

//go:embed queries/contract_stages.sql
var contractStagesSQL string

//go:embed queries/contract_orphans.sql
var contractOrphansSQL string

// Measured answers with everything that a contract of the route can promise.
func (db *DB) Measured(ctx context.Context, q ContractQuestion) (contract.Measured, error) {
	answer := contract.Measured{Service: q.Service, Route: q.Route, Margins: []*span.Seconds{}, Stages: []contract.StageMeasured{}}
	parameters := q.parameters()
	parameters["service"], parameters["route"], parameters["environment"] = q.Service, q.Route, q.Environment
	parameters["limit"] = maxStages
	var represented float64
	err := db.ask(ctx, contractRouteSQL, func(rows driver.Rows) error {
		var budgets uint64
		var most, p05 int64
		var margins []int64
		if err := rows.Scan(&answer.Requests, &represented, &answer.Answered, &budgets, &most, &p05, &margins,
			optionalRatio{&answer.MissedRatio}, optionalRatio{&answer.DegradedRatio}); err != nil {
			return err
		}
		if budgets > 0 {
			answer.BudgetMost, answer.BudgetP05 = secondsIf(most, true), secondsIf(p05, true)
		}
		for _, m := range margins {
			answer.Margins = append(answer.Margins, secondsIf(m, answer.Answered > 0))
		}
		return nil
	}, parameters)
	if err != nil || answer.Requests == 0 {
		return answer, question("contract of a route", err)
	}
	err = db.ask(ctx, contractStagesSQL, func(rows driver.Rows) error {
		var s contract.StageMeasured
		var spend, reserve, allowance int64
		var reserves, allowances, retries uint64
		if err := rows.Scan(&s.Stage, &s.Peer, &s.Calls, &s.Runs, &spend, &reserves, &reserve, &allowances, &allowance,
			optionalRatio{&s.DegradedRatio}, &retries); err != nil {
			return err
		}
		s.SpendP95, s.Reserve, s.Allowance, s.Retries = secondsIf(spend, s.Runs > 0), secondsIf(reserve, reserves > 0), secondsIf(allowance, allowances > 0), &retries
		if answer.Retries == nil || *answer.Retries < retries {
			answer.Retries = &retries
		}
		answer.Stages = append(answer.Stages, s)
		return nil
	}, parameters)
	if err != nil {
		return answer, question("contract of stages", err)
	}
	progress, err := db.Progress(ctx)
	if err != nil || progress[StepVerdicts].IsZero() {
		return answer, err // nobody has judged: orphan work is not known
	}
	err = db.ask(ctx, contractOrphansSQL, func(rows driver.Rows) error {
		var orphan int64
		err := rows.Scan(&orphan)
		answer.OrphanTime = secondsIf(int64(float64(orphan)/represented), true)
		return err
	}, parameters)
	return answer, question("contract: orphan work", err)
}

// secondsIf returns nanoseconds, nil unless they are known.
func secondsIf(nanoseconds int64, known bool) *span.Seconds {
	if !known {
		return nil
	}
	s := span.Seconds(nanoseconds)
	return &s
}
