package deadlineprocessor

import (
	"context"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/metric"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/processor/pspan"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

const scopeName = "github.com/laxity-dev/laxity/processor/deadlineprocessor"

type annotator struct {
	config   classify.Config
	counters counters
	readers  sync.Pool
}

type counters struct{ annotated, late, inferred metric.Int64Counter }

func newCounters(provider metric.MeterProvider) (c counters, err error) {
	meter := provider.Meter(scopeName)
	for _, m := range []struct {
		counter           *metric.Int64Counter
		name, description string
	}{
		{&c.annotated, "otelcol_processor_deadline_annotated_spans", "Spans that got at least one attribute."},
		{&c.late, "otelcol_processor_deadline_late_spans", "Spans that were answered after their governing limit."},
		{&c.inferred, "otelcol_processor_deadline_inferred_spans", "Spans with a fact that was derived, not recorded."},
	} {
		if *m.counter, err = meter.Int64Counter(m.name, metric.WithUnit("{span}"), metric.WithDescription(m.description)); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (a *annotator) process(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	reader, _ := a.readers.Get().(*pspan.Reader)
	if reader == nil {
		reader = &pspan.Reader{}
	}
	defer a.readers.Put(reader)
	var annotated, late, inferred int64
	for _, rs := range td.ResourceSpans().All() {
		reader.Resource(rs.Resource())
		for _, ss := range rs.ScopeSpans().All() {
			reader.Scope(ss.Scope())
			for _, in := range ss.Spans().All() {
				if !a.concerns(in) {
					continue
				}
				s := reader.Span(in)
				before := facts{len(s.Attrs), s.Attrs.String(budgetattr.InferredRuleKey)}
				classify.Annotate(s, a.config)
				v := verdict.JudgeSpan(s)
				v.Annotate(s)
				if v.Late {
					late++
				}
				if after := (facts{len(s.Attrs), s.Attrs.String(budgetattr.InferredRuleKey)}); after != before {
					write(s.Attrs, in.Attributes())
					annotated++
				}
				if set, _ := s.Attrs.Bool(budgetattr.InferredKey); set {
					inferred++
				}
			}
		}
	}
	a.counters.annotated.Add(ctx, annotated)
	a.counters.late.Add(ctx, late)
	a.counters.inferred.Add(ctx, inferred)
	return td, nil
}

// facts tells whether a span got more of them.
type facts struct {
	n     int
	rules string
}

// concerns reports whether a span can say anything about a budget. Most spans inside a process do not.
func (a *annotator) concerns(s ptrace.Span) bool {
	return pspan.IsHop(s) || s.Status().Code() == ptrace.StatusCodeError || s.Events().Len() > 0 || len(a.config.BudgetFrom) > 0
}

// write copies the deadline.* attributes back, in the order of their keys.
func write(from span.Attributes, to pcommon.Map) {
	var keys []string
	for key := range from {
		if strings.HasPrefix(key, budgetattr.Prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	to.EnsureCapacity(to.Len() + len(keys))
	for _, key := range keys {
		switch v := from[key].(type) {
		case string:
			to.PutStr(key, v)
		case bool:
			to.PutBool(key, v)
		case int64:
			to.PutInt(key, v)
		case float64:
			to.PutDouble(key, v)
		}
	}
}
