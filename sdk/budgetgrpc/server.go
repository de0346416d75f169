package budgetgrpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/internal/carry"
	"github.com/laxity-dev/laxity/sdk/wire"
)

// Metadata keys are the HTTP headers in lower case.
var (
	timeoutKey  = strings.ToLower(budgetattr.HeaderTimeout)
	attemptKey  = strings.ToLower(budgetattr.HeaderAttempt)
	degradedKey = strings.ToLower(budgetattr.HeaderDegraded)
)

// ServerOptions return the interceptors, chained, that grant each call a budget by the policy and record it on a server
// span. It panics if the policy contradicts itself.
//
// The handler's context ends with the budget, and [budget.CauseOf] tells whether it was that or the caller who left. Errors
// of this sdk become statuses. The stages that the handler declared as degraded are named in the trailer
// x-request-degraded.
func ServerOptions(policy budget.Policy, opts ...Option) []grpc.ServerOption {
	cfg := newConfig(opts)
	s := &server{edge: budget.NewEdge(policy, cfg.edge...), cfg: cfg}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(s.unary), grpc.ChainStreamInterceptor(s.stream)}
}

type server struct {
	edge *budget.Edge
	cfg  *config
}

func (s *server) start(ctx context.Context, fullMethod string) (context.Context, *budget.Entry, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	ctx = s.cfg.propagator().Extract(ctx, carrier(md))
	route := strings.TrimPrefix(fullMethod, "/")
	ctx, entry, err := s.edge.Start(ctx, budget.Arrival{
		Name: route, Kind: trace.SpanKindServer, Attributes: describe(fullMethod),
		Ask: ask(ctx, md), Attempt: carry.Attempt(carrier(md).Get(attemptKey)), ParentCause: budgetattr.CauseUpstreamCancel,
	})
	entry.SetRoute(route)
	return ctx, entry, err
}

// ask is the smaller of the deadline that gRPC derived from grpc-timeout and what the metadata carry.
func ask(ctx context.Context, md metadata.MD) budget.Limit {
	var d time.Duration
	deadline, ok := ctx.Deadline()
	if ok {
		d = max(time.Until(deadline), 0)
	}
	d, ok = wire.Smallest(d, ok, md.Get(timeoutKey), wire.ParseMillis)
	if !ok {
		return budget.Limit{}
	}
	return budget.LimitOf(d)
}

func (s *server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	ctx, entry, err := s.start(ctx, info.FullMethod)
	if err != nil {
		finish(entry, err)
		return nil, statusOf(err)
	}
	defer func() {
		p := recover()
		if p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if d := entry.Degraded(); len(d) > 0 {
			_ = grpc.SetTrailer(ctx, metadata.Pairs(degradedKey, strings.Join(d, ", ")))
		}
		finish(entry, err)
		if p != nil {
			panic(p)
		}
		err = statusOf(err)
	}()
	return handler(ctx, req)
}

func (s *server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	ctx, entry, err := s.start(ss.Context(), info.FullMethod)
	if err != nil {
		finish(entry, err)
		return statusOf(err)
	}
	defer func() {
		p := recover()
		if p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if d := entry.Degraded(); len(d) > 0 {
			ss.SetTrailer(metadata.Pairs(degradedKey, strings.Join(d, ", ")))
		}
		finish(entry, err)
		if p != nil {
			panic(p)
		}
		err = statusOf(err)
	}()
	return handler(srv, &serverStream{ServerStream: ss, ctx: ctx, entry: entry})
}

// finish closes the entry. A code that is not a failure of the server's is an answer.
func finish(entry *budget.Entry, err error) {
	code := Code(err)
	if span := entry.Span(); span.IsRecording() {
		span.SetAttributes(attribute.Int("rpc.grpc.status_code", int(code)))
	}
	if err != nil && !failed(code) && code != codes.Canceled {
		err = nil
	}
	entry.End(err)
}

// serverStream is a stream under the entry's context.
type serverStream struct {
	grpc.ServerStream
	ctx   context.Context
	entry *budget.Entry
}

func (s *serverStream) Context() context.Context { return s.ctx }

func (s *serverStream) SendMsg(m any) error {
	err := s.ServerStream.SendMsg(m)
	if err == nil {
		s.entry.Reached(budgetattr.TargetFirstOutput)
	}
	return err
}
