package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// written are the attributes that both must write alike. The name of a rule that classifies is ours alone.
var written = []string{budgetattr.MarginKey, budgetattr.UsedRatioKey, budgetattr.LateKey, budgetattr.OutcomeKey, budgetattr.CancelCauseKey,
	budgetattr.TimeoutPhaseKey, budgetattr.PostCancelTimeKey, budgetattr.InferredKey, budgetattr.InferredRuleKey}

// agree checks that both write the same attributes on what is measured and on one span of each kind that instrumentation writes: a
// comparison of two different jobs says nothing.
func agree(ctx context.Context, ways []*way) error {
	var errs []error
	for _, input := range []func() ptrace.Traces{func() ptrace.Traces { return batch(0) }, samples} {
		ours, theirs := input(), input()
		if err := errors.Join(ways[0].processor.ConsumeTraces(ctx, ours), ways[1].processor.ConsumeTraces(ctx, theirs)); err != nil {
			return err
		}
		for i, rs := range ours.ResourceSpans().All() {
			for j, a := range rs.ScopeSpans().At(0).Spans().All() {
				b := theirs.ResourceSpans().At(i).ScopeSpans().At(0).Spans().At(j)
				for _, key := range written {
					if x, y := value(a, key), value(b, key); !alike(a, key, x, y) {
						errs = append(errs, fmt.Errorf("%s: %s writes %s = %v, %s %v", a.Name(), ways[0].name, key, x, ways[1].name, y))
					}
				}
			}
		}
	}
	return errors.Join(errs...)
}

func value(s ptrace.Span, key string) any {
	if v, ok := s.Attributes().Get(key); ok {
		return v.AsRaw()
	}
	return nil
}

func alike(ours ptrace.Span, key string, x, y any) bool {
	if f, ok := x.(float64); ok {
		g, ok := y.(float64)
		return ok && math.Abs(f-g) < 1e-6
	}
	if key == budgetattr.InferredRuleKey && (value(ours, budgetattr.CancelCauseKey) != nil || value(ours, budgetattr.TimeoutPhaseKey) != nil || value(ours, budgetattr.OutcomeKey) == "failed") {
		return true
	}
	return x == y
}

// samples returns spans of a second, one of each kind.
func samples() ptrace.Traces {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	add := func(name string, kind ptrace.SpanKind, code ptrace.StatusCode, message string, attrs map[string]any) ptrace.Span {
		s := spans.AppendEmpty()
		s.SetTraceID(pcommon.TraceID{2})
		s.SetSpanID(spanID(uint64(spans.Len())))
		s.SetParentSpanID(spanID(99))
		s.SetName(name)
		s.SetKind(kind)
		s.SetStartTimestamp(1_700_000_000_000_000_000)
		s.SetEndTimestamp(1_700_000_001_000_000_000)
		s.Status().SetCode(code)
		s.Status().SetMessage(message)
		if err := s.Attributes().FromRaw(attrs); err != nil {
			panic(err)
		}
		return s
	}
	const (
		server, client, internal = ptrace.SpanKindServer, ptrace.SpanKindClient, ptrace.SpanKindInternal
		unset, failed            = ptrace.StatusCodeUnset, ptrace.StatusCodeError
	)
	for _, status := range []int{200, 404, 408, 460, 499, 500, 504, 522, 524} {
		for _, key := range []string{"http.response.status_code", "http.status_code"} {
			add(fmt.Sprint(key, " ", status, " served"), server, unset, "", map[string]any{key: status})
			add(fmt.Sprint(key, " ", status, " called"), client, unset, "", map[string]any{key: status})
		}
	}
	for _, status := range []int{0, 1, 2, 4, 5, 13, 14} {
		for _, kind := range []ptrace.SpanKind{server, client, internal} {
			add(fmt.Sprint("grpc ", status, kind), kind, unset, "", map[string]any{"rpc.grpc.status_code": status})
		}
	}
	add("grpc by name", client, unset, "", map[string]any{"rpc.response.status_code": "DEADLINE_EXCEEDED"})
	for _, flags := range []string{"-", "UT", "UF,DC", "SI", "UF"} {
		add("flags "+flags, client, unset, "", map[string]any{"response_flags": flags})
	}
	add("envoy canceled", client, unset, "", map[string]any{"canceled": true, "component": "proxy"})
	add("error tag", server, unset, "", map[string]any{"error": true})
	add("error tag without", server, unset, "", map[string]any{"error": false})
	for _, text := range []string{"Read timed out", "payment declined", "connect ETIMEDOUT 10.0.0.1:443", "dial tcp 10.0.0.1:80: i/o timeout", "pq: canceling statement due to statement timeout"} {
		add("text "+text, client, failed, text, nil)
		add("healthy "+text, client, unset, text, nil)
	}
	add("type", client, failed, "", map[string]any{"error.type": "httpx.PoolTimeout"})
	add("code", client, failed, "", map[string]any{"db.system.name": "postgresql", "db.response.status_code": "57014"})
	e := add("exception", client, failed, "", nil).Events().AppendEmpty()
	e.SetName("exception")
	e.Attributes().PutStr("exception.type", "ReadTimeout")
	const b = budgetattr.BudgetReceivedKey
	add("budget", server, unset, "", map[string]any{b: 1.5})
	add("late", server, unset, "", map[string]any{b: 0.5})
	add("failed", server, failed, "", map[string]any{b: 0.5})
	add("refused", server, unset, "", map[string]any{b: 0.0, budgetattr.BudgetSourceKey: "refused"})
	add("expiry", server, unset, "", map[string]any{b: 1.5, budgetattr.GovernedByKey: "expiry"})
	add("first output", server, unset, "", map[string]any{b: 0.5, budgetattr.MarginAtKey: "first_output", budgetattr.FirstOutputTimeKey: 0.3})
	add("recorded", server, unset, "", map[string]any{b: 0.5, budgetattr.MarginKey: 0.1, budgetattr.OutcomeKey: "degraded"})
	add("cancelled", server, unset, "", map[string]any{b: 1.5, budgetattr.CancelCauseKey: "client_disconnect", budgetattr.CancelAfterKey: 0.3, budgetattr.DrainTimeKey: 0.1})
	add("call with a cause", client, failed, "", map[string]any{budgetattr.CancelCauseKey: "local_deadline", budgetattr.CancelAfterKey: 0.9})
	return td
}
