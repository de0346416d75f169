package budgetgrpc_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgetgrpc"
)

const (
	check = "grpc.health.v1.Health/Check"
	watch = "grpc.health.v1.Health/Watch"
)

// service is a health service with handlers to choose.
type service struct {
	grpc_health_v1.UnimplementedHealthServer
	check func(context.Context) error
	watch func(grpc_health_v1.Health_WatchServer) error
}

func (s service) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{}, s.check(ctx)
}

func (s service) Watch(_ *grpc_health_v1.HealthCheckRequest, ss grpc_health_v1.Health_WatchServer) error {
	return s.watch(ss)
}

type recorder struct {
	*tracetest.SpanRecorder
	provider *sdktrace.TracerProvider
}

func newRecorder() recorder {
	sr := tracetest.NewSpanRecorder()
	return recorder{sr, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(sr))}
}

// of waits for the ended span of a kind and returns its attributes.
func (r recorder) of(t *testing.T, name, kind string) map[string]any {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		for _, s := range r.Ended() {
			if s.Name() == name && s.SpanKind().String() == kind {
				m := map[string]any{}
				for _, kv := range s.Attributes() {
					m[string(kv.Key)] = kv.Value.AsInterface()
				}
				return m
			}
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("no %s span %q", kind, name)
	return nil
}

// start serves s and returns a client of it.
func start(t *testing.T, r recorder, p budget.Policy, s service, opts ...budgetgrpc.Option) grpc_health_v1.HealthClient {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, l, l.Addr().String(), nil, r, p, s, opts...)
}

// startOn is start over a listener and a way to dial it.
func startOn(t *testing.T, l net.Listener, target string, dial []grpc.DialOption, r recorder, p budget.Policy, s service, opts ...budgetgrpc.Option) grpc_health_v1.HealthClient {
	t.Helper()
	srv := grpc.NewServer(budgetgrpc.ServerOptions(p, budgetgrpc.WithTracerProvider(r.provider))...)
	grpc_health_v1.RegisterHealthServer(srv, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { srv.Stop(); <-done })
	dial = append(append(dial, budgetgrpc.DialOptions(opts...)...), grpc.WithTransportCredentials(insecure.NewCredentials()))
	cc, err := grpc.NewClient(target, dial...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return grpc_health_v1.NewHealthClient(cc)
}

func request(t *testing.T, r recorder, p budget.Policy) (context.Context, *budget.Entry) {
	t.Helper()
	ctx, entry, err := budget.NewEdge(p, budget.WithTracerProvider(r.provider)).Start(t.Context(), budget.Arrival{Name: "in"})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, entry
}

// slowConn takes a time for each write until it is told not to.
type slowConn struct {
	net.Conn
	transit *atomic.Int64
}

func (c slowConn) Write(b []byte) (int, error) {
	time.Sleep(time.Duration(c.transit.Load()))
	return c.Conn.Write(b)
}

// The client's reset comes before the server's own clock by what the call was on its way: the cause is the deadline all the
// same, at whatever moment the two arrive.
func TestT16_ExpiryDuringAnRPC(t *testing.T) {
	// The window is a tenth of the budget; a request is one or two writes, each of which is on its way for transit.
	for transit, granted := range map[time.Duration]time.Duration{
		0:                     200 * time.Millisecond,
		time.Millisecond:      200 * time.Millisecond,
		5 * time.Millisecond:  200 * time.Millisecond,
		15 * time.Millisecond: 400 * time.Millisecond,
	} {
		t.Run(transit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { expiryDuringAnRPC(t, transit, granted) })
		})
	}
}

