// Package pspan reads the collector's spans as plain values.
package pspan

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Reader reads spans one after the other into the same memory. What it returns is valid until the next call. The zero value
// works; it is not safe for concurrent use.
type Reader struct {
	span span.Span
}

// Resource begins the spans of one resource.
func (r *Reader) Resource(resource pcommon.Resource) {
	r.span.Resource = attributes(r.span.Resource, resource.Attributes())
	r.span.Service = r.span.Resource.String("service.name")
}

// Scope begins the spans of one scope.
func (r *Reader) Scope(scope pcommon.InstrumentationScope) { r.span.Scope = scope.Name() }

// Span reads one span of the resource and scope.
func (r *Reader) Span(in ptrace.Span) *span.Span {
	s := &r.span
	s.Trace, s.ID, s.Parent = span.TraceID(in.TraceID()), span.ID(in.SpanID()), span.ID(in.ParentSpanID())
	s.TraceState, s.Name = in.TraceState().AsRaw(), in.Name()
	s.Kind, s.Status, s.StatusMessage = span.Kind(in.Kind()), span.Status(in.Status().Code()), in.Status().Message()
	s.Start, s.End = int64(in.StartTimestamp()), int64(in.EndTimestamp())
	s.Attrs = attributes(s.Attrs, in.Attributes())
	s.Events, s.Links = s.Events[:0], s.Links[:0]
	for i := range in.Events().Len() {
		e := in.Events().At(i)
		s.Events = append(s.Events, span.Event{Name: e.Name(), Time: int64(e.Timestamp()), Attrs: attributes(nil, e.Attributes())})
	}
	for i := range in.Links().Len() {
		l := in.Links().At(i)
		s.Links = append(s.Links, span.Link{Trace: span.TraceID(l.TraceID()), Span: span.ID(l.SpanID()), Attrs: attributes(nil, l.Attributes())})
	}
	return s
}

// Crosses reports whether a span is between processes, by its kind alone.
func Crosses(kind ptrace.SpanKind) bool {
	switch kind {
	case ptrace.SpanKindServer, ptrace.SpanKindClient, ptrace.SpanKindProducer, ptrace.SpanKindConsumer:
		return true
	}
	return false
}

// IsHop is hop.Is without reading the whole span.
func IsHop(s ptrace.Span) bool {
	return Crosses(s.Kind()) || s.ParentSpanID().IsEmpty() || HasFacts(s.Attributes())
}

// Fact reports whether an attribute is one of ours, by its key. It is asked for every attribute of every span: written this way
// it calls nothing.
func Fact(key string) bool {
	const prefix = budgetattr.Prefix
	return len(key) > len(prefix) && key[:len(prefix)] == prefix
}

// HasFacts reports whether any attribute is one of ours.
func HasFacts(attrs pcommon.Map) bool {
	for key := range attrs.All() {
		if Fact(key) {
			return true
		}
	}
	return false
}

// attributes reads a map into dst, whose memory is used again.
func attributes(dst span.Attributes, in pcommon.Map) span.Attributes {
	if dst == nil && in.Len() > 0 {
		dst = make(span.Attributes, in.Len()+4)
	}
	clear(dst)
	for key, v := range in.All() {
		if value := plain(v); value != nil {
			dst[key] = value
		}
	}
	return dst
}

// plain returns a value as span.Attributes holds it; bytes and maps are nil, for nothing reads them.
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
	case pcommon.ValueTypeSlice:
		list := make([]any, 0, v.Slice().Len())
		for i := range v.Slice().Len() {
			if item := plain(v.Slice().At(i)); item != nil {
				list = append(list, item)
			}
		}
		return list
	}
	return nil
}
