package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/tracefile"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// statements judges spans as `laxity explain` does, by trace id.
func statements(resources []*tracepb.ResourceSpans) map[string]*verdict.Statement {
	spans := tracefile.Spans(resources)
	for i := range spans {
		classify.Builtin().Annotate(&spans[i])
	}
	all := map[string]*verdict.Statement{}
	for _, trace := range verdict.Group(spans) {
		s := verdict.Judge(trace, verdict.Options{})
		all[s.TraceID] = s
	}
	return all
}

// sign is a finding without its figures.
type sign struct {
	rule    verdict.Rule
	service string
}

// mark is an attribute with its value on a hop of this stage.
type mark struct{ stage, key, value string }

// symptom is what a fault must show, alone, in the statement of its trace.
type symptom struct {
	must    []sign
	outcome budgetattr.Outcome
	class   verdict.Class
	spentIn string
	// marks are attributes that hops of the trace must have, where what happened is no finding.
	marks []mark
	// cut names the services that a fault makes stop early: they too ran out of time, and on a busy machine they notice it
	// some milliseconds late.
	cut []string
}

var symptoms = map[Fault]symptom{
	SlowDependency: {
		must:    []sign{{verdict.RuleExhausted, "edge"}},
		outcome: budgetattr.OutcomeCancelled, class: verdict.ClassLateOrFailed, spentIn: "account", cut: []string{"edge", "account"},
	},
	RenewedClock: {
		must:    []sign{{verdict.RuleRenewedClock, "rerank"}},
		outcome: budgetattr.OutcomeDone, class: verdict.ClassInTime,
	},
	DroppedHeader: {
		must:    []sign{{verdict.RuleDroppedHeader, "account"}},
		outcome: budgetattr.OutcomeDone, class: verdict.ClassInTime,
	},
	IgnoredCancel: {
		must:    []sign{{verdict.RuleIgnoredCancel, "rerank"}, {verdict.RuleOrphanWork, "rerank"}, {verdict.RulePostCancelWork, "rerank"}},
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded, cut: []string{"rerank", "retrieval"},
	},
	TightBudget: {
		must:    []sign{{verdict.RuleExhausted, "edge"}},
		outcome: budgetattr.OutcomeCancelled, class: verdict.ClassLateOrFailed,
		cut: []string{"edge", "account", "retrieval", "index", "rerank", "model"},
	},
	LocalQueue: {
		must:    []sign{{verdict.RuleLocalSpend, "edge"}},
		outcome: budgetattr.OutcomeDone, class: verdict.ClassInTime, spentIn: "edge",
	},
	ClientLeaves: {
		outcome: budgetattr.OutcomeCancelled, class: verdict.ClassBenign, cut: []string{"edge", "account", "retrieval", "index", "rerank", "model"},
	},
	RetryStorm: {
		must:    []sign{{verdict.RuleWastedRetry, "edge"}, {verdict.RuleExhausted, "edge"}},
		outcome: budgetattr.OutcomeCancelled, class: verdict.ClassLateOrFailed, cut: []string{"edge", "model"},
	},
	LateResult: {
		must:    []sign{{verdict.RuleLateResult, "edge"}},
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded,
	},
	Freeze: {
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded, cut: []string{"model"},
		marks: []mark{{"chat", budgetattr.CancelCauseKey, "stream_idle"}, {"chat", budgetattr.TimeoutPhaseKey, "between_tokens"},
			{"write_brief", budgetattr.DecisionKey, "fallback"}},
	},
	StepSkipped: {
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded, cut: []string{"retrieval"},
		marks: []mark{{"order", budgetattr.DecisionKey, "skip"}, {"order", budgetattr.StageOptionalKey, "true"}},
	},
	ModelDown: {
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded,
		marks: []mark{{"write_brief", budgetattr.DecisionKey, "fallback"}, {"write", budgetattr.RetriesSkippedReasonKey, "cause"}},
	},
	FirstTokenDelay: {
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded, cut: []string{"model"},
		marks: []mark{{"chat", budgetattr.TimeoutPhaseKey, "first_token"}, {"chat", budgetattr.CancelCauseKey, "stream_idle"},
			{"write_brief", budgetattr.DecisionKey, "fallback"}},
	},
	HeartbeatsOnly: {
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded, cut: []string{"model"},
		marks: []mark{{"chat", budgetattr.TimeoutPhaseKey, "between_tokens"}, {"write_brief", budgetattr.DecisionKey, "fallback"}},
	},
	SlowReader: {
		outcome: budgetattr.OutcomeDone, class: verdict.ClassInTime, spentIn: "edge",
		marks: []mark{{"write", budgetattr.DecisionKey, "run"}},
	},
	ShardStraggler: {
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded, cut: []string{"index", "retrieval"},
		marks: []mark{{"shard.tickets", budgetattr.CancelCauseKey, "local_deadline"}},
	},
	RetryAfter: {
		must:    []sign{{verdict.RuleRetryDidNotFit, "edge"}},
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded,
		marks: []mark{{"write", budgetattr.RetriesSkippedReasonKey, "retry_after"}, {"write_brief", budgetattr.DecisionKey, "fallback"}},
	},
	LateFailure: {
		must:    []sign{{verdict.RuleRetryDidNotFit, "edge"}},
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded, cut: []string{"model"},
		marks: []mark{{"write", budgetattr.RetriesSkippedReasonKey, "budget"}, {"write_brief", budgetattr.DecisionKey, "fallback"}},
	},
	NestedRetries: {
		outcome: budgetattr.OutcomeDegraded, class: verdict.ClassDegraded,
		marks: []mark{{"generate", budgetattr.AttemptLayerKey, "sdk"}, {"write", budgetattr.RetriesSkippedReasonKey, "attempts"},
			{"write_brief", budgetattr.DecisionKey, "fallback"}},
	},
	TokensAfterCancel: {
		outcome: budgetattr.OutcomeCancelled, class: verdict.ClassBenign, cut: []string{"edge", "model"},
		marks: []mark{{"chat", budgetattr.CostUnitKey, "token"}, {"chat", budgetattr.CancelCauseKey, "client_disconnect"}},
	},
	HopelessStart: {
		must:    []sign{{verdict.RuleHopelessStart, "validator"}},
		outcome: budgetattr.OutcomeDone, class: verdict.ClassInTime, cut: []string{"validator", "account"},
	},
	ReserveEaten: {
		must:    []sign{{verdict.RuleReserveEaten, "validator"}, {verdict.RulePostCancelWork, "validator"}},
		outcome: budgetattr.OutcomeDone, class: verdict.ClassInTime, cut: []string{"validator"},
	},
	LateValidation: {
		must:    []sign{{verdict.RuleLate, "edge"}, {verdict.RuleReserveEaten, "edge"}},
		outcome: budgetattr.OutcomeDone, class: verdict.ClassLateOrFailed, spentIn: "edge",
	},
	ExpiredInQueue: {
		must:    []sign{{verdict.RuleExpiredInQueue, "archive"}},
		outcome: budgetattr.OutcomeDone, class: verdict.ClassInTime,
	},
	UncertainEffect: {
		must:    []sign{{verdict.RuleUncertain, "archive"}},
		outcome: budgetattr.OutcomeDone, class: verdict.ClassInTime, cut: []string{"archive"},
	},
	DetachedWork: {
		must:    []sign{{verdict.RuleDetachedWork, "edge"}},
		outcome: budgetattr.OutcomeDone, class: verdict.ClassInTime,
	},
	HopLeftOpen: {
		must:    []sign{{verdict.RuleStillRunning, "edge"}},
		outcome: budgetattr.OutcomeDone, class: verdict.ClassInTime,
	},
}

