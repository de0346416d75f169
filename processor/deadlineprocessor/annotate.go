package deadlineprocessor

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/processor/deadlineprocessor/internal/metadata"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

type annotator struct {
	classifier *classify.Classifier
	telemetry  *metadata.TelemetryBuilder
	readers    sync.Pool // of *reader
}

// process annotates in place.
func (a *annotator) process(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	n := a.annotateAll(td)
	n.add(ctx, a.telemetry)
	return td, nil
}

// annotateAll looks at each span once. Most say nothing about a budget or an end; those with well-formed facts are judged by
// what the look has read, and few are read whole.
func (a *annotator) annotateAll(td ptrace.Traces) (n tally) {
	r, _ := a.readers.Get().(*reader)
	if r == nil {
		r = newReader(a.classifier)
	}
	defer a.readers.Put(r)
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, in := range ss.Spans().All() {
				n.valid(in)
				switch r.look(in) {
				case facts:
					r.judge(in, &n)
				case more:
					a.annotate(r, in, &n)
				}
			}
		}
	}
	return n
}

// annotate reads a span whole, and asks the classification.
func (a *annotator) annotate(r *reader, in ptrace.Span, n *tally) {
	n.judged++
	s := r.read(in)
	n.bad += r.bad
	rules := s.Attrs.String(budgetattr.InferredRuleKey)
	if source := a.classifier.Annotate(s); source != "" {
		n.source(source)
	}
	v := verdict.JudgeSpan(s)
	v.Annotate(s)
	if v.Late {
		n.late++
	}
	if r.write(in.Attributes(), rules) {
		n.annotated++
	}
	if set, _ := s.Attrs.Bool(budgetattr.InferredKey); set {
		n.inferred++
	}
}

// tally counts one batch.
type tally struct {
	judged, annotated, late, inferred, bad int64

	sources []counted[classify.Source]
	invalid []counted[hop.Reason]
}

type counted[T ~string] struct {
	what T
	n    int64
}

func count[T ~string](list []counted[T], what T) []counted[T] {
	i := slices.IndexFunc(list, func(c counted[T]) bool { return c.what == what })
	if i < 0 {
		return append(list, counted[T]{what, 1})
	}
	list[i].n++
	return list
}

func (n *tally) source(s classify.Source) { n.sources = count(n.sources, s) }

// valid counts a span that storage could not hold. It passes all the same.
func (n *tally) valid(in ptrace.Span) {
	reason := hop.Check(span.TraceID(in.TraceID()), span.ID(in.SpanID()), uint64(in.StartTimestamp()), uint64(in.EndTimestamp()))
	if reason != hop.ReasonNone {
		n.invalid = count(n.invalid, reason)
	}
}

func (n *tally) add(ctx context.Context, t *metadata.TelemetryBuilder) {
	t.ProcessorDeadlineJudgedSpans.Add(ctx, n.judged)
	t.ProcessorDeadlineAnnotatedSpans.Add(ctx, n.annotated)
	t.ProcessorDeadlineLateSpans.Add(ctx, n.late)
	t.ProcessorDeadlineInferredSpans.Add(ctx, n.inferred)
	t.ProcessorDeadlineBadAttributes.Add(ctx, n.bad)
	for _, c := range n.sources {
		t.ProcessorDeadlineClassifiedSpans.Add(ctx, c.n, metric.WithAttributes(attribute.String("source", string(c.what))))
	}
	for _, c := range n.invalid {
		t.ProcessorDeadlineInvalidSpans.Add(ctx, c.n, metric.WithAttributes(attribute.String("reason", string(c.what))))
	}
}
