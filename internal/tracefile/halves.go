package tracefile

import (
	"encoding/hex"
	"strconv"

	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// halfSpan is a span that may share its id with the other side of its call.
type halfSpan struct {
	*tracepb.Span
	service  string
	address  string
	resource *resourcepb.Resource
	scope    scope
	shared   bool // marked as the serving half
	at       Position
}

func (h *halfSpan) serves() bool {
	return h.shared || h.Kind == tracepb.Span_SPAN_KIND_SERVER || h.Kind == tracepb.Span_SPAN_KIND_CONSUMER
}

type spanKey struct {
	trace [16]byte
	span  [8]byte
}

// pair is one id with a calling and one or more serving halves.
type pair struct {
	caller  *halfSpan
	serving []*halfSpan
}

// half returns the serving half that a child belongs to; nil means the calling half. One message may have been delivered
// several times: then the same address decides, and then the last delivery before the child began.
func (p *pair) half(child *halfSpan) *halfSpan {
	var best *halfSpan
	for _, h := range p.serving {
		if h.service == child.service && (best == nil || fits(h, child) > fits(best, child) ||
			fits(h, child) == fits(best, child) && fits(h, child)&1 == 1 && h.StartTimeUnixNano > best.StartTimeUnixNano) {
			best = h
		}
	}
	if best == nil && child.service != p.caller.service {
		return p.serving[0]
	}
	return best
}

func fits(h, child *halfSpan) int {
	grade := 0
	if h.address == child.address {
		grade |= 2
	}
	if h.StartTimeUnixNano <= child.StartTimeUnixNano {
		grade |= 1
	}
	return grade
}

// separateHalves gives the serving half of each call whose halves share one id an id of its own, always the same one,
// makes it the child of the calling half, and moves children to the half of their own service. A serving half without
// the other keeps its id.
func separateHalves(spans []*halfSpan) {
	pairs := findPairs(spans)
	if len(pairs) == 0 {
		return
	}
	moved := map[*halfSpan][]byte{}
	for key, p := range pairs {
		for _, h := range p.serving {
			moved[h] = hashID(8, "serving half", string(key.trace[:]), string(key.span[:]),
				h.service, h.Kind.String(), h.address, strconv.FormatUint(h.StartTimeUnixNano, 10))
		}
	}
	for _, h := range spans {
		if moved[h] != nil {
			h.Attributes = append(h.Attributes, stringAttr(OriginalSpanIDKey, hex.EncodeToString(h.SpanId)))
			h.ParentSpanId = h.SpanId
			continue
		}
		if len(h.ParentSpanId) != 8 || len(h.TraceId) != 16 {
			continue
		}
		p := pairs[spanKey{[16]byte(h.TraceId), [8]byte(h.ParentSpanId)}]
		if p == nil {
			continue
		}
		if half := p.half(h); half != nil {
			h.ParentSpanId = moved[half]
		}
	}
	for h, id := range moved {
		h.SpanId = id
	}
}

func findPairs(spans []*halfSpan) map[spanKey]*pair {
	all := map[spanKey]*pair{}
	for _, h := range spans {
		if len(h.TraceId) != 16 || len(h.SpanId) != 8 {
			continue
		}
		key := spanKey{[16]byte(h.TraceId), [8]byte(h.SpanId)}
		p := all[key]
		if p == nil {
			p = &pair{}
			all[key] = p
		}
		switch {
		case h.serves():
			p.serving = append(p.serving, h)
		case p.caller == nil:
			p.caller = h
		}
	}
	for key, p := range all {
		if p.caller == nil || len(p.serving) == 0 {
			delete(all, key)
		}
	}
	return all
}
