package budgetgrpc_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// A stream whose message cannot be sent is over, and so is its hop.
func TestIssueStreamThatFailsToSendEndsItsHop(t *testing.T) {
	r := newRecorder()
	h := start(t, r, budget.Policy{}, service{watch: func(ss grpc_health_v1.Health_WatchServer) error {
		<-ss.Context().Done()
		return ss.Context().Err()
	}})
	ctx, entry := request(t, r, budget.Policy{Default: time.Minute})
	_, err := h.Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: "far too long"}, grpc.MaxCallSendMsgSize(4))
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("err %v", err)
	}
	if a := r.of(t, watch, "client"); a["rpc.grpc.status_code"] != int64(codes.ResourceExhausted) || a[budgetattr.CancelCauseKey] != nil {
		t.Errorf("client %v", a)
	}
	entry.End(nil)
}

// Values of metadata that are repeated, negative, absurd or nonsense never make a budget larger, and nothing crashes.
func TestMetadataNeverMakesABudgetLarger(t *testing.T) {
	r := newRecorder()
	var left time.Duration
	h := start(t, r, budget.Policy{Default: 2 * time.Second, Max: 5 * time.Second}, service{check: func(ctx context.Context) error {
		left, _ = budget.Remaining(ctx)
		return nil
	}})
	for _, c := range []struct {
		pairs   []string
		most    time.Duration
		refused bool
	}{
		{pairs: []string{"x-request-timeout-ms", "1500", "x-request-timeout-ms", "900"}, most: 900 * time.Millisecond},
		{pairs: []string{"x-request-timeout-ms", "900, 700"}, most: 700 * time.Millisecond},
		{pairs: []string{"x-request-timeout-ms", "31536000000"}, most: 5 * time.Second},
		{pairs: []string{"x-request-timeout-ms", "nan", "x-request-attempt", "-4"}, most: 2 * time.Second},
		{pairs: []string{"x-request-attempt", "99999999999999999999", "traceparent", "00-zz"}, most: 2 * time.Second},
		{pairs: []string{"x-request-timeout-ms", "800", "x-request-timeout-ms", "0"}, refused: true},
	} {
		r.Reset()
		left = 0
		_, err := h.Check(metadata.AppendToOutgoingContext(t.Context(), c.pairs...), &grpc_health_v1.HealthCheckRequest{})
		if (status.Code(err) == codes.DeadlineExceeded) != c.refused || !c.refused && (err != nil || left <= 0 || left > c.most) {
			t.Errorf("%v: %v left, %v", c.pairs, left, err)
		}
		attempt := r.of(t, check, "server")[budgetattr.AttemptKey]
		if n, ok := attempt.(int64); ok && (n < 1 || n > 1000) {
			t.Errorf("%v: attempt %d", c.pairs, n)
		}
	}
}

// grpc-go 2886: a client that waits for ever sees an end when the budget that it asked for is over, unary or streaming.
func TestClientThatNeverCancelsSeesTheEnd(t *testing.T) {
	r := newRecorder()
	h := start(t, r, budget.Policy{}, service{
		check: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		watch: func(ss grpc_health_v1.Health_WatchServer) error {
			<-ss.Context().Done()
			return context.Cause(ss.Context())
		},
	})
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-timeout-ms", "50")
	if _, err := h.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("unary: %v", err)
	}
	s, err := h.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err == nil {
		_, err = s.Recv()
	}
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("stream: %v", err)
	}
	if a := r.of(t, watch, "server"); a[budgetattr.CancelCauseKey] != "upstream_deadline" {
		t.Errorf("server %v", a)
	}
}
