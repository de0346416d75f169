package tracefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

var errNoStart = errors.New("no start time")

// readJaegerTrace reads one trace as Jaeger's API and page write it.
func readJaegerTrace(s *sink, o object, at Position) error {
	processes := map[string]process{}
	for id, p := range child(o, "processes") {
		if p, ok := p.(map[string]any); ok {
			processes[id] = readProcess(p)
		}
	}
	var spans []*halfSpan
	for i, v := range recordsOf(s, o, "spans", at) {
		here := withPath(at, joinPath(at.Path, fmt.Sprintf("spans[%d]", i)))
		span, ok := v.(map[string]any)
		if !ok {
			s.refuse(here, "not an object")
			continue
		}
		p, ok := processes[text(span, "processID")]
		if !ok {
			p = readProcess(child(span, "process"))
		}
		sp, sc, err := jaegerSpan(span, text(o, "traceID"))
		if err != nil {
			s.refuse(here, "%v", err)
			continue
		}
		spans = append(spans, &halfSpan{Span: sp, service: p.service, resource: p.resource, scope: sc, at: here})
	}
	separateHalves(spans)
	for _, h := range spans {
		if err := s.add(h.at, Jaeger, h.resource, h.scope, h.Span); err != nil {
			return err
		}
	}
	return nil
}

// readJaegerSpan reads a span that stands alone, as Elasticsearch keeps it.
func readJaegerSpan(s *sink, o object, at Position) error {
	sp, sc, err := jaegerSpan(o, "")
	if err != nil {
		s.refuse(at, "%v", err)
		return nil
	}
	return s.add(at, Jaeger, readProcess(child(o, "process")).resource, sc, sp)
}

type process struct {
	service  string
	resource *resourcepb.Resource
}

func readProcess(o object) process {
	p := process{service: clean(text(o, "serviceName")), resource: &resourcepb.Resource{}}
	if p.service != "" {
		p.resource.Attributes = append(p.resource.Attributes, stringAttr("service.name", p.service))
	}
	for _, kv := range jaegerTags(o) {
		switch kv.Key {
		case "service.name":
			continue
		case "hostname":
			kv.Key = "host.name"
		case "client-uuid":
			kv.Key = "service.instance.id"
		}
		p.resource.Attributes = append(p.resource.Attributes, kv)
	}
	return p
}

func jaegerSpan(o object, trace string) (*tracepb.Span, scope, error) {
	if t := text(o, "traceID"); t != "" {
		trace = t
	}
	sp := &tracepb.Span{Name: clean(text(o, "operationName")), Flags: uintOf(o, "flags")}
	parent, links := jaegerReferences(o, trace)
	setIDs(sp, trace, text(o, "spanID"), parent)
	sp.Links = links
	start, ok, err := scaledTime(text(o, "startTime"), time.Microsecond)
	if err != nil {
		return nil, scope{}, fmt.Errorf("startTime: %w", err)
	}
	if !ok {
		return nil, scope{}, errNoStart
	}
	duration, _, err := scaledDuration(text(o, "duration"), time.Microsecond)
	if err != nil {
		return nil, scope{}, err
	}
	sp.StartTimeUnixNano, sp.EndTimeUnixNano = start, endAfter(start, duration)
	sc := jaegerStatus(sp, jaegerTags(o))
	for _, l := range objects(o, "logs") {
		sp.Events = append(sp.Events, jaegerLog(l, start))
	}
	if warnings := list(o, "warnings"); len(warnings) > 0 {
		sp.Attributes = append(sp.Attributes, &commonpb.KeyValue{Key: "jaeger.warnings", Value: plainValue(warnings, 0)})
	}
	return sp, sc, nil
}

// jaegerStatus moves the tags that OTLP has fields for into them. The error tag says failed unless it is false.
func jaegerStatus(sp *tracepb.Span, tags []*commonpb.KeyValue) scope {
	var sc scope
	status := &tracepb.Status{}
	for _, kv := range tags {
		value := valueText(kv.Value)
		switch kv.Key {
		case "span.kind":
			sp.Kind = spanKind(value)
			continue
		case "otel.scope.name", "otel.library.name":
			sc.name = value
			continue
		case "otel.scope.version", "otel.library.version":
			sc.version = value
			continue
		case "w3c.tracestate":
			sp.TraceState = value
			continue
		case "otel.status_code":
			if code := statusCode(value); code != tracepb.Status_STATUS_CODE_UNSET {
				status.Code = code
			}
			continue
		case "otel.status_description":
			status.Message = value
			continue
		case "error":
			if value != "false" && value != "0" {
				status.Code = tracepb.Status_STATUS_CODE_ERROR
				if value != "true" && status.Message == "" {
					status.Message = value
				}
			}
		}
		sp.Attributes = append(sp.Attributes, kv)
	}
	if status.Code != tracepb.Status_STATUS_CODE_UNSET || status.Message != "" {
		sp.Status = status
	}
	return sc
}

