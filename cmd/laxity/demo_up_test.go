package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/demo"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// play runs the demo and returns how many spans it says it has sent.
func play(t *testing.T, settings demo.Settings) (sent int) {
	t.Helper()
	settings.Quiet = true
	var out bytes.Buffer
	if err := demo.Run(t.Context(), settings, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, m := range regexp.MustCompile(`(\d+) made, (\d+) sent, 0 failed, 0 dropped`).FindAllStringSubmatch(out.String(), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || m[1] != m[2] {
			t.Errorf("sent and made differ:\n%s", &out)
		}
		sent += n
	}
	return sent
}

// Spans stored equal spans sent, live ones and history; history sent again counts nothing twice; the statement out of
// storage names each fault.
func TestDemoThroughUp(t *testing.T) {
	const (
		stored  = "SELECT uniqExact(TraceId, SpanId) FROM otel_traces"
		counted = "SELECT count() FROM hops FINAL" // every span of the demo is an entry or a hop
	)
	s := startUp(t, t.TempDir())
	page := s.find(t, `(?m)^page +(\S+)`)
	log := filepath.Join(t.TempDir(), "faults.jsonl")
	rates := map[demo.Fault]float64{}
	for _, f := range demo.Faults() {
		rates[f] = 0.04
	}
	live := play(t, demo.Settings{OTLP: s.grpc, Rates: rates, FaultLog: log, Load: demo.Load{Requests: 200, Concurrency: 30, Seed: 1}})
	expect(t, s.clickhouse, stored, strconv.Itoa(live))
	expect(t, s.clickhouse, "SELECT count() FROM otel_traces", strconv.Itoa(live))
	expect(t, s.clickhouse, counted, strconv.Itoa(live))
	expect(t, s.clickhouse, "SELECT countIf(ResourceAttributes['"+demo.SampleAttribute+"'] = 'true') FROM otel_traces", strconv.Itoa(live))

	checkStatements(t, page, log)
	checkMetrics(t, s)

	past := demo.Settings{OTLP: s.grpc, Backfill: 3, NoLoad: true, Load: demo.Load{Seed: 1, Concurrency: 1}}
	history := play(t, past)
	expect(t, s.clickhouse, counted, strconv.Itoa(live+history))
	again := play(t, past)
	expect(t, s.clickhouse, "SELECT count() FROM otel_traces", strconv.Itoa(live+history+again))
	// A few requests of today may have come to lie in the past meanwhile.
	expect(t, s.clickhouse, stored, strconv.Itoa(live+again))
	expect(t, s.clickhouse, counted, strconv.Itoa(live+again))
	expect(t, s.clickhouse, "SELECT uniqExact(toDate(ts)) >= 3 FROM hops FINAL WHERE name = 'POST /v1/report'", "1")
}

// checkStatements asks for the statement of a trace of each fault that took effect alone.
func checkStatements(t *testing.T, page, log string) {
	t.Helper()
	faults := map[string][]demo.Fault{}
	for _, e := range readEffects(t, log) {
		faults[e.TraceID] = append(faults[e.TraceID], e.Fault)
	}
	shown := map[demo.Fault]bool{}
	for trace, played := range faults {
		fault := played[0]
		if len(played) > 1 || shown[fault] {
			continue
		}
		shown[fault] = true
		eventually(t, 30*time.Second, func() error {
			got, err := askStatement(page, trace)
			if err == nil && !names(got, fault) {
				err = fmt.Errorf("trace %s of fault %s: outcome %s, findings %+v", trace, fault, got.Outcome, got.Findings)
			}
			return err
		})
	}
	if len(shown) < 12 {
		t.Errorf("only %v took effect alone", shown)
	}
}

func readEffects(t *testing.T, log string) (effects []demo.Effect) {
	t.Helper()
	file, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		var e demo.Effect
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		effects = append(effects, e)
	}
	return effects
}

func askStatement(page, trace string) (*verdict.Statement, error) {
	response, err := http.Get(page + "/api/v1/traces/" + trace + "/statement")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	var s verdict.Statement
	return &s, json.NewDecoder(response.Body).Decode(&s)
}

// ruleOf is the finding by which a statement names a fault, whatever else happens to the request.
var ruleOf = map[demo.Fault]verdict.Rule{
	demo.SlowDependency: verdict.RuleExhausted, demo.TightBudget: verdict.RuleExhausted,
	demo.RenewedClock: verdict.RuleRenewedClock, demo.DroppedHeader: verdict.RuleDroppedHeader, demo.IgnoredCancel: verdict.RuleIgnoredCancel,
	demo.LocalQueue: verdict.RuleLocalSpend, demo.RetryStorm: verdict.RuleWastedRetry, demo.LateResult: verdict.RuleLateResult,
	demo.RetryAfter: verdict.RuleRetryDidNotFit, demo.LateFailure: verdict.RuleRetryDidNotFit,
	demo.HopelessStart: verdict.RuleHopelessStart, demo.ReserveEaten: verdict.RuleReserveEaten, demo.LateValidation: verdict.RuleLate,
	demo.ExpiredInQueue: verdict.RuleExpiredInQueue, demo.UncertainEffect: verdict.RuleUncertain,
	demo.DetachedWork: verdict.RuleDetachedWork, demo.HopLeftOpen: verdict.RuleStillRunning,
}

// names reports whether the statement shows the fault.
func names(s *verdict.Statement, fault demo.Fault) bool {
	switch fault {
	case demo.ClientLeaves, demo.TokensAfterCancel:
		return s.Class == verdict.ClassBenign
	case demo.SlowReader:
		return true // nothing is to be seen, and nobody to be blamed
	}
	if rule, ok := ruleOf[fault]; ok {
		return slices.ContainsFunc(s.Findings, func(f verdict.Finding) bool { return f.Rule == rule })
	}
	return s.Outcome != budgetattr.OutcomeDone // the answer goes out with less, on a busy machine not at all
}
