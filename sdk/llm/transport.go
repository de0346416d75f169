package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/step"
	"github.com/laxity-dev/laxity/sdk/stream"
)

// Transport is an http.RoundTripper that guards calls of language models. It is safe for concurrent use.
type Transport struct {
	base http.RoundTripper
	cfg  config
}

// NewTransport returns a transport over base; nil means http.DefaultTransport.
func NewTransport(base http.RoundTripper, opts ...Option) *Transport {
	cfg := newConfig(opts)
	return &Transport{base: budgethttp.NewTransport(base, append(cfg.http, budgethttp.WithHop(budget.WithStream()))...), cfg: cfg}
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base transport.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper. A stream that is silent ends with a [*TimeoutError]; where the budget ends it,
// with a [*budget.ExhaustedError]; where the caller leaves, with a cancellation.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, _, err := t.roundTrip(req)
	return resp, err
}

func (t *Transport) roundTrip(req *http.Request) (*http.Response, *call, error) {
	asked := peek(req)
	provider := t.cfg.providerOf(req)
	stage := t.cfg.stage
	if stage == "" {
		stage = provider
	}
	var at budget.WireAttempt
	if t.cfg.cancel.drains() {
		// The request below is detached and counts no attempts.
		if at = budget.NextWireAttempt(req.Context()); at.Refused {
			closeBody(req)
			return nil, nil, budget.ErrAttempts
		}
	}
	opts := append([]budget.HopOption{budget.WithStream(), budget.WithSpanKind(trace.SpanKindClient),
		budget.WithSpanName("chat " + asked.Model)}, t.cfg.hop...)
	if at.Layer != "" {
		opts = append(opts, budget.WithAttempt(at.N, at.Layer))
	}
	ctx, hop, err := budget.StartHop(req.Context(), stage, opts...)
	if err != nil {
		closeBody(req)
		return nil, nil, err
	}
	hop.SetAttributes(attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", provider))
	if asked.Model != "" {
		hop.SetAttributes(attribute.String("gen_ai.request.model", asked.Model))
	}
	c := &call{reading: make(chan struct{}, 1), over: make(chan struct{}), cfg: &t.cfg, ctx: ctx, hop: hop, stage: stage, model: asked.Model}
	c.tally.start = time.Now()
	resp, err := c.send(t.base, req, asked.Stream)
	return resp, c, err
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// ask is what a request says of itself.
type ask struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
}

// peek reads the request without using it up; what has no second copy of its body is not read.
func peek(req *http.Request) (a ask) {
	if req.GetBody == nil {
		return a
	}
	body, err := req.GetBody()
	if err != nil {
		return a
	}
	defer body.Close()
	_ = json.NewDecoder(body).Decode(&a)
	return a
}

// call is one call on its way.
type call struct {
	cfg   *config
	ctx   context.Context // of the hop
	hop   budget.Hop
	stage string
	model string

	wire     context.CancelCauseFunc // ends the HTTP request
	silent   *stream.IdleError       // what an answer that does not begin ends with
	body     io.ReadCloser           // of the answer
	reader   *stream.Reader
	reading  chan struct{} // has an element while the body is read
	progress atomic.Bool   // the last chunk brought a token
	closed   atomic.Bool   // by the caller, before the end
	mute     atomic.Bool   // the answer did not begin in time
	closing  sync.Once
	shutting atomic.Bool   // a close of a stream's body is under way
	over     chan struct{} // closed after it; a lock would stand still the time of tests
	settling sync.Once
	left     bool      // closed by the caller before the end, once settled
	err      error     // what ended the call, once settled
	outcome  error     // the same for the record
	stopped  time.Time // when the client closed what was complete; zero if it read to the end

	mu     sync.Mutex
	tally  tally
	failed error // what a read of the provider's body failed with
}

// simultaneous is how close a cancellation and a timeout may be to count as fired at the same time.
const simultaneous = time.Millisecond

// gone reports whether the caller no longer waits.
func (c *call) gone() bool { return c.closed.Load() || c.ctx.Err() != nil }

// send sends the request and returns the answer with its body guarded.
func (c *call) send(base http.RoundTripper, req *http.Request, streams bool) (*http.Response, error) {
	ctx := c.ctx
	if c.cfg.cancel.drains() {
		// The request outlives its caller by what the policy declares.
		ctx = budget.Detach(ctx, c.stage)
	}
	ctx, c.wire = context.WithCancelCause(ctx)
	// Until the answer begins there is nothing to drain.
	stop := context.AfterFunc(c.ctx, func() { c.wire(context.Cause(c.ctx)) })
	limit, clock := c.cfg.first, stream.ClockFirstContent
	if c.cfg.idle > 0 && (limit <= 0 || c.cfg.idle < limit) {
		limit, clock = c.cfg.idle, stream.ClockLiveness
	}
	if streams && limit > 0 {
		silent := &stream.IdleError{Clock: clock, Limit: limit, Silent: limit, Lifetime: limit}
		timer := time.AfterFunc(limit, func() {
			// A caller who leaves at the same instant has left, and was not timed out.
			select {
			case <-c.ctx.Done():
				return
			case <-time.After(simultaneous):
			}
			c.mute.Store(true)
			c.wire(&budget.ExhaustedError{Stage: c.stage, Cause: budgetattr.CauseStreamIdle, Phase: budgetattr.PhaseFirstByte})
		})
		defer timer.Stop()
		c.silent = silent
	}
	resp, err := base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		if c.mute.Load() && c.ctx.Err() == nil {
			err = c.silent
		}
		c.settle(err)
		c.finish()
		return nil, c.err
	}
	stop()
	c.body = resp.Body
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "text/event-stream" || resp.StatusCode >= 400 {
		context.AfterFunc(c.ctx, func() { c.wire(context.Cause(c.ctx)) })
		resp.Body = &wholeBody{call: c, failed: step.CheckStatus(resp)}
		return resp, nil
	}
	open := func(context.Context) (io.ReadCloser, error) { return (*wireBody)(c), nil }
	encoding := resp.Header.Get("Content-Encoding")
	c.tally.opaque = encoding != "" && encoding != "identity"
	c.reader = stream.NewReader(c.ctx, open, func([]byte) bool { return c.progress.Load() },
		stream.WithStage(c.stage), stream.WithStart(c.tally.start), stream.WithFirstContent(c.cfg.first), stream.WithIdle(c.cfg.idle),
		stream.WithProgress(c.cfg.progress), stream.WithTotal(c.cfg.total))
	resp.Body = &streamBody{call: c}
	return resp, nil
}

