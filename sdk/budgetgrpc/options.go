package budgetgrpc

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/internal/carry"
)

// Option changes a server or a client; those that mean nothing to one of them are ignored there.
type Option struct{ apply func(*config) }

type config struct {
	edge       []budget.Option
	propagator func() propagation.TextMapPropagator
	peer       string
	hop        []budget.HopOption
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

// WithTracerProvider sets where the server's spans, and those of the hops below it, go instead of the global provider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return Option{func(c *config) { c.edge = append(c.edge, budget.WithTracerProvider(p)) }}
}

// WithMeterProvider sets where the server's metrics, and those of the hops below it, go instead of the global provider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return Option{func(c *config) { c.edge = append(c.edge, budget.WithMeterProvider(p)) }}
}

// WithPropagator sets how the trace context travels instead of the global propagator, or W3C's where none is set.
func WithPropagator(p propagation.TextMapPropagator) Option {
	return Option{func(c *config) { c.propagator = func() propagation.TextMapPropagator { return p } }}
}

// WithPeer names the service that the client calls.
func WithPeer(service string) Option { return Option{func(c *config) { c.peer = service }} }

// WithHop adds options to every hop of the client, for example [budget.WithCap].
func WithHop(opts ...budget.HopOption) Option {
	return Option{func(c *config) { c.hop = append(c.hop, opts...) }}
}

// carrier is metadata as a propagator sees it.
type carrier metadata.MD

func (c carrier) Get(key string) string {
	if v := metadata.MD(c).Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}

// describe names a call by the semantic conventions.
func describe(fullMethod string) []attribute.KeyValue {
	service, method, _ := strings.Cut(strings.TrimPrefix(fullMethod, "/"), "/")
	return []attribute.KeyValue{
		attribute.String("rpc.system", "grpc"), attribute.String("rpc.service", service), attribute.String("rpc.method", method),
	}
}
