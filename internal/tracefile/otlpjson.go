package tracefile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// readResourceSpans reads one element of resourceSpans, in any spelling of its keys.
func readResourceSpans(s *sink, o object, at Position) error {
	res := &resourcepb.Resource{Attributes: otlpAttrs(child(o, "resource"), 0)}
	found := false
	for _, key := range otlpScopes {
		for i, group := range recordsOf(s, o, key, at) {
			found = true
			group, ok := group.(map[string]any)
			if !ok {
				s.refuse(withPath(at, joinPath(at.Path, fmt.Sprintf("%s[%d]", key, i))), "not an object")
				continue
			}
			sc := readScope(child(group, "scope", "instrumentationLibrary", "instrumentation_library"))
			sc.schema = text(group, "schemaUrl", "schema_url")
			for n, sp := range recordsOf(s, group, "spans", withPath(at, joinPath(at.Path, fmt.Sprintf("%s[%d]", key, i)))) {
				here := withPath(at, joinPath(at.Path, fmt.Sprintf("%s[%d].spans[%d]", key, i, n)))
				span, ok := sp.(map[string]any)
				if !ok {
					s.refuse(here, "not an object")
					continue
				}
				if err := readSpan(s, res, sc, span, here); err != nil {
					return err
				}
			}
		}
	}
	if !found && !has(o, "resource") && !has(o, otlpScopes...) {
		s.refuse(at, "no resource spans; its keys: %s", keyList(o))
	}
	return nil
}

// recordsOf returns a list of records; anything else in its place is refused, so that nothing is lost in silence.
func recordsOf(s *sink, o object, key string, at Position) []any {
	value := get(o, key)
	records, ok := value.([]any)
	if !ok && value != nil {
		s.refuse(withPath(at, joinPath(at.Path, key)), "not a list")
	}
	return records
}

func readScope(o object) scope {
	return scope{name: clean(text(o, "name")), version: clean(text(o, "version")), attrs: otlpAttrs(o, 0)}
}

var emptyResource = &resourcepb.Resource{}

func readSpan(s *sink, res *resourcepb.Resource, sc scope, o object, at Position) error {
	if res == nil {
		res = emptyResource
	}
	sp := &tracepb.Span{
		Name:                   clean(text(o, "name")),
		TraceState:             clean(text(o, "traceState", "trace_state")),
		Flags:                  uintOf(o, "flags"),
		Kind:                   spanKind(text(o, "kind")),
		Attributes:             otlpAttrs(o, 0),
		DroppedAttributesCount: uintOf(o, "droppedAttributesCount", "dropped_attributes_count"),
		DroppedEventsCount:     uintOf(o, "droppedEventsCount", "dropped_events_count"),
		DroppedLinksCount:      uintOf(o, "droppedLinksCount", "dropped_links_count"),
	}
	setIDs(sp, text(o, "traceId", "trace_id"), text(o, "spanId", "span_id"), text(o, "parentSpanId", "parent_span_id"))
	if err := setTimes(sp, text(o, "startTimeUnixNano", "start_time_unix_nano"),
		text(o, "endTimeUnixNano", "end_time_unix_nano")); err != nil {
		s.refuse(at, "%v", err)
		return nil
	}
	if status := child(o, "status"); status != nil {
		sp.Status = &tracepb.Status{Code: statusCode(text(status, "code")), Message: clean(text(status, "message"))}
	}
	for _, e := range objects(o, "events") {
		t, _, err := anyTime(text(e, "timeUnixNano", "time_unix_nano"), time.Nanosecond)
		if err != nil {
			t = sp.StartTimeUnixNano
		}
		sp.Events = append(sp.Events, &tracepb.Span_Event{Name: clean(text(e, "name")), TimeUnixNano: t, Attributes: otlpAttrs(e, 0)})
	}
	for _, l := range objects(o, "links") {
		sp.Links = appendLink(sp.Links, text(l, "traceId", "trace_id"), text(l, "spanId", "span_id"),
			text(l, "traceState", "trace_state"), otlpAttrs(l, 0))
	}
	return s.add(at, OTLPJSON, res, sc, sp)
}

