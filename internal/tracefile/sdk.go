package tracefile

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// resourceOf returns one resource for equal attributes within a batch, so that spans printed one by one are grouped.
func (s *sink) resourceOf(attrs []*commonpb.KeyValue) *resourcepb.Resource {
	var key strings.Builder
	for _, kv := range attrs {
		fmt.Fprintf(&key, "%q=%q,", kv.Key, kv.Value.String())
	}
	res := s.resources[key.String()]
	if res == nil {
		res = &resourcepb.Resource{Attributes: attrs}
		s.resources[key.String()] = res
	}
	return res
}

// readPythonSpan reads what the console exporters of Python and PHP print.
func readPythonSpan(s *sink, o object, at Position) error {
	context := child(o, "context")
	sp := &tracepb.Span{Name: clean(text(o, "name")), Kind: spanKind(text(o, "kind")), Attributes: otlpAttrs(o, 0)}
	if state := text(context, "trace_state"); state != "[]" {
		sp.TraceState = clean(state)
	}
	setIDs(sp, text(context, "trace_id"), text(context, "span_id"), text(o, "parent_id", "parent_span_id"))
	if err := setTimes(sp, text(o, "start_time", "start"), text(o, "end_time", "end")); err != nil {
		s.refuse(at, "%v", err)
		return nil
	}
	if status := child(o, "status"); status != nil {
		sp.Status = &tracepb.Status{Code: statusCode(text(status, "status_code", "code")), Message: clean(text(status, "description"))}
	}
	for _, e := range objects(o, "events") {
		sp.Events = append(sp.Events, sdkEvent(sp, e, "timestamp"))
	}
	for _, l := range objects(o, "links") {
		target := child(l, "context")
		sp.Links = appendLink(sp.Links, text(target, "trace_id"), text(target, "span_id"), "", otlpAttrs(l, 0))
	}
	resource := child(o, "resource")
	if attrs := child(resource, "attributes"); attrs != nil {
		resource = attrs
	}
	sc := readScope(child(o, "instrumentation_scope", "instrumentation_info"))
	return s.add(at, SDKJSON, s.resourceOf(plainAttrs(resource, 0)), sc, sp)
}

func sdkEvent(sp *tracepb.Span, e object, timeKey string) *tracepb.Span_Event {
	t, ok, err := anyTime(text(e, timeKey, "time"), time.Nanosecond)
	if err != nil || !ok {
		t = sp.StartTimeUnixNano
	}
	return &tracepb.Span_Event{Name: clean(text(e, "name")), TimeUnixNano: t, Attributes: otlpAttrs(e, 0)}
}

// readGoSpan reads what stdouttrace of Go prints.
func readGoSpan(s *sink, o object, at Position) error {
	context := child(o, "SpanContext")
	sp := &tracepb.Span{
		Name: clean(text(o, "Name")), Kind: spanKind(text(o, "SpanKind")), TraceState: clean(text(context, "TraceState")),
		Attributes: goAttrs(o, "Attributes"),
	}
	setIDs(sp, text(context, "TraceID"), text(context, "SpanID"), text(child(o, "Parent"), "SpanID"))
	if err := setTimes(sp, text(o, "StartTime"), text(o, "EndTime")); err != nil {
		s.refuse(at, "%v", err)
		return nil
	}
	if status := child(o, "Status"); status != nil {
		sp.Status = &tracepb.Status{Code: statusCode(text(status, "Code")), Message: clean(text(status, "Description"))}
	}
	for _, e := range objects(o, "Events") {
		t, err := textTime(text(e, "Time"))
		if err != nil {
			t = sp.StartTimeUnixNano
		}
		sp.Events = append(sp.Events, &tracepb.Span_Event{Name: clean(text(e, "Name")), TimeUnixNano: t, Attributes: goAttrs(e, "Attributes")})
	}
	for _, l := range objects(o, "Links") {
		target := child(l, "SpanContext")
		sp.Links = appendLink(sp.Links, text(target, "TraceID"), text(target, "SpanID"), text(target, "TraceState"), goAttrs(l, "Attributes"))
	}
	library := child(o, "InstrumentationScope", "InstrumentationLibrary")
	sc := scope{name: clean(text(library, "Name")), version: clean(text(library, "Version")), schema: clean(text(library, "SchemaURL"))}
	return s.add(at, SDKJSON, s.resourceOf(goAttrs(o, "Resource")), sc, sp)
}

func goAttrs(o object, key string) []*commonpb.KeyValue {
	var attrs []*commonpb.KeyValue
	for _, kv := range objects(o, key) {
		value := child(kv, "Value")
		v := plainValue(value["Value"], 0)
		if text(value, "Type") == "FLOAT64" {
			if f, err := strconv.ParseFloat(text(value, "Value"), 64); err == nil {
				v = doubleValue(f)
			}
		}
		attrs = append(attrs, &commonpb.KeyValue{Key: clean(text(kv, "Key")), Value: v})
	}
	return attrs
}

// readJavaScriptSpan reads the object that the console exporter of JavaScript shows, written as JSON: microseconds, and
// kinds counted from INTERNAL as 0.
func readJavaScriptSpan(s *sink, o object, at Position) error {
	sp := &tracepb.Span{Name: clean(text(o, "name")), TraceState: clean(text(o, "traceState")), Attributes: otlpAttrs(o, 0)}
	if n, err := strconv.Atoi(text(o, "kind")); err == nil && n >= 0 && n < int(tracepb.Span_SPAN_KIND_CONSUMER) {
		sp.Kind = tracepb.Span_SpanKind(n + 1)
	}
	parent := text(child(o, "parentSpanContext"), "spanId")
	if parent == "" {
		parent = text(o, "parentId", "parentSpanId")
	}
	setIDs(sp, text(o, "traceId"), text(o, "id"), parent)
	start, duration, err := zipkinTimes(o)
	if err != nil {
		s.refuse(at, "%v", err)
		return nil
	}
	sp.StartTimeUnixNano, sp.EndTimeUnixNano = start, endAfter(start, duration)
	if status := child(o, "status"); status != nil {
		sp.Status = &tracepb.Status{Code: statusCode(text(status, "code")), Message: clean(text(status, "message"))}
	}
	for _, e := range objects(o, "events") {
		sp.Events = append(sp.Events, javaScriptEvent(sp, e))
	}
	for _, l := range objects(o, "links") {
		target := child(l, "context")
		sp.Links = appendLink(sp.Links, text(target, "traceId"), text(target, "spanId"), "", otlpAttrs(l, 0))
	}
	sc := readScope(child(o, "instrumentationScope"))
	return s.add(at, SDKJSON, s.resourceOf(otlpAttrs(child(o, "resource"), 0)), sc, sp)
}

// javaScriptEvent reads a time of two numbers, seconds and nanoseconds.
func javaScriptEvent(sp *tracepb.Span, e object) *tracepb.Span_Event {
	event := &tracepb.Span_Event{Name: clean(text(e, "name")), TimeUnixNano: sp.StartTimeUnixNano, Attributes: otlpAttrs(e, 0)}
	if pair := list(e, "time"); len(pair) == 2 {
		seconds, _, err := scaledTime(scalarText(pair[0]), time.Second)
		nanos, _, err2 := scaledTime(scalarText(pair[1]), time.Nanosecond)
		if err == nil && err2 == nil {
			event.TimeUnixNano = endAfter(seconds, nanos)
		}
	}
	return event
}
