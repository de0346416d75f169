package demo

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

var wire = propagation.TraceContext{}

// handle serves a route with an entry span and a budget.
func (s *service) handle(route string, budget time.Duration, next http.HandlerFunc) {
	s.mux.Handle("POST "+route, carryRequest(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := wire.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := s.tracer.Start(ctx, "POST "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("http.route", route)))
		defer span.End()
		next(w, r.WithContext(ctx))
	})))
}

type tracedTransport struct {
	tracer trace.Tracer
	next   http.RoundTripper
}

func (s *service) transport(next http.RoundTripper) http.RoundTripper {
	return tracedTransport{s.tracer, next}
}

func (t tracedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, span := t.tracer.Start(r.Context(), "POST "+r.URL.Path, trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	r = r.Clone(ctx)
	wire.Inject(ctx, propagation.HeaderCarrier(r.Header))
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return resp, err
}

// callStage makes one hop of the chain within the stage's cap.
func (s *service) callStage(ctx context.Context, st stage, to *service, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, s.timing.limit(st.cap))
	defer cancel()
	return s.call(ctx, s.client, to, path, in, out)
}

func setOutcome(ctx context.Context, outcome budgetattr.Outcome) {
	trace.SpanFromContext(ctx).SetAttributes(attribute.String(budgetattr.OutcomeKey, string(outcome)))
}

func noteQueue(ctx context.Context, waited time.Duration) {
	trace.SpanFromContext(ctx).SetAttributes(attribute.Float64(budgetattr.QueueTimeKey, waited.Seconds()))
}

// clientGone reports whether the caller of this service closed its connection.
func clientGone(ctx context.Context) bool { return errors.Is(context.Cause(ctx), context.Canceled) }

// fail answers with the status that the error means.
func fail(ctx context.Context, w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	if errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusGatewayTimeout
	}
	http.Error(w, err.Error(), status)
}
