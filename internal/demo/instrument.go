package demo

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

const (
	maxBudget = 8 * time.Second
	minBudget = 20 * time.Millisecond
	// answerReserve is what the edge keeps for the answer itself.
	answerReserve = 25 * time.Millisecond
	cleanupBudget = 200 * time.Millisecond
)

// granted is the policy of a route that clients call.
func (s *service) granted(usual time.Duration) budget.Policy {
	return budget.Policy{Default: s.timing.limit(usual), Min: s.timing.limit(minBudget), Max: s.timing.limit(maxBudget),
		Reserve: s.timing.limit(answerReserve), Cleanup: s.timing.limit(cleanupBudget), Channel: "chat"}
}

// inherited is the policy of a service that is called by others with what they have left.
func (s *service) inherited() budget.Policy {
	return budget.Policy{Default: s.timing.limit(inheritedBudget), Max: s.timing.limit(maxBudget),
		Cleanup: s.timing.limit(cleanupBudget), Trust: budget.TrustInternal}
}

var wire = propagation.TraceContext{}

// handle serves a route with an entry span and a budget.
func (s *service) handle(route string, policy budget.Policy, next http.HandlerFunc) {
	edge := budget.NewEdge(policy, budget.WithTracerProvider(s.provider), budget.WithMeterProvider(noop.NewMeterProvider()))
	s.mux.Handle("POST "+route, carryRequest(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := wire.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		a := budget.Arrival{Name: "POST " + route, Kind: trace.SpanKindServer, ParentCause: budgetattr.CauseClientDisconnect,
			Attributes: []attribute.KeyValue{attribute.String("http.route", route)}}
		if ms, err := strconv.ParseInt(r.Header.Get(budgetattr.HeaderTimeout), 10, 64); err == nil {
			a.Ask = budget.LimitOf(time.Duration(ms) * time.Millisecond)
		}
		ctx, entry, err := edge.Start(ctx, a)
		if err != nil {
			w.WriteHeader(504)
			entry.End(err)
			return
		}
		sw := &statusWriter{ResponseWriter: w, status: 200}
		next(sw, r.WithContext(ctx))
		if sw.status >= 400 {
			err = &statusError{s.name, sw.status}
		}
		entry.Span().SetAttributes(attribute.Int("http.response.status_code", sw.status))
		entry.End(err)
	})))
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type tracedTransport struct{ next http.RoundTripper }

func (s *service) transport(next http.RoundTripper) http.RoundTripper {
	return tracedTransport{next}
}

func (t tracedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	r = r.Clone(ctx)
	wire.Inject(ctx, propagation.HeaderCarrier(r.Header))
	if d, ok := ctx.Deadline(); ok {
		r.Header.Set(budgetattr.HeaderTimeout, strconv.FormatInt(time.Until(d).Milliseconds(), 10))
	}
	return t.next.RoundTrip(r)
}

// hop runs work as one stage of the chain.
func (s *service) hop(ctx context.Context, st stage, work func(context.Context) error, opts ...budget.HopOption) error {
	opts = append(opts, budget.WithPeer(st.peer), budget.WithCap(s.timing.limit(st.cap)))
	if st.optional {
		opts = append(opts, budget.WithOptional(), budget.WithRefusal(budgetattr.DecisionSkip))
	}
	ctx, hop, err := budget.StartHop(ctx, st.name, opts...)
	if err != nil {
		return err
	}
	err = hop.Err(work(ctx))
	hop.End(err)
	return err
}

// callStage makes one hop of the chain within the stage's cap.
func (s *service) callStage(ctx context.Context, st stage, to *service, path string, in, out any) error {
	return s.hop(ctx, st, func(ctx context.Context) error { return s.call(ctx, s.client, to, path, in, out) })
}

// clientGone reports whether the caller of this service closed its connection.
func clientGone(ctx context.Context) bool {
	cause, ended := budget.CauseOf(ctx)
	return ended && cause == budgetattr.CauseClientDisconnect
}

// fail answers with the status that the error means.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	if errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusGatewayTimeout
	}
	http.Error(w, err.Error(), status)
}