// settle turns what ended the call into the error of its caller and that of its record; the first one counts.
func (c *call) settle(err error) {
	c.settling.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		idle, silent := errors.AsType[*stream.IdleError](err)
		switch {
		case err == io.EOF && c.tally.failed:
			// The client has read the error in the provider's words.
			c.err, c.outcome = io.EOF, ErrProvider
		case err == io.EOF && c.reader != nil && (c.tally.known || !c.tally.heard) && !c.tally.complete:
			// The provider ended the stream without completing the answer: a part must not pass as the whole.
			c.err, c.outcome = io.ErrUnexpectedEOF, io.ErrUnexpectedEOF
		case err == io.EOF:
			c.err = io.EOF
		case errors.Is(err, stream.ErrClosed):
			c.err = err
			if c.tally.failed {
				c.outcome = ErrProvider
			} else if !c.tally.complete {
				c.left = true
				c.hop.SetAttributes(attribute.String(budgetattr.CancelCauseKey, string(budgetattr.CauseSuperseded)))
			}
		case silent:
			phase := idle.Phase()
			if c.body == nil {
				phase = budgetattr.PhaseFirstByte
			}
			e := &TimeoutError{Stage: c.stage, Model: c.model, Phase: phase, Tokens: c.tally.tokens, Idle: idle}
			e.Remaining, e.HasRemaining = budget.Remaining(c.ctx)
			c.hop.TimeoutPhase(phase)
			if idle == c.silent {
				budget.ObserveStreamIdle(c.ctx, c.stage, phase, idle.Silent)
			}
			c.err = e
			c.outcome = &budget.ExhaustedError{Stage: c.stage, Cause: budgetattr.CauseStreamIdle, Phase: phase, Remaining: e.Remaining, HasRemaining: e.HasRemaining}
		default:
			if c.body != nil && c.reader != nil {
				c.hop.TimeoutPhase(c.phase())
			} else if e, ok := errors.AsType[*budget.ExhaustedError](err); ok {
				c.hop.TimeoutPhase(e.Phase)
			}
			c.err = c.hop.Err(err)
			c.outcome = c.err
		}
	})
}

// phase is the phase of a stream that runs. The caller holds the lock.
func (c *call) phase() budgetattr.Phase {
	if c.tally.tokens == 0 {
		return budgetattr.PhaseFirstToken
	}
	return budgetattr.PhaseBetweenTokens
}

// finish ends the hop with what is known of the call.
func (c *call) finish() {
	c.mu.Lock()
	t := &c.tally
	kv := make([]attribute.KeyValue, 0, 12)
	late, lost := 0.0, false
	seconds := func(key string, d time.Duration) { kv = append(kv, attribute.Float64(key, d.Seconds())) }
	text := func(key, v string) {
		if v != "" {
			kv = append(kv, attribute.String(key, v))
		}
	}
	if t.tokens > 0 {
		seconds(budgetattr.PhaseTime(budgetattr.PhaseFirstToken), t.first)
		seconds(budgetattr.PhaseTime(budgetattr.PhaseBetweenTokens), t.last-t.first)
	}
	if t.seen {
		seconds(budgetattr.FirstOutputTimeKey, t.visible)
	}
	if c.outcome == nil && (c.err == io.EOF || t.complete) {
		at := c.stopped
		if at.IsZero() {
			at = time.Now()
		}
		seconds(budgetattr.CompleteTimeKey, at.Sub(t.start))
	}
	text("gen_ai.response.id", t.id)
	text("gen_ai.response.model", t.model)
	if t.finish != "" {
		kv = append(kv, attribute.StringSlice("gen_ai.response.finish_reasons", []string{t.finish}))
	}
	if t.counted {
		kv = append(kv, attribute.Int("gen_ai.usage.input_tokens", t.input), attribute.Int("gen_ai.usage.output_tokens", t.output))
	}
	if c.gone() && (c.left || c.outcome != nil) && c.reader != nil {
		late, lost = float64(t.late), true
	}
	c.mu.Unlock()
	if lost {
		c.hop.CostAfterCancel("token", late)
	}
	c.hop.SetAttributes(kv...)
	c.hop.End(c.outcome)
	c.wire(context.Canceled)
}
