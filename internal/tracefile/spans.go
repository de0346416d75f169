package tracefile

import (
	"encoding/base64"
	"encoding/json"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/internal/span"
)

// Spans returns the spans as plain values. Spans of one resource share its attributes, which must not be changed.
func Spans(resources []*tracepb.ResourceSpans) []span.Span {
	var spans []span.Span
	for _, rs := range resources {
		attrs := plain(rs.GetResource().GetAttributes())
		service := attrs.String("service.name")
		for _, ss := range rs.GetScopeSpans() {
			for _, sp := range ss.GetSpans() {
				s := fromProto(sp)
				s.Service, s.Resource, s.Scope = service, attrs, ss.GetScope().GetName()
				spans = append(spans, s)
			}
		}
	}
	return spans
}

func fromProto(sp *tracepb.Span) span.Span {
	s := span.Span{
		TraceState: sp.TraceState, Name: sp.Name, Kind: span.Kind(sp.Kind),
		Status: span.Status(sp.GetStatus().GetCode()), StatusMessage: sp.GetStatus().GetMessage(),
		Start: int64(sp.StartTimeUnixNano), End: int64(sp.EndTimeUnixNano), Attrs: plain(sp.Attributes),
	}
	copy(s.Trace[:], sp.TraceId)
	copy(s.ID[:], sp.SpanId)
	copy(s.Parent[:], sp.ParentSpanId)
	for _, e := range sp.Events {
		s.Events = append(s.Events, span.Event{Name: e.Name, Time: int64(e.TimeUnixNano), Attrs: plain(e.Attributes)})
	}
	for _, l := range sp.Links {
		link := span.Link{Attrs: plain(l.Attributes)}
		copy(link.Trace[:], l.TraceId)
		copy(link.Span[:], l.SpanId)
		s.Links = append(s.Links, link)
	}
	return s
}

func plain(kvs []*commonpb.KeyValue) span.Attributes {
	if len(kvs) == 0 {
		return nil
	}
	attrs := make(span.Attributes, len(kvs))
	for _, kv := range kvs {
		attrs[kv.Key] = plainOf(kv.Value)
	}
	return attrs
}

// plainOf returns lists as lists, maps as JSON text and bytes as base64.
func plainOf(v *commonpb.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_BoolValue:
		return v.BoolValue
	case *commonpb.AnyValue_IntValue:
		return v.IntValue
	case *commonpb.AnyValue_DoubleValue:
		return v.DoubleValue
	case *commonpb.AnyValue_BytesValue:
		return base64.StdEncoding.EncodeToString(v.BytesValue)
	case *commonpb.AnyValue_ArrayValue:
		list := make([]any, len(v.ArrayValue.GetValues()))
		for i, e := range v.ArrayValue.GetValues() {
			list[i] = plainOf(e)
		}
		return list
	case *commonpb.AnyValue_KvlistValue:
		fields := map[string]any{}
		for _, kv := range v.KvlistValue.GetValues() {
			fields[kv.Key] = plainOf(kv.Value)
		}
		b, err := json.Marshal(fields)
		if err != nil { // NaN and infinity
			return ""
		}
		return string(b)
	}
	return ""
}
