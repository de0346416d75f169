package storage_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// reportSpans are requests to a shop: it queues, calls a model that a retry and a fallback save, and a store whose answers
// slowed down since last week and which renews the clock.
func reportSpans() []span.Span {
	var all []span.Span
	number := uint16(0)
	request := func(at time.Time, attrs span.Attributes, lasts time.Duration) func(parent byte, service, name string, kind span.Kind, after, lasts time.Duration, attrs span.Attributes) byte {
		number++
		trace, n := span.TraceID{8, 14: byte(number >> 8), 15: byte(number)}, byte(0)
		add := func(parent byte, service, name string, kind span.Kind, after, lasts time.Duration, attrs span.Attributes) byte {
			n++
			s := span.Span{
				Trace: trace, ID: span.ID{8, byte(number >> 8), byte(number), 7: n}, Service: service, Name: name, Kind: kind,
				Start: at.Add(after).UnixNano(), End: at.Add(after + lasts).UnixNano(), Attrs: attrs,
				Resource: span.Attributes{"service.name": service, "service.instance.id": service + "-1"},
			}
			if parent > 0 {
				s.Parent = span.ID{8, byte(number >> 8), byte(number), 7: parent}
			}
			all = append(all, s)
			return n
		}
		attrs["http.route"] = "/buy"
		add(0, "shop", "POST /buy", span.KindServer, 0, lasts, attrs)
		return add
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for i := range 24 {
		// Last week the store took 40 ms, now 120 ms.
		old := request(noon.Add(-3*24*time.Hour+time.Duration(i)*time.Minute), received(1.0), ms(200))
		call := old(1, "shop", "SELECT", span.KindClient, ms(20), ms(40), span.Attributes{budgetattr.StageKey: "load", "peer.service": "store",
			budgetattr.AllowanceKey: 0.5, budgetattr.RemainingBeforeKey: 0.9, budgetattr.DecisionKey: "run"})
		old(call, "store", "SELECT", span.KindServer, ms(25), ms(30), received(0.5))

		now := request(noon.Add(time.Duration(i)*30*time.Second), received(1.0, budgetattr.LocalBeforeFirstCallKey, 0.6, budgetattr.QueueTimeKey, 0.1), ms(900))
		call = now(1, "shop", "SELECT", span.KindClient, ms(620), ms(120), span.Attributes{budgetattr.StageKey: "load", "peer.service": "store",
			budgetattr.AllowanceKey: 0.03, budgetattr.RemainingBeforeKey: 0.3, budgetattr.DecisionKey: "run",
			budgetattr.ConnectionReusedKey: i%2 == 0, budgetattr.PhaseTime(budgetattr.PhasePool): 0.01, budgetattr.PhaseTime(budgetattr.PhaseDBExecution): 0.09})
		now(call, "store", "SELECT", span.KindServer, ms(625), ms(100), received(2.0, budgetattr.BudgetSourceKey, []string{"default", "caller"}[i%2]))
		if i < 2 {
			now(1, "shop", "advise", span.KindInternal, ms(750), 0, span.Attributes{budgetattr.StageKey: "advise", budgetattr.DecisionKey: "skip",
				budgetattr.RetriesSkippedKey: int64(1), budgetattr.RetriesSkippedReasonKey: "budget"})
		}
		if i == 7 {
			first := span.Attributes{budgetattr.StageKey: "ask", "peer.service": "model", budgetattr.AttemptKey: int64(1), budgetattr.AttemptLayerKey: "step", budgetattr.DecisionKey: "run"}
			now(1, "shop", "ask", span.KindClient, ms(300), ms(100), first)
			second := now(1, "shop", "ask", span.KindClient, ms(410), ms(200), span.Attributes{budgetattr.StageKey: "ask", "peer.service": "model",
				budgetattr.AttemptKey: int64(2), budgetattr.AttemptLayerKey: "step", budgetattr.DecisionKey: "run", budgetattr.CancelCauseKey: "local_deadline",
				budgetattr.CancelAfterKey: 0.05, budgetattr.TimeoutPhaseKey: "first_token", budgetattr.PhaseTime(budgetattr.PhaseFirstToken): 0.2,
				budgetattr.PostCancelCostKey: 12.0, budgetattr.CostUnitKey: "tokens", budgetattr.CancelConfirmedKey: true})
			now(second, "model", "POST /v1", span.KindServer, ms(420), ms(1500), span.Attributes{"http.route": "/v1"})
		}
	}
	request(noon.Add(20*time.Minute), received(3.0, budgetattr.CancelCauseKey, "client_disconnect", budgetattr.CancelAfterKey, 1.2, budgetattr.CancelConfirmedKey, true), ms(1300))
	request(noon.Add(21*time.Minute), received(3.0, budgetattr.CancelCauseKey, "client_disconnect"), ms(800))
	return all
}

// rows forgets the type of rows.
func rows[Row any](ask func(context.Context, storage.ReportQuestion) ([]Row, error)) func(context.Context, storage.ReportQuestion) (any, int, error) {
	return func(ctx context.Context, q storage.ReportQuestion) (any, int, error) {
		found, err := ask(ctx, q)
		return found, len(found), err
	}
}

func TestReports(t *testing.T) {
	store := storagetest.Open(t)
	spans := reportSpans()
	store.Insert(t, spans...)
	store.Insert(t, spans...) // every span arrives twice
	judge(t, store)
	for name, ask := range map[string]func(context.Context, storage.ReportQuestion) (any, int, error){
		"orphans": rows(store.Orphans), "findings": rows(store.Findings), "stages": rows(store.Stages), "cancellations": rows(store.Cancellations),
		"local": rows(store.Local), "phases": rows(store.Phases), "retries": rows(store.Retries), "propagation": rows(store.Propagation),
		"conformance":  rows(store.Conformance),
		"dependencies": rows(store.Dependencies), "reserves": rows(store.Reserves),
		"cells": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.CellRow, error) {
			return store.Cells(ctx, storage.CellQuestion{ReportQuestion: q, Measure: storage.MeasureMargin, Width: 5 * time.Minute})
		}),
		"cells_duration": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.CellRow, error) {
			return store.Cells(ctx, storage.CellQuestion{ReportQuestion: q, Measure: storage.MeasureDuration, Width: 5 * time.Minute})
		}),
		"patience": func(ctx context.Context, q storage.ReportQuestion) (any, int, error) {
			found, err := store.Patience(ctx, q)
			return []any{found, found.Rows}, len(found.Rows), err
		},
		"spend": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.SpendRow, error) {
			return store.Spend(ctx, q, 5*time.Minute)
		}),
		"advice": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.AdviceRow, error) {
			return store.Advice(ctx, storage.AdviceQuestion{ReportQuestion: q, Rate: 0.001})
		}),
		"safe_budgets": rows(func(ctx context.Context, q storage.ReportQuestion) ([]storage.RouteAdviceRow, error) {
			return store.SafeBudgets(ctx, storage.AdviceQuestion{ReportQuestion: q, Rate: 0.001})
		}),
	} {
		all := storage.ReportQuestion{Window: day, Limit: 100}
		answer, n, err := ask(t.Context(), all)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden(t, "report_"+name, answer)
		if n == 0 {
			t.Errorf("%s: no rows", name)
		}
		second := all
		second.Limit, second.Skip = 1, n-1
		if _, one, err := ask(t.Context(), second); err != nil || one != 1 {
			t.Errorf("%s: the last page has %d rows, %v", name, one, err)
		}
		nobody := all
		nobody.Service = "' OR 1 = 1 --"
		if _, none, err := ask(t.Context(), nobody); err != nil || none != 0 {
			t.Errorf("%s of a service that is not there: %d rows, %v", name, none, err)
		}
		leavesOut(t, name, all, ask, answer)
		empty := all
		empty.Window = day.Shift(-100 * 24 * time.Hour)
		if _, none, err := ask(t.Context(), empty); err != nil || none != 0 {
			t.Errorf("%s of an empty window: %d rows, %v", name, none, err)
		}
	}
}

