package budgetgrpc

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/wire"
)

// DialOptions return the interceptors, chained, that make each call a hop of the request it is made for: refused if the
// budget does not suffice, ended with it, and passing on what is left. A stream is one hop until its last message or its
// error was received. Where time ran out the error is a status DeadlineExceeded in which errors.As finds a
// [*budget.ExhaustedError].
func DialOptions(opts ...Option) []grpc.DialOption {
	c := &client{cfg: newConfig(opts)}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(c.unary), grpc.WithChainStreamInterceptor(c.stream)}
}

type client struct{ cfg *config }

// start admits the call and puts what is left into the outgoing metadata.
func (c *client) start(ctx context.Context, method string, streams bool) (context.Context, budget.Hop, error) {
	at := budget.NextWireAttempt(ctx)
	if at.Refused {
		return ctx, budget.Hop{}, budget.ErrAttempts
	}
	opts := make([]budget.HopOption, 0, 8)
	opts = append(opts, budget.WithSpanKind(trace.SpanKindClient), budget.WithPropagated())
	if c.cfg.peer != "" {
		opts = append(opts, budget.WithPeer(c.cfg.peer))
	}
	if at.Layer != "" {
		opts = append(opts, budget.WithAttempt(at.N, at.Layer))
	}
	if streams {
		opts = append(opts, budget.WithStream())
	}
	ctx, hop, err := budget.StartHop(ctx, strings.TrimPrefix(method, "/"), append(opts, c.cfg.hop...)...)
	if err != nil {
		return ctx, hop, err
	}
	if hop.IsRecording() {
		hop.SetAttributes(describe(method)...)
	}
	md, ok := metadata.FromOutgoingContext(ctx)
	if ok {
		md = md.Copy()
	} else {
		md = metadata.MD{}
	}
	c.cfg.propagator().Inject(ctx, carrier(md))
	if budget.ModeOf(ctx) == budgetattr.ModeEnforce {
		md.Set(attemptKey, strconv.Itoa(at.N))
		if left, ok := budget.Remaining(ctx); ok {
			// A value that the caller set itself stays if it is smaller.
			left, _ = wire.Smallest(left, true, md.Get(timeoutKey), wire.ParseMillis)
			md.Set(timeoutKey, wire.FormatMillis(left))
		}
	}
	return metadata.NewOutgoingContext(ctx, md), hop, nil
}

func (c *client) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, hop, err := c.start(ctx, method, false)
	if err != nil {
		return statusOf(err)
	}
	hop.TimeoutPhase(budgetattr.PhaseFirstByte)
	return end(hop, invoke(ctx, method, req, reply, cc, opts...))
}

// end closes the hop and returns the error that the caller sees.
func end(hop budget.Hop, err error) error {
	if status.Code(err) == codes.DeadlineExceeded {
		// The server's clock may be over a moment before ours.
		if known := hop.Err(context.DeadlineExceeded); known != context.DeadlineExceeded {
			err = known
		}
	}
	err = statusOf(hop.Err(err))
	hop.SetAttributes(attribute.Int("rpc.grpc.status_code", int(Code(err))))
	if err != nil {
		hop.End(&rpcError{err})
	} else {
		hop.End(nil)
	}
	return err
}

func (c *client) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, hop, err := c.start(ctx, method, desc.ServerStreams)
	if err != nil {
		return nil, statusOf(err)
	}
	hop.TimeoutPhase(budgetattr.PhaseFirstByte)
	inner, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, end(hop, err)
	}
	s := &clientStream{ClientStream: inner, hop: hop, many: desc.ServerStreams}
	// A stream that is given up ends with its context, as gRPC demands of its callers.
	s.forget = context.AfterFunc(ctx, func() { s.finish(context.Cause(ctx)) })
	return s, nil
}

// clientStream closes its hop when the stream has ended.
type clientStream struct {
	grpc.ClientStream
	hop    budget.Hop
	many   bool
	forget func() bool
	begun  atomic.Bool
	once   sync.Once
	ended  error
}

func (s *clientStream) finish(err error) error {
	s.once.Do(func() {
		if err == io.EOF {
			err = nil
		}
		s.ended = end(s.hop, err)
	})
	return s.ended
}

// Header and SendMsg end the stream where they fail, and gRPC asks nobody to receive after that. io.EOF of SendMsg says that
// receiving tells the error.
func (s *clientStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	return md, s.broken(err)
}

func (s *clientStream) SendMsg(m any) error { return s.broken(s.ClientStream.SendMsg(m)) }

func (s *clientStream) broken(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	s.forget()
	if known := s.finish(err); known != nil {
		return known
	}
	return err
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	switch {
	case err == nil && s.many:
		if !s.begun.Swap(true) {
			s.hop.TimeoutPhase(budgetattr.PhaseBody)
		}
		return nil
	case err == nil:
		s.forget()
		_ = s.finish(nil)
		return nil
	case err == io.EOF:
		s.forget()
		_ = s.finish(nil)
		return err
	}
	return s.broken(err)
}
