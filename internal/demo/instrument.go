package demo

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

const (
	maxBudget = 8 * time.Second
	minBudget = 20 * time.Millisecond
	// answerReserve is what the edge keeps for the answer itself.
	answerReserve = 25 * time.Millisecond
	cleanupBudget = 200 * time.Millisecond
	// inheritedBudget is what a service grants a caller that hands down none.
	inheritedBudget = 3 * time.Second
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

// handle serves a route under a policy. A request that plays late_validation finds a service that only watches.
func (s *service) handle(route string, policy budget.Policy, next http.HandlerFunc) {
	granting := func(p budget.Policy) http.Handler {
		return budgethttp.NewMiddleware(p, budgethttp.WithTracerProvider(s.provider), budgethttp.WithMeterProvider(noop.NewMeterProvider()))(next)
	}
	watched := policy
	watched.Control = budget.NewControl(budgetattr.ModeShadow)
	enforcing, watching := granting(policy), granting(watched)
	s.mux.Handle("POST "+route, carryRequest(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.name == "edge" && has(r.Context(), LateValidation) {
			watching.ServeHTTP(w, r)
			return
		}
		enforcing.ServeHTTP(w, r)
	})))
}

// calls declares the stages that the service calls: each has a client, whose transport makes its requests hops.
func (s *service) calls(stages ...stage) {
	for _, st := range stages {
		opts := []budget.HopOption{budget.WithCap(s.timing.limit(st.cap))}
		if st.optional {
			opts = append(opts, budget.WithOptional(), budget.WithRefusal(budgetattr.DecisionSkip))
		}
		transport := budgethttp.NewTransport(tamper{s, s.idle}, budgethttp.WithPeer(st.peer), budgethttp.WithHop(opts...),
			budgethttp.WithStage(func(*http.Request) string { return st.name }))
		s.clients[st.name] = &http.Client{Transport: planTransport{transport}}
	}
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
