package hop

import "github.com/laxity-dev/laxity/internal/span"

// Reason says why a span cannot be kept with the others.
type Reason string

// The reasons of quarantine.
const (
	ReasonNone        Reason = ""
	ReasonBeforeStart Reason = "end_before_start"
	ReasonOutOfRange  Reason = "time_out_of_range"
	ReasonNoTraceID   Reason = "zero_trace_id"
	ReasonNoSpanID    Reason = "zero_span_id"
)

// Latest is the last nanosecond of 2261, the last whole year that storage can hold. Times before 1970 arrive as numbers
// beyond it, because they are unsigned on the wire.
const Latest = 9214646399_999999999

// Check says whether storage can hold a span with these identifiers and times, in nanoseconds since 1970. 1970 itself is
// legal.
func Check(trace span.TraceID, id span.ID, start, end uint64) Reason {
	switch {
	case start > Latest || end > Latest:
		return ReasonOutOfRange
	case end < start:
		return ReasonBeforeStart
	case trace.IsZero():
		return ReasonNoTraceID
	case id.IsZero():
		return ReasonNoSpanID
	}
	return ReasonNone
}

// Quarantined is a span that Check refused. Times are as recorded.
type Quarantined struct {
	Reason  Reason
	Trace   span.TraceID
	Span    span.ID
	Parent  span.ID
	Service string
	Name    string
	Kind    span.Kind
	Start   uint64
	End     uint64
	JSON    string // the span as OTLP JSON, at most MaxJSON bytes
}

// MaxJSON bounds what is kept of a quarantined span.
const MaxJSON = 64 << 10

// Clean returns the row with bounded, valid text.
func (q Quarantined) Clean() Quarantined {
	q.Service, q.Name, q.JSON = clean(q.Service, maxText), clean(q.Name, maxText), clean(q.JSON, MaxJSON)
	return q
}
