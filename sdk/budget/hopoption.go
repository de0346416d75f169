package budget

import (
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// HopOption says something about one hop. It is a plain value: giving options allocates nothing.
//
// Its four words stay in registers until they are where StartHop reads them; a fifth would have the compiler build each option
// elsewhere and copy it, at the cost of a lock. Hence text and attributes share a pointer and a length.
type HopOption struct {
	kind hopOptionKind
	d    time.Duration
	data unsafe.Pointer // of a string's bytes or of attributes
	n    int64          // how many, or a second duration
}

func textOption(kind hopOptionKind, text string, d time.Duration) HopOption {
	return HopOption{kind: kind, d: d, data: unsafe.Pointer(unsafe.StringData(text)), n: int64(len(text))}
}

func (o *HopOption) text() string { return unsafe.String((*byte)(o.data), o.n) }

func (o *HopOption) attributes() []attribute.KeyValue {
	return unsafe.Slice((*attribute.KeyValue)(o.data), o.n)
}

type hopOptionKind uint8

const (
	optCap hopOptionKind = iota + 1
	optObserved
	optMinUseful
	optExpected
	optReserve
	optPeer
	optSpanKind
	optSpanName
	optOptional
	optRefusal
	optStream
	optAttempt
	optBackoff
	optAttributes
	optPropagated
)

// WithCap bounds the hop by the dependency's own limit. A cap of zero or less leaves no time.
func WithCap(d time.Duration) HopOption { return HopOption{kind: optCap, d: d} }

// WithObserved bounds the hop by a limit derived from measured latency, in place of what the policy knows.
func WithObserved(d time.Duration) HopOption { return HopOption{kind: optObserved, d: d} }

// WithMinUseful refuses the hop if it may use less than d.
func WithMinUseful(d time.Duration) HopOption { return HopOption{kind: optMinUseful, d: d} }

// WithExpected refuses the hop if it may use less than what it is expected to take plus its variability: for effects,
// retries and hedges, which must not be begun in vain.
func WithExpected(expected, variability time.Duration) HopOption {
	return HopOption{kind: optExpected, d: expected, n: int64(variability)}
}

// WithReserve makes the hop leave d for what comes after it, on top of the policy's reserve for the answer.
func WithReserve(d time.Duration) HopOption { return HopOption{kind: optReserve, d: d} }

// WithPeer names the service that is called and makes the span a client's.
func WithPeer(service string) HopOption { return textOption(optPeer, service, 0) }

// WithSpanKind sets the kind of the span. The default is internal, or client where a peer is named.
func WithSpanKind(k trace.SpanKind) HopOption {
	return HopOption{kind: optSpanKind, d: time.Duration(k)}
}

// WithSpanName names the span; the default is the stage.
func WithSpanName(name string) HopOption { return textOption(optSpanName, name, 0) }

// WithOptional records that the stage may be skipped.
func WithOptional() HopOption { return HopOption{kind: optOptional} }

// WithRefusal declares what is done where the time does not suffice; it is recorded as the decision. The default is reject.
func WithRefusal(d budgetattr.Decision) HopOption {
	return textOption(optRefusal, string(d), 0)
}

// WithStream says that the hop streams its result: where the policy's target is the first output, the hop is not cut once
// that was reached, nor where the request was upgraded, once it was.
func WithStream() HopOption { return HopOption{kind: optStream} }

// WithAttempt records the number of the attempt, from 1, and the layer that makes it.
func WithAttempt(n int, layer string) HopOption {
	return textOption(optAttempt, layer, time.Duration(n))
}

// WithBackoff records the accumulated wait before this attempt.
func WithBackoff(d time.Duration) HopOption { return HopOption{kind: optBackoff, d: d} }

// WithAttributes gives the span attributes to start with. The slice is not kept.
func WithAttributes(kv ...attribute.KeyValue) HopOption {
	return HopOption{kind: optAttributes, data: unsafe.Pointer(unsafe.SliceData(kv)), n: int64(len(kv))}
}

// WithPropagated makes the hop refuse less than a millisecond: the wire carries whole milliseconds, and zero has expired.
func WithPropagated() HopOption { return HopOption{kind: optPropagated} }

// hopConfig is what the options add up to.
type hopConfig struct {
	terms              Terms
	peer, name         string
	kind               trace.SpanKind
	optional, stream   bool
	refusal            budgetattr.Decision
	attempt            int
	layer              string
	backoff            time.Duration
	attrs              []attribute.KeyValue
	observedByOption   bool
	capSet, minimumSet bool
}

func (c *hopConfig) apply(opts []HopOption) {
	for i := range opts {
		switch o := &opts[i]; o.kind {
		case optCap:
			if d, ok := c.terms.Cap.Get(); !ok || o.d < d {
				c.terms.Cap = LimitOf(o.d)
			}
			c.capSet = true
		case optObserved:
			c.terms.Observed, c.observedByOption = LimitOf(o.d), true
		case optMinUseful:
			c.terms.MinUseful, c.minimumSet = max(c.terms.MinUseful, o.d), true
		case optExpected:
			c.terms.Expected, c.terms.Variability = o.d, time.Duration(o.n)
		case optReserve:
			c.terms.Confirm = o.d
		case optPeer:
			c.peer = o.text()
			if c.kind == trace.SpanKindUnspecified {
				c.kind = trace.SpanKindClient
			}
		case optSpanKind:
			c.kind = trace.ValidateSpanKind(trace.SpanKind(o.d))
		case optSpanName:
			c.name = o.text()
		case optOptional:
			c.optional = true
		case optRefusal:
			c.refusal = budgetattr.Decision(o.text())
		case optStream:
			c.stream = true
		case optAttempt:
			c.attempt, c.layer = int(o.d), o.text()
		case optBackoff:
			c.backoff = o.d
		case optAttributes:
			c.attrs = o.attributes()
		case optPropagated:
			c.terms.MinUseful = max(c.terms.MinUseful, time.Millisecond)
		}
	}
}