// noticedLate is how long after the end of its time a service on a busy machine may notice it.
const noticedLate = 500 * time.Millisecond

// brings reports whether the fault explains the finding.
func (s symptom) brings(f verdict.Finding) bool {
	switch {
	case !f.Severity.Violation(), slices.Contains(s.must, sign{f.Rule, f.Service}):
		return true
	case !slices.Contains(s.cut, f.Service):
		return false
	}
	switch f.Rule {
	case verdict.RuleExhausted, verdict.RuleLocalSpend:
		return true
	case verdict.RuleOrphanWork, verdict.RulePostCancelWork, verdict.RuleReserveEaten, verdict.RuleLate:
		return time.Duration(f.Amount) < noticedLate
	}
	return false
}

func (s symptom) missing(found []verdict.Finding) []sign {
	return slices.DeleteFunc(slices.Clone(s.must), func(m sign) bool {
		return slices.ContainsFunc(found, func(f verdict.Finding) bool { return sign{f.Rule, f.Service} == m })
	})
}

func TestStatementNamesEachFaultAlone(t *testing.T) {
	// Budgets are four times what they are in real time, so that a stall of the machine is no fault of its own.
	const each = 3
	var effects []Effect
	kept := &memory{}
	d, err := Start(t.Context(), Config{
		Spans: kept, Timing: Timing{Work: 1, Limits: 4},
		Faults: NewInjector(nil, nil, func(e Effect) { effects = append(effects, e) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	var sending sync.WaitGroup
	slots := make(chan struct{}, 20) // all at once would be a fault of their own
	for n, fault := range slices.Repeat(Faults(), each) {
		c := d.clientOf(rand.New(rand.NewPCG(uint64(n), 0)), []Fault{fault}, "")
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			c.send(t.Context())
		})
	}
	sending.Wait()
	if _, err := d.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	all, spans := statements(kept.spans), map[string][]span.Span{}
	for _, s := range tracefile.Spans(kept.spans) {
		spans[s.Trace.String()] = append(spans[s.Trace.String()], s)
	}
	for _, fault := range Faults() {
		t.Run(string(fault), func(t *testing.T) {
			want, described := symptoms[fault]
			if !described {
				t.Fatal("nobody says what this fault must show")
			}
			seen := map[string]bool{}
			for _, e := range effects {
				if e.Fault == fault && !seen[e.TraceID] {
					seen[e.TraceID] = true
					want.check(t, all[e.TraceID], spans[e.TraceID])
				}
			}
			if len(seen) == 0 {
				t.Errorf("%d requests, and it never took effect", each)
			}
		})
	}
}

func (s symptom) check(t *testing.T, got *verdict.Statement, spans []span.Span) {
	t.Helper()
	if got == nil {
		t.Error("no spans of a trace in which the fault took effect")
		return
	}
	if got.Outcome != s.outcome || got.Class != s.class {
		t.Errorf("outcome %s, class %s; want %s, %s\n%s", got.Outcome, got.Class, s.outcome, s.class, findings(got))
	}
	if s.spentIn != "" && got.SpentIn.Service != s.spentIn {
		t.Errorf("most was spent in %s (%s), want %s", got.SpentIn.Service, got.SpentIn.Stage, s.spentIn)
	}
	if missing := s.missing(got.Findings); len(missing) > 0 {
		t.Errorf("the statement does not name %v\n%s", missing, findings(got))
	}
	for _, m := range s.marks {
		if !slices.ContainsFunc(spans, m.on) {
			t.Errorf("trace %s: no hop %s with %s %s", got.TraceID, m.stage, m.key, m.value)
		}
	}
	for _, f := range got.Findings {
		if !s.brings(f) {
			t.Errorf("the fault does not bring %s on %s: %s", f.Rule, f.Service, f.Text)
		}
	}
}

// on reports whether the span bears the mark.
func (m mark) on(s span.Span) bool {
	yes, _ := s.Attrs.Bool(m.key)
	return s.Attrs.String(budgetattr.StageKey) == m.stage && (s.Attrs.String(m.key) == m.value || yes && m.value == "true")
}

func findings(s *verdict.Statement) string {
	text := "findings of trace " + s.TraceID + ":"
	for _, f := range s.Findings {
		text += fmt.Sprintf("\n  %s on %s: %s", f.Rule, f.Service, f.Text)
	}
	return text
}

func TestCleanRequestsShowNoViolation(t *testing.T) {
	// Budgets stay far above the work, however busy the machine is.
	load := Load{Requests: 1000, Concurrency: 16, Seed: 1}
	spans, effects, answers := play(t, Timing{Work: 0.1, Limits: 20}, nil, load)
	if answers[200] != load.Requests || len(effects) != 0 {
		t.Errorf("%d clean requests: answers %v, effects %v", load.Requests, answers, effects)
	}
	all := statements(spans)
	if len(all) != load.Requests {
		t.Errorf("%d traces of %d requests", len(all), load.Requests)
	}
	for _, s := range all {
		if s.Budget == nil || s.Margin == nil || !s.Complete {
			t.Errorf("trace %s: budget %v, margin %v, complete %v", s.TraceID, s.Budget, s.Margin, s.Complete)
		}
		if s.FirstViolation != "" {
			t.Errorf("clean request: %s", findings(s))
		}
	}
}

// TestRemainderNeverGrows sends requests that ask for all kinds of budgets, some far too small, through all services.
func TestRemainderNeverGrows(t *testing.T) {
	rates := map[Fault]float64{TightBudget: 0.3, ClientLeaves: 0.1, LateResult: 0.1}
	spans, _, _ := play(t, Timing{Work: 0.1, Limits: 0.25}, rates, Load{Requests: 1000, Concurrency: 16, Seed: 3})
	all := tracefile.Spans(spans)
	byID := make(map[span.ID]*span.Span, len(all))
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	compared := 0
	for i := range all {
		s := &all[i]
		left, ok := remainderAtStart(s)
		parent := byID[s.Parent]
		if !ok || parent == nil {
			continue
		}
		above, ok := remainderAtStart(parent)
		if !ok {
			t.Errorf("%s of %s has a budget, its parent %s has none", s.Name, s.Service, parent.Name)
			continue
		}
		compared++
		if left > above {
			t.Errorf("%s of %s had %v left at its start, its parent %s only %v", s.Name, s.Service, left, parent.Name, above)
		}
		if allowed, ok := s.Attrs.Seconds(budgetattr.AllowanceKey); ok && allowed > max(above, 0) {
			t.Errorf("%s of %s was allowed %v of the %v that %s had left", s.Name, s.Service, allowed, above, parent.Name)
		}
	}
	if compared < 2000 {
		t.Errorf("only %d spans have a parent to compare with", compared)
	}
}

// remainderAtStart is what an entry received or a hop had left.
func remainderAtStart(s *span.Span) (time.Duration, bool) {
	if d, ok := s.Attrs.Seconds(budgetattr.BudgetReceivedKey); ok {
		return d, true
	}
	return s.Attrs.Seconds(budgetattr.RemainingBeforeKey)
}