func expiryDuringAnRPC(t *testing.T, transit, granted time.Duration) {
	r := newRecorder()
	var slow atomic.Int64
	l := bufconn.Listen(1 << 16)
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		c, err := l.DialContext(ctx)
		return slowConn{c, &slow}, err
	})
	seen := make(chan budgetattr.Cause, 1)
	h := startOn(t, l, "passthrough:///health", []grpc.DialOption{dial}, r, budget.Policy{Max: time.Minute}, service{check: func(ctx context.Context) error {
		slow.Store(0)
		<-ctx.Done()
		cause, _ := budget.CauseOf(ctx)
		seen <- cause
		return ctx.Err()
	}})
	ctx, entry := request(t, r, budget.Policy{Default: granted})
	begin := time.Now()
	slow.Store(int64(transit))
	_, err := h.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if e, ok := errors.AsType[*budget.ExhaustedError](err); !ok || status.Code(err) != codes.DeadlineExceeded || time.Since(begin) > granted+time.Millisecond || e.Phase != budgetattr.PhaseFirstByte {
		t.Errorf("err %v after %v", err, time.Since(begin))
	}
	if c := <-seen; c != budgetattr.CauseUpstreamDeadline {
		t.Errorf("the server saw %q", c)
	}
	entry.End(err)
	client, server := r.of(t, check, "client"), r.of(t, check, "server")
	if client[budgetattr.CancelCauseKey] != "local_deadline" || client[budgetattr.TimeoutPhaseKey] != "first_byte" || client["rpc.grpc.status_code"] != int64(4) {
		t.Errorf("client %v", client)
	}
	if server[budgetattr.CancelCauseKey] != "upstream_deadline" || server[budgetattr.OutcomeKey] != "cancelled" || server["rpc.method"] != "Check" {
		t.Errorf("server %v", server)
	}
	if server[budgetattr.BudgetReceivedKey].(float64) > client[budgetattr.AllowanceKey].(float64) {
		t.Errorf("received %v of %v", server[budgetattr.BudgetReceivedKey], client[budgetattr.AllowanceKey])
	}
}

// A caller that leaves long before its deadline was not timed out.
func TestServerSeesACallerThatLeft(t *testing.T) {
	r := newRecorder()
	entered, seen := make(chan struct{}), make(chan budgetattr.Cause, 1)
	h := start(t, r, budget.Policy{}, service{check: func(ctx context.Context) error {
		close(entered)
		<-ctx.Done()
		cause, _ := budget.CauseOf(ctx)
		seen <- cause
		return context.Cause(ctx)
	}})
	ctx, entry := request(t, r, budget.Policy{Default: time.Minute})
	ctx, leave := context.WithCancel(ctx)
	go func() { <-entered; leave() }()
	_, err := h.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if status.Code(err) != codes.Canceled {
		t.Errorf("err %v", err)
	}
	if c := <-seen; c != budgetattr.CauseUpstreamCancel {
		t.Errorf("the server saw %q", c)
	}
	entry.End(err)
	if s := r.of(t, check, "server"); s[budgetattr.OutcomeKey] != "cancelled" || s["rpc.grpc.status_code"] != int64(1) {
		t.Errorf("server %v", s)
	}
}

func TestIncomingTimeoutIsClampedAndDefaulted(t *testing.T) {
	r := newRecorder()
	var left time.Duration
	plain := start(t, r, budget.Policy{Default: 2 * time.Second, Max: 8 * time.Second}, service{check: func(ctx context.Context) error {
		left, _ = budget.Remaining(ctx)
		budget.FromContext(ctx).Degrade("rerank")
		return nil
	}})
	var trailer metadata.MD
	if _, err := plain.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}, grpc.Trailer(&trailer)); err != nil || left > 2*time.Second || left < time.Second {
		t.Errorf("default: %v %v", left, err)
	}
	if v := trailer.Get("x-request-degraded"); len(v) != 1 || v[0] != "rerank" {
		t.Errorf("trailer %v", trailer)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := plain.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil || left > 8*time.Second || left < 7*time.Second {
		t.Errorf("clamped: %v %v", left, err)
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "x-request-timeout-ms", "300")
	if _, err := plain.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil || left > 300*time.Millisecond {
		t.Errorf("metadata: %v %v", left, err)
	}
	ctx = metadata.AppendToOutgoingContext(t.Context(), "x-request-timeout-ms", "-1")
	if _, err := plain.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("expired: %v", err)
	}
	for _, v := range []string{"x", "", "99999999999999999999999"} {
		ctx = metadata.AppendToOutgoingContext(t.Context(), "x-request-timeout-ms", v)
		if _, err := plain.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil || left > 2*time.Second {
			t.Errorf("%q: %v %v", v, left, err)
		}
	}
}

