package budgethttp

import (
	"net/http"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/internal/carry"
)

// Option changes a middleware or a transport; those that mean nothing to one of them are ignored there.
type Option struct{ apply func(*config) }

type config struct {
	edge       []budget.Option
	propagator func() propagation.TextMapPropagator
	route      func(*http.Request) string
	stage      func(*http.Request) string
	peer       string
	hop        []budget.HopOption
	limits     [phaseCount]time.Duration
	limited    bool
}

func newConfig(opts []Option) *config {
	c := &config{propagator: carry.Propagator()}
	for _, o := range opts {
		if o.apply != nil {
			o.apply(c)
		}
	}
	return c
}

// WithTracerProvider sets where the middleware's spans, and those of the hops below it, go instead of the global provider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return Option{func(c *config) { c.edge = append(c.edge, budget.WithTracerProvider(p)) }}
}

// WithMeterProvider sets where the middleware's metrics, and those of the hops below it, go instead of the global provider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return Option{func(c *config) { c.edge = append(c.edge, budget.WithMeterProvider(p)) }}
}

// WithPropagator sets how the trace context travels instead of the global propagator, or W3C's where none is set.
func WithPropagator(p propagation.TextMapPropagator) Option {
	return Option{func(c *config) { c.propagator = func() propagation.TextMapPropagator { return p } }}
}

// WithRoute tells the middleware the route of a request once it was handled, for routers other than net/http's. It must be
// of bounded cardinality. A handler may also call [budget.Entry.SetRoute].
func WithRoute(route func(*http.Request) string) Option {
	return Option{func(c *config) { c.route = route }}
}

// WithStage tells the transport the stage of a request; the default is the host. It must be of bounded cardinality.
func WithStage(stage func(*http.Request) string) Option {
	return Option{func(c *config) { c.stage = stage }}
}

// WithPeer names the service that the transport calls.
func WithPeer(service string) Option { return Option{func(c *config) { c.peer = service }} }

// WithHop adds options to every hop of the transport, for example [budget.WithCap].
func WithHop(opts ...budget.HopOption) Option {
	return Option{func(c *config) { c.hop = append(c.hop, opts...) }}
}

// WithPhaseLimit bounds one phase of the transport's requests: pool (waiting for a connection), dns, connect, tls, request,
// first_byte or body. The error names the phase. Other phases are ignored.
func WithPhaseLimit(p budgetattr.Phase, d time.Duration) Option {
	return Option{func(c *config) {
		for i, name := range phaseNames {
			if name == p && d > 0 {
				c.limits[i], c.limited = d, true
			}
		}
	}}
}
