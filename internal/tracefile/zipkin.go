package tracefile

import (
	"fmt"
	"maps"
	"slices"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// zipkinTraces holds the spans of one list until its end, because the two halves of a call may lie anywhere in it.
type zipkinTraces struct {
	spans     []*halfSpan
	resources map[string]*resourcepb.Resource
	v1        map[*halfSpan]bool
}

func (z *zipkinTraces) add(s *sink, o object, at Position) {
	if z.resources == nil {
		z.resources = map[string]*resourcepb.Resource{}
		z.v1 = map[*halfSpan]bool{}
	}
	if isZipkinV1(o) {
		z.addV1(s, o, at)
		return
	}
	h, err := z.v2(o)
	if err != nil {
		s.refuse(at, "%v", err)
		return
	}
	h.at = at
	z.spans = append(z.spans, h)
}

func (z *zipkinTraces) flush(s *sink) error {
	separateHalves(z.spans)
	for _, h := range z.spans {
		format := ZipkinV2
		if z.v1[h] {
			format = ZipkinV1
		}
		if err := s.add(h.at, format, h.resource, h.scope, h.Span); err != nil {
			return err
		}
	}
	z.spans = nil
	clear(z.resources)
	clear(z.v1)
	return nil
}

func (z *zipkinTraces) resource(service string) *resourcepb.Resource {
	res := z.resources[service]
	if res == nil {
		res = &resourcepb.Resource{}
		if service != "" {
			res.Attributes = append(res.Attributes, stringAttr("service.name", service))
		}
		z.resources[service] = res
	}
	return res
}

func (z *zipkinTraces) v2(o object) (*halfSpan, error) {
	start, duration, err := zipkinTimes(o)
	if err != nil {
		return nil, err
	}
	sp := &tracepb.Span{
		Name: clean(text(o, "name")), Kind: spanKind(text(o, "kind")),
		StartTimeUnixNano: start, EndTimeUnixNano: endAfter(start, duration),
	}
	setIDs(sp, text(o, "traceId"), text(o, "id"), text(o, "parentId"))
	local := child(o, "localEndpoint")
	h := &halfSpan{Span: sp, service: clean(text(local, "serviceName")), shared: text(o, "shared") == "true"}
	h.address = text(local, "ipv4", "ipv6")
	h.resource = z.resource(h.service)
	h.scope = zipkinTags(sp, child(o, "tags"))
	endpointAttrs(sp, "network.local", local)
	peer(sp, child(o, "remoteEndpoint"))
	for _, a := range objects(o, "annotations") {
		sp.Events = append(sp.Events, zipkinEvent(a, start))
	}
	return h, nil
}

// zipkinTimes reads the start, from the earliest annotation if need be, and the duration, which may be absent.
func zipkinTimes(o object) (start, duration uint64, err error) {
	start, ok, err := scaledTime(text(o, "timestamp"), time.Microsecond)
	if err != nil {
		return 0, 0, fmt.Errorf("timestamp: %w", err)
	}
	if !ok {
		for _, a := range objects(o, "annotations") {
			t, has, err := scaledTime(text(a, "timestamp"), time.Microsecond)
			if err == nil && has && (!ok || t < start) {
				start, ok = t, true
			}
		}
	}
	if !ok {
		return 0, 0, errNoStart
	}
	duration, _, err = scaledDuration(text(o, "duration"), time.Microsecond)
	return start, duration, err
}

func zipkinEvent(a object, start uint64) *tracepb.Span_Event {
	t, ok, err := scaledTime(text(a, "timestamp"), time.Microsecond)
	if err != nil || !ok {
		t = start
	}
	return &tracepb.Span_Event{Name: clean(text(a, "value")), TimeUnixNano: t}
}

// zipkinTags keeps the tags as they are, texts, and reads the status and scope out of them. A tag named error says failed
// even where it is empty.
func zipkinTags(sp *tracepb.Span, tags object) scope {
	var sc scope
	status := &tracepb.Status{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		value := clean(scalarText(tags[key]))
		switch key {
		case "otel.scope.name", "otel.library.name":
			sc.name = value
			continue
		case "otel.scope.version", "otel.library.version":
			sc.version = value
			continue
		case "otel.status_code":
			if code := statusCode(value); status.Code == tracepb.Status_STATUS_CODE_UNSET {
				status.Code = code
			}
			continue
		case "otel.status_description":
			status.Message = value
			continue
		case "error":
			status.Code = tracepb.Status_STATUS_CODE_ERROR
			if value != "true" && status.Message == "" {
				status.Message = value
			}
		}
		sp.Attributes = append(sp.Attributes, stringAttr(key, value))
	}
	if status.Code != tracepb.Status_STATUS_CODE_UNSET {
		sp.Status = status
	}
	return sc
}

func peer(sp *tracepb.Span, endpoint object) {
	if name := text(endpoint, "serviceName"); name != "" {
		sp.Attributes = append(sp.Attributes, stringAttr("peer.service", name))
	}
	endpointAttrs(sp, "network.peer", endpoint)
}

func endpointAttrs(sp *tracepb.Span, prefix string, endpoint object) {
	if address := text(endpoint, "ipv4", "ipv6"); address != "" {
		sp.Attributes = append(sp.Attributes, stringAttr(prefix+".address", address))
	}
	if port := text(endpoint, "port"); port != "" {
		sp.Attributes = append(sp.Attributes, &commonpb.KeyValue{Key: prefix + ".port", Value: numberValue(port)})
	}
}
