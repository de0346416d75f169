package tracefile

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Times outside are refused: storage keeps 64-bit nanoseconds, and one span beyond them would cost its whole batch.
var lastTime = uint64(time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())

// sink checks spans, counts them and hands them on in batches grouped by resource and scope.
type sink struct {
	summary Summary
	traces  map[[16]byte]struct{}
	emit    Emit

	batch     []*tracepb.ResourceSpans
	resources map[string]*resourcepb.Resource
	groups    map[*resourcepb.Resource]*tracepb.ResourceSpans
	scopes    map[scopeKey]*tracepb.ScopeSpans
	held      int
}

type scopeKey struct {
	resource      *resourcepb.Resource
	name, version string
}

// scope names what instrumented a span.
type scope struct {
	name, version, schema string
	attrs                 []*commonpb.KeyValue
}

func newSink(emit Emit) *sink {
	s := &sink{emit: emit, traces: map[[16]byte]struct{}{}}
	s.reset()
	return s
}

func (s *sink) reset() {
	s.batch, s.held = nil, 0
	s.resources = map[string]*resourcepb.Resource{}
	s.groups = map[*resourcepb.Resource]*tracepb.ResourceSpans{}
	s.scopes = map[scopeKey]*tracepb.ScopeSpans{}
}

func (s *sink) refuse(at Position, format string, args ...any) {
	s.summary.Refused++
	if len(s.summary.Refusals) < maxRefusals {
		s.summary.Refusals = append(s.summary.Refusals, Refusal{at, fmt.Sprintf(format, args...)})
	}
}

// add takes one span. Spans with the same resource pointer end up under one resource.
func (s *sink) add(at Position, f Format, res *resourcepb.Resource, sc scope, sp *tracepb.Span) error {
	if sp.EndTimeUnixNano == 0 {
		sp.EndTimeUnixNano = sp.StartTimeUnixNano
	}
	if err := checkSpan(sp); err != nil {
		s.refuse(at, "%v", err)
		return nil
	}
	normalise(sp)
	s.summary.sawFormat(f)
	s.count(sp)
	group := s.groups[res]
	if group == nil {
		group = &tracepb.ResourceSpans{Resource: res}
		s.groups[res] = group
		s.batch = append(s.batch, group)
	}
	key := scopeKey{res, sc.name, sc.version}
	spans := s.scopes[key]
	if spans == nil {
		spans = &tracepb.ScopeSpans{SchemaUrl: sc.schema, Scope: &commonpb.InstrumentationScope{
			Name: sc.name, Version: sc.version, Attributes: sc.attrs}}
		s.scopes[key] = spans
		group.ScopeSpans = append(group.ScopeSpans, spans)
	}
	spans.Spans = append(spans.Spans, sp)
	if s.held++; s.held >= batchSpans {
		return s.flush()
	}
	return nil
}

func (s *sink) count(sp *tracepb.Span) {
	start, end := int64(sp.StartTimeUnixNano), int64(sp.EndTimeUnixNano)
	if s.summary.Spans == 0 {
		s.summary.First, s.summary.Last = start, end
	}
	s.summary.Spans++
	s.summary.First = min(s.summary.First, start)
	s.summary.Last = max(s.summary.Last, end)
	s.traces[[16]byte(sp.TraceId)] = struct{}{}
}

func (s *sink) flush() error {
	if s.held == 0 {
		return nil
	}
	batch := s.batch
	s.reset()
	return s.emit(batch)
}

func checkSpan(sp *tracepb.Span) error {
	switch {
	case len(sp.TraceId) != 16 || allZero(sp.TraceId):
		return errors.New("no trace id")
	case len(sp.SpanId) != 8 || allZero(sp.SpanId):
		return errors.New("no span id")
	case sp.StartTimeUnixNano == 0 && sp.EndTimeUnixNano > uint64(24*time.Hour):
		return errNoStart // protobuf writes what is absent as 0; made traces may begin in 1970
	}
	for _, t := range [...]struct {
		what string
		ns   uint64
	}{{"starts", sp.StartTimeUnixNano}, {"ends", sp.EndTimeUnixNano}} {
		if t.ns >= lastTime {
			return fmt.Errorf("%s %s, later than 2261", t.what, describeLate(t.ns))
		}
	}
	if sp.EndTimeUnixNano < sp.StartTimeUnixNano {
		return fmt.Errorf("ends %v before it starts", time.Duration(sp.StartTimeUnixNano-sp.EndTimeUnixNano))
	}
	return nil
}

// normalise mends what would cost the batch of the span elsewhere: kinds and parents that are none, and events at times
// that storage cannot hold, which move to the start of the span and keep the recorded time.
func normalise(sp *tracepb.Span) {
	if _, ok := tracepb.Span_SpanKind_name[int32(sp.Kind)]; !ok {
		sp.Kind = tracepb.Span_SPAN_KIND_UNSPECIFIED
	}
	if len(sp.ParentSpanId) != 8 || allZero(sp.ParentSpanId) {
		sp.ParentSpanId = nil
	}
	if status := sp.Status; status != nil {
		if _, ok := tracepb.Status_StatusCode_name[int32(status.Code)]; !ok {
			status.Code = tracepb.Status_STATUS_CODE_UNSET
		}
	}
	for _, e := range sp.Events {
		if e.TimeUnixNano >= lastTime {
			e.Attributes = append(e.Attributes, stringAttr(OriginalTimeKey, fmt.Sprint(e.TimeUnixNano)))
			e.TimeUnixNano = sp.StartTimeUnixNano
		}
	}
	sp.Links = slices.DeleteFunc(sp.Links, func(l *tracepb.Span_Link) bool { return len(l.TraceId) != 16 || len(l.SpanId) != 8 })
}

func describeLate(ns uint64) string {
	if ns == math.MaxUint64 {
		return "at a time that fits no clock"
	}
	return "in " + time.Unix(int64(ns/1e9), 0).UTC().Format("2006")
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
