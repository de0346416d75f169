package budget

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// ScopeName is the instrumentation scope of the spans and metrics of this package.
const ScopeName = "github.com/laxity-dev/laxity/sdk/budget"

// Edge grants budgets to work that enters the service, by one policy. It is safe for concurrent use.
type Edge struct {
	policy  Policy
	control *Control
	tracer  trace.Tracer
	metrics *instruments
}

// Option changes a new [Edge].
type Option struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
}

// WithTracerProvider sets where spans go instead of the global provider.
func WithTracerProvider(p trace.TracerProvider) Option { return Option{tracers: p} }

// WithMeterProvider sets where metrics go instead of the global provider.
func WithMeterProvider(p metric.MeterProvider) Option { return Option{meters: p} }

// NewEdge returns an edge for the policy. It panics if the policy contradicts itself, which [Policy.Validate] would have
// told: an edge is made at start-up, from constants or from settings that were validated.
func NewEdge(policy Policy, opts ...Option) *Edge {
	if err := policy.Validate(); err != nil {
		panic(err)
	}
	tracers, meters := otel.GetTracerProvider(), otel.GetMeterProvider()
	for _, o := range opts {
		if o.tracers != nil {
			tracers = o.tracers
		}
		if o.meters != nil {
			meters = o.meters
		}
	}
	if policy.Control == nil {
		policy.Control = NewControl("")
	}
	return &Edge{
		policy:  policy,
		control: policy.Control,
		tracer:  tracers.Tracer(ScopeName),
		metrics: newInstruments(meters.Meter(ScopeName)),
	}
}

// Policy returns the edge's policy.
func (e *Edge) Policy() Policy { return e.policy }
