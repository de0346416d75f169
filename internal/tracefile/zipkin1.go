package tracefile

import (
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// The annotations of Zipkin v1 that say which side of a call a moment belongs to, and their places: begin and end.
var coreAnnotations = map[string]struct {
	kind tracepb.Span_SpanKind
	ends bool
}{
	"cs": {tracepb.Span_SPAN_KIND_CLIENT, false}, "cr": {tracepb.Span_SPAN_KIND_CLIENT, true},
	"sr": {tracepb.Span_SPAN_KIND_SERVER, false}, "ss": {tracepb.Span_SPAN_KIND_SERVER, true},
	"ms": {tracepb.Span_SPAN_KIND_PRODUCER, false}, "ws": {tracepb.Span_SPAN_KIND_PRODUCER, true},
	"mr": {tracepb.Span_SPAN_KIND_CONSUMER, false}, "wr": {tracepb.Span_SPAN_KIND_CONSUMER, true},
}

func isZipkinV1(o object) bool {
	if has(o, "binaryAnnotations") {
		return true
	}
	for _, a := range objects(o, "annotations") {
		if has(a, "endpoint") {
			return true
		}
	}
	return false
}

// sideV1 is what one record says about one side of a call.
type sideV1 struct {
	kind       tracepb.Span_SpanKind
	endpoint   object
	begin, end uint64
	events     []object
	tags, peer object
}

// addV1 cuts a record into the sides that recorded into it: client and server have one span in v1.
func (z *zipkinTraces) addV1(s *sink, o object, at Position) {
	start, duration, err := zipkinTimes(o)
	if err != nil {
		s.refuse(at, "%v", err)
		return
	}
	sides := sidesV1(o)
	for i, side := range sides {
		// The times of the record are those of the calling side, or of the only one.
		if i == 0 {
			if side.begin == 0 || has(o, "timestamp") {
				side.begin = start
			}
			if has(o, "duration") {
				side.end = endAfter(start, duration)
			}
		}
		if side.begin == 0 {
			side.begin = start
		}
		side.end = max(side.end, side.begin)
		h := z.v1Span(o, side, i > 0)
		h.at = at
		z.v1[h] = true
		z.spans = append(z.spans, h)
	}
	s.summary.Split += len(sides) - 1
}

func sidesV1(o object) []*sideV1 {
	var sides []*sideV1
	var rest []object
	byKind := map[tracepb.Span_SpanKind]*sideV1{}
	for _, a := range objects(o, "annotations") {
		core, ok := coreAnnotations[text(a, "value")]
		if !ok {
			rest = append(rest, a)
			continue
		}
		side := byKind[core.kind]
		if side == nil {
			side = &sideV1{kind: core.kind, endpoint: child(a, "endpoint"), tags: object{}}
			byKind[core.kind] = side
			sides = append(sides, side)
		}
		t, _, _ := scaledTime(text(a, "timestamp"), time.Microsecond)
		if core.ends {
			side.end = t
		} else {
			side.begin = t
		}
	}
	if len(sides) == 2 && (&halfSpan{Span: &tracepb.Span{Kind: sides[0].kind}}).serves() {
		sides[0], sides[1] = sides[1], sides[0]
	}
	if len(sides) == 0 {
		sides = append(sides, &sideV1{endpoint: localEndpointV1(o), tags: object{}})
	}
	for _, a := range rest {
		side := sideOf(sides, child(a, "endpoint"))
		side.events = append(side.events, a)
	}
	for _, a := range objects(o, "binaryAnnotations") {
		key, endpoint := text(a, "key"), child(a, "endpoint")
		switch side := sideOf(sides, endpoint); {
		case !addressV1(a):
			side.tags[key] = a["value"]
		case key == "ca": // who called is known to the serving side
			sides[len(sides)-1].peer = endpoint
		default:
			sides[0].peer = endpoint
		}
	}
	return sides
}

func localEndpointV1(o object) object {
	for _, key := range []string{"binaryAnnotations", "annotations"} {
		for _, a := range objects(o, key) {
			if e := child(a, "endpoint"); e != nil && !addressV1(a) {
				return e
			}
		}
	}
	return nil
}

// sideOf finds whose endpoint it is; the first side takes what belongs to none.
func sideOf(sides []*sideV1, endpoint object) *sideV1 {
	for _, side := range sides {
		if text(side.endpoint, "serviceName") == text(endpoint, "serviceName") {
			return side
		}
	}
	return sides[0]
}

// addressV1 reports a binary annotation that names the other side: its endpoint is not the one that recorded it.
func addressV1(a object) bool {
	key := text(a, "key")
	return (key == "ca" || key == "sa" || key == "ma") && text(a, "type") != "STRING"
}

func (z *zipkinTraces) v1Span(o object, side *sideV1, second bool) *halfSpan {
	sp := &tracepb.Span{Name: clean(text(o, "name")), Kind: side.kind, StartTimeUnixNano: side.begin, EndTimeUnixNano: side.end}
	setIDs(sp, text(o, "traceId"), text(o, "id"), text(o, "parentId"))
	h := &halfSpan{Span: sp, service: clean(text(side.endpoint, "serviceName")), shared: second}
	h.address = text(side.endpoint, "ipv4", "ipv6")
	h.resource = z.resource(h.service)
	h.scope = zipkinTags(sp, side.tags)
	peer(sp, side.peer)
	endpointAttrs(sp, "network.local", side.endpoint)
	for _, a := range side.events {
		sp.Events = append(sp.Events, zipkinEvent(a, side.begin))
	}
	return h
}