func TestRefusedCallIsNotSent(t *testing.T) {
	r := newRecorder()
	h := start(t, r, budget.Policy{}, service{check: func(context.Context) error { t.Error("called"); return nil }},
		budgetgrpc.WithHop(budget.WithMinUseful(time.Hour)), budgetgrpc.WithPeer("health"))
	ctx, entry := request(t, r, budget.Policy{Default: time.Second})
	defer entry.End(nil)
	_, err := h.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if !errors.Is(err, budget.ErrExhausted) || status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("err %v", err)
	}
	if a := r.of(t, check, "client"); a[budgetattr.DecisionKey] != "reject" || a["peer.service"] != "health" {
		t.Errorf("%v", a)
	}
}

func TestStreamsStayUnderTheBudgetUntilTheirEnd(t *testing.T) {
	r := newRecorder()
	h := start(t, r, budget.Policy{}, service{watch: func(ss grpc_health_v1.Health_WatchServer) error {
		for range 3 {
			if err := ss.Send(&grpc_health_v1.HealthCheckResponse{}); err != nil {
				return err
			}
		}
		if md, _ := metadata.FromIncomingContext(ss.Context()); len(md.Get("stall")) > 0 {
			<-ss.Context().Done()
			return ss.Context().Err()
		}
		return nil
	}})
	drain := func(ctx context.Context) (int, error) {
		s, err := h.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		for n := 0; ; n++ {
			if err == nil {
				_, err = s.Recv()
			}
			if err != nil {
				return n, err
			}
		}
	}
	ctx, entry := request(t, r, budget.Policy{Default: 30 * time.Second})
	if n, err := drain(ctx); n != 3 || err.Error() != "EOF" {
		t.Errorf("%d %v", n, err)
	}
	if a := r.of(t, watch, "client"); a[budgetattr.CancelCauseKey] != nil || a["rpc.grpc.status_code"] != int64(0) {
		t.Errorf("%v", a)
	}
	entry.End(nil)
	r.Reset()
	ctx, entry = request(t, r, budget.Policy{Default: 300 * time.Millisecond})
	n, err := drain(metadata.AppendToOutgoingContext(ctx, "stall", "yes"))
	if e, ok := errors.AsType[*budget.ExhaustedError](err); n != 3 || !ok || e.Phase != budgetattr.PhaseBody {
		t.Errorf("%d %v", n, err)
	}
	entry.End(err)
	if a := r.of(t, watch, "client"); a[budgetattr.TimeoutPhaseKey] != "body" {
		t.Errorf("%v", a)
	}
	// A stream that is given up by its context ends its hop.
	r.Reset()
	ctx, entry = request(t, r, budget.Policy{Default: 30 * time.Second})
	given, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "stall", "yes"))
	if _, err := h.Watch(given, &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if a := r.of(t, watch, "client"); a[budgetattr.CancelCauseKey] != "superseded" {
		t.Errorf("%v", a)
	}
	entry.End(nil)
}

// The encoder of grpc-timeout rounds up; what the server grants never exceeds what the client had all the same.
func TestReceivedNeverExceedsWhatTheClientHad(t *testing.T) {
	r := newRecorder()
	h := start(t, r, budget.Policy{}, service{check: func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		had, _ := strconv.ParseInt(md.Get("had")[0], 10, 64)
		if received, ok := budget.FromContext(ctx).Grant().Received.Get(); !ok || int64(received) > had {
			t.Errorf("received %v of %v", received, time.Duration(had))
		}
		return nil
	}})
	for i := range 300 {
		ctx, entry := request(t, r, budget.Policy{Default: time.Duration(i+1) * 1234567 * time.Microsecond})
		left, _ := budget.Remaining(ctx)
		ctx = metadata.AppendToOutgoingContext(ctx, "had", strconv.FormatInt(int64(left), 10))
		if _, err := h.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil && !errors.Is(err, budget.ErrExhausted) {
			t.Error(err)
		}
		entry.End(nil)
	}
}
