// Package span is one span as plain values, however it reached us: over the wire, from a file or out of storage. What
// judges spans reads this and nothing else.
package span

import (
	"encoding/hex"
	"time"
)

// TraceID identifies a trace.
type TraceID [16]byte

// String returns the id as 32 lower-case hex digits.
func (t TraceID) String() string { return hex.EncodeToString(t[:]) }

// IsZero reports whether the id is the invalid all-zero id.
func (t TraceID) IsZero() bool { return t == TraceID{} }

// ID identifies a span within its trace.
type ID [8]byte

// String returns the id as 16 lower-case hex digits.
func (i ID) String() string { return hex.EncodeToString(i[:]) }

// IsZero reports whether the id is the invalid all-zero id, which as a parent means that there is none.
func (i ID) IsZero() bool { return i == ID{} }

// Kind is the kind of a span, numbered as OTLP numbers it.
type Kind uint8

// The kinds of spans.
const (
	KindUnspecified Kind = iota
	KindInternal
	KindServer
	KindClient
	KindProducer
	KindConsumer
)

// String returns the kind as the otel_traces layout spells it.
func (k Kind) String() string {
	if k > KindConsumer {
		return "Unspecified"
	}
	return [...]string{"Unspecified", "Internal", "Server", "Client", "Producer", "Consumer"}[k]
}

// Status is the status of a span, numbered as OTLP numbers it.
type Status uint8

// The statuses.
const (
	StatusUnset Status = iota
	StatusOK
	StatusError
)

// String returns the status as the otel_traces layout spells it.
func (s Status) String() string {
	if s > StatusError {
		return "Unset"
	}
	return [...]string{"Unset", "Ok", "Error"}[s]
}

// Identity is what makes two records the same span.
type Identity struct {
	Trace   TraceID
	Span    ID
	Service string
	Kind    Kind
}

// Span is one span. Times are nanoseconds since 1970 UTC as recorded; they are never rewritten.
// A Span is not safe for concurrent change.
type Span struct {
	Trace         TraceID
	ID            ID
	Parent        ID
	TraceState    string
	Service       string
	Name          string
	Scope         string
	Kind          Kind
	Status        Status
	StatusMessage string
	Start         int64
	End           int64
	Attrs         Attributes
	Resource      Attributes
	Events        []Event
	Links         []Link
}

// SampleKey marks, on the resource or the span, telemetry that sample services made.
const SampleKey = "laxity.sample"

// Sample reports whether sample services made the span.
func (s *Span) Sample() bool {
	return s.Resource.String(SampleKey) == "true" || s.Attrs.String(SampleKey) == "true"
}

// Identity returns the identity of the span.
func (s *Span) Identity() Identity {
	return Identity{Trace: s.Trace, Span: s.ID, Service: s.Service, Kind: s.Kind}
}

// Duration returns End minus Start; it is negative where a record is wrong.
func (s *Span) Duration() time.Duration { return time.Duration(s.End - s.Start) }

// Event is something that happened during a span, at nanoseconds since 1970 UTC.
type Event struct {
	Name  string
	Time  int64
	Attrs Attributes
}

// Link is a reference to a span that caused this one without being its parent.
type Link struct {
	Trace TraceID
	Span  ID
	Attrs Attributes
}
