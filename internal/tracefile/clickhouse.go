package tracefile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// readClickHouseRow reads one row of the stock otel_traces table. Times without zone are UTC, the duration is in
// nanoseconds.
func readClickHouseRow(s *sink, o object, at Position) error {
	start, ok, err := anyTime(text(o, "Timestamp"), time.Second)
	if err == nil && !ok {
		err = errNoStart
	}
	if err != nil {
		s.refuse(at, "Timestamp: %v", err)
		return nil
	}
	duration, _, err := scaledDuration(text(o, "Duration"), time.Nanosecond)
	if err != nil {
		s.refuse(at, "%v", err)
		return nil
	}
	sp := &tracepb.Span{
		Name: clean(text(o, "SpanName")), TraceState: clean(text(o, "TraceState")), Kind: spanKind(text(o, "SpanKind")),
		StartTimeUnixNano: start, EndTimeUnixNano: endAfter(start, duration), Attributes: flatAttrs(child(o, "SpanAttributes")),
		Status: &tracepb.Status{Code: statusCode(text(o, "StatusCode")), Message: clean(text(o, "StatusMessage"))},
	}
	setIDs(sp, text(o, "TraceId"), text(o, "SpanId"), text(o, "ParentSpanId"))
	clickHouseEvents(sp, o)
	traces, states, attrs := list(o, "Links.TraceId"), list(o, "Links.TraceState"), list(o, "Links.Attributes")
	for i, id := range list(o, "Links.SpanId") {
		sp.Links = appendLink(sp.Links, scalarText(elementAt(traces, i)), scalarText(id), scalarText(elementAt(states, i)), flatAttrs(asObject(elementAt(attrs, i))))
	}
	resource := flatAttrs(child(o, "ResourceAttributes"))
	if service := text(o, "ServiceName"); service != "" && !has(child(o, "ResourceAttributes"), "service.name") {
		resource = append(resource, stringAttr("service.name", service))
	}
	sc := scope{name: clean(text(o, "ScopeName")), version: clean(text(o, "ScopeVersion"))}
	return s.add(at, ClickHouse, s.resourceOf(resource), sc, sp)
}

func clickHouseEvents(sp *tracepb.Span, o object) {
	times, attrs := eventTimes(get(o, "Events.Timestamp")), list(o, "Events.Attributes")
	for i, name := range list(o, "Events.Name") {
		event := &tracepb.Span_Event{Name: clean(scalarText(name)), TimeUnixNano: sp.StartTimeUnixNano, Attributes: flatAttrs(asObject(elementAt(attrs, i)))}
		if i < len(times) {
			if t, ok, err := anyTime(times[i], time.Second); err == nil && ok {
				event.TimeUnixNano = t
			}
		}
		sp.Events = append(sp.Events, event)
	}
}

var pythonTime = regexp.MustCompile(`datetime\.datetime\(([0-9, ]+)`)

// eventTimes reads a list of times, also one that Python has written as a text of its own.
func eventTimes(v any) []string {
	var times []string
	switch v := v.(type) {
	case []any:
		for _, t := range v {
			times = append(times, scalarText(t))
		}
	case string:
		for _, m := range pythonTime.FindAllStringSubmatch(v, -1) {
			parts := [7]int{1970, 1, 1}
			for i, part := range strings.Split(m[1], ",") {
				if i < len(parts) {
					parts[i], _ = strconv.Atoi(strings.TrimSpace(part))
				}
			}
			times = append(times, fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d.%06d", parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]))
		}
	}
	return times
}

// flatAttrs reads a map column; the newer JSON columns nest objects where keys had dots.
func flatAttrs(o object) []*commonpb.KeyValue {
	var attrs []*commonpb.KeyValue
	var walk func(prefix string, o object, depth int)
	walk = func(prefix string, o object, depth int) {
		for _, key := range sortedKeys(o) {
			if nested, ok := o[key].(map[string]any); ok && depth < maxValueDepth {
				walk(prefix+key+".", nested, depth+1)
				continue
			}
			attrs = append(attrs, &commonpb.KeyValue{Key: clean(prefix + key), Value: plainValue(o[key], depth)})
		}
	}
	walk("", o, 0)
	return attrs
}

func elementAt(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func asObject(v any) object {
	o, _ := v.(map[string]any)
	return o
}
