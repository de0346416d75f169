package deadlineprocessor

import (
	"context"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
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

// process annotates in place. Most spans say nothing about a budget or an end; they are looked at once and not read.
func (a *annotator) process(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	r, _ := a.readers.Get().(*reader)
	if r == nil {
		r = newReader(a.classifier)
	}
	defer a.readers.Put(r)
	var n tally
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, in := range ss.Spans().All() {
				n.valid(in)
				if r.concerns(in) {
					a.annotate(r, in, &n)
				}
			}
		}
	}
	n.add(ctx, a.telemetry)
	return td, nil
}

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

// outputs are the attributes that the processor may add.
var outputs = [...]string{
	budgetattr.BudgetReceivedKey, budgetattr.RemainingBeforeKey, budgetattr.MarginKey, budgetattr.LateKey, budgetattr.UsedRatioKey,
	budgetattr.OutcomeKey, budgetattr.TimeoutPhaseKey, budgetattr.CancelCauseKey, budgetattr.PostCancelTimeKey,
	budgetattr.InferredKey, budgetattr.InferredRuleKey,
}

// reader reads one span after the other into the same memory: of the attributes only those that a judgement reads.
type reader struct {
	classifier *classify.Classifier
	span       span.Span
	// failed: the span may say that it failed, so that its events are read.
	failed bool
	// had marks the outputs that the span came with.
	had [len(outputs)]bool
	bad int64
}

func newReader(c *classify.Classifier) *reader {
	return &reader{classifier: c, span: span.Span{Attrs: span.Attributes{}}}
}

// concerns looks at a span once and reports whether anything on it may lead to a new attribute. It reports so once too often
// rather than too seldom.
func (r *reader) concerns(in ptrace.Span) bool {
	r.failed = in.Status().Code() == ptrace.StatusCodeError || hasErrorEvent(in.Events())
	speaks := r.failed
	for name, v := range in.Attributes().All() {
		if strings.HasPrefix(name, budgetattr.Prefix) {
			speaks = true
			continue
		}
		key := r.classifier.Look(name)
		if key <= classify.KeyNone || key == classify.KeyDetail {
			continue
		}
		said := false
		switch v.Type() {
		case pcommon.ValueTypeStr:
			said = r.classifier.Speaks(key, v.Str())
		case pcommon.ValueTypeInt:
			said = r.classifier.SpeaksInt(key, v.Int())
		case pcommon.ValueTypeBool:
			said = v.Bool()
		default:
			said = true
		}
		speaks = speaks || said
		r.failed = r.failed || said && (key == classify.KeyTag || key == classify.KeyType)
	}
	return speaks
}

// hasErrorEvent finds the log by which OpenTracing tells an error.
func hasErrorEvent(events ptrace.SpanEventSlice) bool {
	for _, e := range events.All() {
		if e.Name() == "error" {
			return true
		}
		for key, v := range e.Attributes().All() {
			if key == "error.object" || key == "error" || key == "event" && v.Str() == "error" {
				return true
			}
		}
	}
	return false
}

// read returns the span as plain values, valid until the next call.
func (r *reader) read(in ptrace.Span) *span.Span {
	s := &r.span
	s.Parent = span.ID(in.ParentSpanID())
	s.Kind, s.Status, s.StatusMessage = span.Kind(in.Kind()), span.Status(in.Status().Code()), in.Status().Message()
	s.Start, s.End = int64(in.StartTimestamp()), int64(in.EndTimestamp())
	clear(s.Attrs)
	r.had, r.bad = [len(outputs)]bool{}, 0
	for key, v := range in.Attributes().All() {
		fact := strings.HasPrefix(key, budgetattr.Prefix)
		if !fact && r.classifier.Look(key) == classify.KeyNone {
			continue
		}
		value := plain(v)
		if value != nil {
			s.Attrs[key] = value
		}
		if !fact {
			continue
		}
		if i := slices.Index(outputs[:], key); i >= 0 {
			r.had[i] = true
		}
		if value == nil || !hop.Sensible(s.Attrs, key) {
			r.bad++
		}
	}
	s.Events = s.Events[:0]
	if r.failed {
		r.readEvents(in.Events())
	}
	return s
}

func (r *reader) readEvents(events ptrace.SpanEventSlice) {
	for _, in := range events.All() {
		e := span.Event{Name: in.Name(), Attrs: make(span.Attributes, in.Attributes().Len())}
		for key, v := range in.Attributes().All() {
			if value := plain(v); value != nil {
				e.Attrs[key] = value
			}
		}
		r.span.Events = append(r.span.Events, e)
	}
}

// plain returns a value as span.Attributes holds it; nothing that is judged is a list, bytes or a map.
func plain(v pcommon.Value) any {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return v.Str()
	case pcommon.ValueTypeInt:
		return v.Int()
	case pcommon.ValueTypeDouble:
		return v.Double()
	case pcommon.ValueTypeBool:
		return v.Bool()
	}
	return nil
}

// write adds the new attributes to those that the span came with, and reports whether there were any. Rules is what
// deadline.inferred.rule said before.
func (r *reader) write(to pcommon.Map, rules string) (added bool) {
	attrs := r.span.Attrs
	for i, key := range outputs {
		value, ok := attrs[key]
		if !ok || r.had[i] && (key != budgetattr.InferredRuleKey || value == rules) {
			continue
		}
		if !added {
			added = true
			to.EnsureCapacity(to.Len() + min(len(attrs), len(outputs))) // once, not for each
		}
		switch v := value.(type) {
		case string:
			to.PutStr(key, v)
		case bool:
			to.PutBool(key, v)
		case float64:
			to.PutDouble(key, v)
		}
	}
	return added
}