// leavesOut asks again without a value of the first row that has one: what remains are the other rows.
func leavesOut(t *testing.T, name string, q storage.ReportQuestion, ask func(context.Context, storage.ReportQuestion) (any, int, error), answer any) {
	t.Helper()
	var before []map[string]any
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	if json.Unmarshal(text, &before) != nil {
		return // its rows name no place
	}
	for column, without := range map[string]*[]string{
		"service": &q.Not.Services, "route": &q.Not.Routes, "stage": &q.Not.Stages, "peer": &q.Not.Peers, "cause": &q.Not.Causes, "phase": &q.Not.Phases,
		"rule": &q.Not.Rules,
	} {
		at := slices.IndexFunc(before, func(row map[string]any) bool { value, _ := row[column].(string); return value != "" })
		if at < 0 {
			continue
		}
		left := before[at][column].(string)
		others := 0
		for _, row := range before {
			if row[column] != left {
				others++
			}
		}
		*without = []string{left}
		found, n, err := ask(t.Context(), q)
		if err != nil || n != others {
			t.Errorf("%s without %s %q: %d rows, %v, want %d: %+v", name, column, left, n, err, others, found)
		}
		*without = nil
	}
}

// A slow dependency and a stingy caller are findings over many traces, and the traces that show them are found.
func TestFindingsOverManyTraces(t *testing.T) {
	store := storagetest.Open(t)
	store.Insert(t, reportSpans()...)
	q := storage.ReportQuestion{Window: day, Limit: 100}
	for _, rule := range []verdict.Rule{verdict.RuleSlowDependency, verdict.RuleUnrealisticBudget} {
		q.Rule = string(rule)
		found, err := store.Findings(t.Context(), q)
		if err != nil || len(found) != 1 || found[0].Stage != "load" || found[0].Peer != "store" || found[0].Traces != 24 {
			t.Errorf("%s: %+v, %v", rule, found, err)
		}
		blamed, err := store.Blamed(t.Context(), q, rule)
		if err != nil || len(blamed) != 1 {
			t.Fatalf("%s: %+v, %v", rule, blamed, err)
		}
		entries, err := store.Search(t.Context(), storage.SearchQuestion{Window: day, Service: "shop", Places: []storage.CallPlace{blamed[0].Place(rule)}, Limit: 100})
		if err != nil || len(entries) != 24 {
			t.Errorf("%s: %d entries, %v", rule, len(entries), err)
		}
	}
	q.Window, q.Rule = day.Shift(-3*24*time.Hour), ""
	if found, err := store.Findings(t.Context(), q); err != nil || len(found) > 0 {
		t.Errorf("before it slowed down: %+v, %v", found, err)
	}
}