// setTimes reads start and end in nanoseconds; no end means that the span ends when it starts.
func setTimes(sp *tracepb.Span, start, end string) (err error) {
	var ok bool
	if sp.StartTimeUnixNano, ok, err = anyTime(start, time.Nanosecond); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if !ok {
		return errNoStart
	}
	if sp.EndTimeUnixNano, _, err = anyTime(end, time.Nanosecond); err != nil {
		return fmt.Errorf("end: %w", err)
	}
	return nil
}

func appendLink(links []*tracepb.Span_Link, trace, id, state string, attrs []*commonpb.KeyValue) []*tracepb.Span_Link {
	link := &tracepb.Span_Link{TraceState: clean(state), Attributes: attrs}
	link.TraceId, _ = traceID(trace)
	link.SpanId, _ = spanID(id)
	if link.TraceId == nil || link.SpanId == nil {
		return links
	}
	return append(links, link)
}

func otlpAttrs(o object, depth int) []*commonpb.KeyValue {
	if plain := child(o, "attributes"); plain != nil {
		return plainAttrs(plain, depth)
	}
	return keyValues(objects(o, "attributes"), depth)
}

func keyValues(list []object, depth int) []*commonpb.KeyValue {
	attrs := make([]*commonpb.KeyValue, 0, len(list))
	for _, kv := range list {
		if key := text(kv, "key"); key != "" {
			attrs = append(attrs, &commonpb.KeyValue{Key: clean(key), Value: otlpValue(kv["value"], depth)})
		}
	}
	return attrs
}

func otlpValue(v any, depth int) *commonpb.AnyValue {
	o, ok := v.(map[string]any)
	switch {
	case !ok:
		return plainValue(v, depth)
	case depth >= maxValueDepth:
		return stringValue(jsonText(o))
	case has(o, "stringValue", "string_value"):
		return stringValue(text(o, "stringValue", "string_value"))
	case has(o, "boolValue", "bool_value"):
		return boolValue(text(o, "boolValue", "bool_value") == "true")
	case has(o, "intValue", "int_value"):
		return numberValue(text(o, "intValue", "int_value"))
	case has(o, "doubleValue", "double_value"):
		t := text(o, "doubleValue", "double_value")
		if f, err := strconv.ParseFloat(t, 64); err == nil || math.IsInf(f, 0) {
			return doubleValue(f)
		}
		return stringValue(t)
	case has(o, "bytesValue", "bytes_value"):
		return bytesValue(text(o, "bytesValue", "bytes_value"))
	case has(o, "arrayValue", "array_value"):
		elements := list(child(o, "arrayValue", "array_value"), "values")
		values := make([]*commonpb.AnyValue, len(elements))
		for i := range elements {
			values[i] = otlpValue(elements[i], depth+1)
		}
		return arrayValue(values)
	case has(o, "kvlistValue", "kvlist_value"):
		values := keyValues(objects(child(o, "kvlistValue", "kvlist_value"), "values"), depth+1)
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: values}}}
	}
	return &commonpb.AnyValue{}
}

// spanKind reads the number of OTLP or a name in any spelling: SPAN_KIND_SERVER, SpanKind.SERVER, KIND_SERVER, Server.
func spanKind(text string) tracepb.Span_SpanKind {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 0 || n > int(tracepb.Span_SPAN_KIND_CONSUMER) {
			return tracepb.Span_SPAN_KIND_UNSPECIFIED
		}
		return tracepb.Span_SpanKind(n)
	}
	name := strings.ToUpper(text)
	name = name[strings.LastIndexAny(name, "._")+1:]
	return tracepb.Span_SpanKind(tracepb.Span_SpanKind_value["SPAN_KIND_"+name])
}

// statusCode does the same for a status: 2, STATUS_CODE_ERROR, StatusCode.ERROR, Error.
func statusCode(text string) tracepb.Status_StatusCode {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 0 || n > int(tracepb.Status_STATUS_CODE_ERROR) {
			return tracepb.Status_STATUS_CODE_UNSET
		}
		return tracepb.Status_StatusCode(n)
	}
	name := strings.ToUpper(text)
	name = name[strings.LastIndexAny(name, "._")+1:]
	return tracepb.Status_StatusCode(tracepb.Status_StatusCode_value["STATUS_CODE_"+name])
}
