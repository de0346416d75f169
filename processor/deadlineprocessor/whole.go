package deadlineprocessor

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

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
	// known is what the look at the latest span with facts has read.
	known known
}

func newReader(c *classify.Classifier) *reader {
	return &reader{classifier: c, span: span.Span{Attrs: span.Attributes{}}}
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
