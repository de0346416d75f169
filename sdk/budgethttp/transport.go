package budgethttp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/wire"
)

// Transport is an http.RoundTripper that makes each request a hop of the request it is made for: refused if the budget does
// not suffice, ended with it, and passing on what is left. The hop lasts until the response body was read to its end or
// closed, and stays under the budget until then. Transport is safe for concurrent use.
type Transport struct {
	base http.RoundTripper
	cfg  *config
}

// NewTransport returns a transport over base; nil means http.DefaultTransport.
func NewTransport(base http.RoundTripper, opts ...Option) *Transport {
	if base == nil {
		base = http.DefaultTransport
	}
	return &Transport{base: base, cfg: newConfig(opts)}
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base transport.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper. Where time ran out or would not suffice, the error is a bare
// [*budget.ExhaustedError] that names the phase and what was left.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	stage := req.URL.Host
	if t.cfg.stage != nil {
		stage = t.cfg.stage(req)
	}
	at := attempt(req)
	if at.Refused {
		closeBody(req)
		return nil, budget.ErrAttempts
	}
	ctx, hop, err := budget.StartHop(req.Context(), stage, t.hopOptions(req, at)...)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	c := &call{ctx: ctx, hop: hop, stage: stage, since: time.Now()}
	if t.cfg.limited && budget.ModeOf(ctx) == budgetattr.ModeEnforce {
		c.limits = &t.cfg.limits
		c.ctx, c.cancel = context.WithCancelCause(ctx)
		c.arm()
	}
	out := req.WithContext(httptrace.WithClientTrace(c.ctx, c.trace()))
	out.Header = t.header(req, c, at)
	resp, err := t.base.RoundTrip(out)
	recording := hop.IsRecording()
	if recording {
		describe(hop, req)
	}
	if err != nil {
		err = c.err(err)
		c.finish(err)
		return nil, err
	}
	resp.Request = req
	if recording {
		describeResponse(hop, resp)
	}
	c.enter(phaseBody)
	resp.Body = c.body(resp)
	return resp, nil
}

// attempt counts the request, unless http.Client follows a redirect with it.
func attempt(req *http.Request) budget.WireAttempt {
	if req.Response != nil {
		return budget.SameWireAttempt(req.Context())
	}
	return budget.NextWireAttempt(req.Context())
}

func (t *Transport) hopOptions(req *http.Request, at budget.WireAttempt) []budget.HopOption {
	opts := make([]budget.HopOption, 0, 8)
	opts = append(opts, budget.WithSpanKind(trace.SpanKindClient), budget.WithSpanName(spanName(req.Method)), budget.WithPropagated())
	if t.cfg.peer != "" {
		opts = append(opts, budget.WithPeer(t.cfg.peer))
	}
	if at.Layer != "" {
		opts = append(opts, budget.WithAttempt(at.N, at.Layer))
	}
	if req.Header.Get("Upgrade") != "" {
		opts = append(opts, budget.WithStream())
	}
	return append(opts, t.cfg.hop...)
}

// header returns the headers to send. A request that already carries a remainder keeps it if it is smaller.
func (t *Transport) header(req *http.Request, c *call, at budget.WireAttempt) http.Header {
	h := make(http.Header, len(req.Header)+4)
	for k, v := range req.Header {
		h[k] = v
	}
	t.cfg.propagator().Inject(c.ctx, propagation.HeaderCarrier(h))
	if budget.ModeOf(c.ctx) != budgetattr.ModeEnforce {
		return h
	}
	h[budgetattr.HeaderAttempt] = []string{strconv.Itoa(at.N)}
	left, ok := budget.Remaining(c.ctx)
	if !ok {
		return h
	}
	if had, set := wire.Smallest(0, false, h[budgetattr.HeaderTimeout], wire.ParseMillis); !set || left < had {
		c.carrier = []string{wire.FormatMillis(left)}
		h[budgetattr.HeaderTimeout] = c.carrier
	}
	return h
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

func describe(hop budget.Hop, req *http.Request) {
	hop.SetAttributes(attribute.String("http.request.method", methodOf(req.Method)),
		attribute.String("server.address", req.URL.Hostname()),
		attribute.String("url.full", req.URL.Scheme+"://"+req.URL.Host+req.URL.Path))
	if p, err := strconv.Atoi(req.URL.Port()); err == nil {
		hop.SetAttributes(attribute.Int("server.port", p))
	}
}

func describeResponse(hop budget.Hop, resp *http.Response) {
	hop.SetAttributes(attribute.Int("http.response.status_code", resp.StatusCode))
}

// roundedOff is by how much the peer's time may end before the hop's: the wire carries whole milliseconds. A peer that
// answers 504 so close to the end has used up what it was handed; the hop was ended by its own time.
const roundedOff = 2 * time.Millisecond

// body returns the response's body under the budget. The hop ends with it.
func (c *call) body(resp *http.Response) io.ReadCloser {
	var failed error
	if resp.StatusCode >= 400 {
		failed = statusError(resp.StatusCode)
	}
	if end, ok := c.ctx.Deadline(); ok && time.Until(end) < roundedOff && resp.StatusCode == http.StatusGatewayTimeout {
		failed = &budget.ExhaustedError{Stage: c.stage, Cause: budgetattr.CauseLocalDeadline, Phase: budgetattr.PhaseFirstByte}
	}
	if resp.Body == nil || resp.Body == http.NoBody {
		c.finish(failed)
		return resp.Body
	}
	b := &responseBody{ReadCloser: resp.Body, call: c, failed: failed}
	if rw, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		return &upgradedBody{responseBody: b, w: rw}
	}
	return b
}

type responseBody struct {
	io.ReadCloser
	call   *call
	failed error // what the status says
	// closed: by its reader, perhaps beside a Read, which then fails without anything having gone wrong.
	closed atomic.Bool
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF || err != nil && b.closed.Load():
		b.call.finish(b.failed)
	case err != nil:
		err = b.call.err(err)
		b.call.finish(err)
	}
	return n, err
}

func (b *responseBody) Close() error {
	b.closed.Store(true)
	err := b.ReadCloser.Close()
	b.call.finish(b.failed)
	return err
}

// upgradedBody is the connection of an upgraded request, which is written too.
type upgradedBody struct {
	*responseBody
	w io.Writer
}

func (b *upgradedBody) Write(p []byte) (int, error) { return b.w.Write(p) }