// jaegerReferences finds the parent: the first CHILD_OF, else the first FOLLOWS_FROM of the same trace. Every other
// reference is a link, and so is a FOLLOWS_FROM parent: the link says that nobody waited.
func jaegerReferences(o object, trace string) (parent string, links []*tracepb.Span_Link) {
	refs := objects(o, "references")
	own, _ := traceID(trace)
	chosen := -1
	for i, ref := range refs {
		id, _ := traceID(text(ref, "traceID"))
		if id != nil && string(id) != string(own) || text(ref, "spanID") == "" {
			continue
		}
		follows := text(ref, "refType") == "FOLLOWS_FROM"
		if !follows {
			chosen = i
			break
		}
		if chosen < 0 {
			chosen = i
		}
	}
	for i, ref := range refs {
		follows := text(ref, "refType") == "FOLLOWS_FROM"
		if i == chosen {
			parent = text(ref, "spanID")
			if !follows {
				continue
			}
		}
		kind := "child_of"
		if follows {
			kind = "follows_from"
		}
		refTrace := text(ref, "traceID")
		if refTrace == "" {
			refTrace = trace
		}
		links = appendLink(links, refTrace, text(ref, "spanID"), "", []*commonpb.KeyValue{stringAttr("opentracing.ref_type", kind)})
	}
	if parent == "" {
		parent = text(o, "parentSpanID")
	}
	return parent, links
}

func jaegerLog(o object, start uint64) *tracepb.Span_Event {
	event := &tracepb.Span_Event{Name: "log", TimeUnixNano: start}
	if t, ok, err := scaledTime(text(o, "timestamp"), time.Microsecond); err == nil && ok {
		event.TimeUnixNano = t
	}
	for _, kv := range jaegerKeyValues(objects(o, "fields")) {
		if kv.Key == "event" && event.Name == "log" {
			if name := valueText(kv.Value); name != "" {
				event.Name = name
				continue
			}
		}
		event.Attributes = append(event.Attributes, kv)
	}
	return event
}

// jaegerTags reads tags as a list or, where Elasticsearch keeps some as fields, as an object with @ for each dot.
func jaegerTags(o object) []*commonpb.KeyValue {
	tags := jaegerKeyValues(objects(o, "tags"))
	fields := child(o, "tag")
	for _, key := range sortedKeys(fields) {
		tags = append(tags, &commonpb.KeyValue{Key: clean(strings.ReplaceAll(key, "@", ".")), Value: plainValue(fields[key], 0)})
	}
	return tags
}

func jaegerKeyValues(list []object) []*commonpb.KeyValue {
	attrs := make([]*commonpb.KeyValue, 0, len(list))
	for _, kv := range list {
		if key := text(kv, "key"); key != "" {
			attrs = append(attrs, &commonpb.KeyValue{Key: clean(key), Value: jaegerValue(kv)})
		}
	}
	return attrs
}

// jaegerValue obeys the type beside the value: numbers too large for JavaScript are written as text.
func jaegerValue(kv object) *commonpb.AnyValue {
	value := kv["value"]
	written, isText := value.(string)
	switch strings.ToLower(text(kv, "type")) {
	case "bool":
		if isText {
			return boolValue(written == "true")
		}
	case "int64":
		if isText {
			return numberValue(written)
		}
	case "float64":
		number := written
		if n, ok := value.(json.Number); ok {
			number = string(n)
		}
		if f, err := json.Number(number).Float64(); err == nil {
			return doubleValue(f)
		}
	case "binary":
		if isText {
			return bytesValue(written)
		}
	}
	return plainValue(value, 0)
}

// valueText writes a scalar attribute value.
func valueText(v *commonpb.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *commonpb.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	}
	return ""
}
