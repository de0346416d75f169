package llm

import (
	"net/http"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/stream"
)

// CancelPolicy says what is done with a stream whose caller no longer waits for it. The zero policy is [Abort].
type CancelPolicy struct {
	drain time.Duration
	full  bool
}

// Abort closes the stream at once: what the provider still produces is paid for unseen, and the usage stays unknown.
func Abort() CancelPolicy { return CancelPolicy{} }

// DrainFor reads on for at most d, so that the usage becomes known.
func DrainFor(d time.Duration) CancelPolicy { return CancelPolicy{drain: d} }

// DrainFully reads the stream to its end; only silence ends it before.
func DrainFully() CancelPolicy { return CancelPolicy{full: true} }

func (p CancelPolicy) drains() bool { return p.full || p.drain > 0 }

// Option changes a new [Transport] or [Fallback].
type Option struct{ apply func(*config) }

type config struct {
	stage    string
	provider string
	first    time.Duration
	idle     time.Duration
	progress time.Duration
	total    time.Duration
	cancel   CancelPolicy
	hop      []budget.HopOption
	http     []budgethttp.Option
}

func newConfig(opts []Option) config {
	c := config{idle: stream.DefaultIdle}
	for _, o := range opts {
		if o.apply != nil {
			o.apply(&c)
		}
	}
	return c
}

// WithStage names the stage of the calls; the default is the provider.
func WithStage(stage string) Option { return Option{func(c *config) { c.stage = stage }} }

// WithProvider names the provider; the default is what the host tells.
func WithProvider(name string) Option { return Option{func(c *config) { c.provider = name }} }

// WithFirstToken bounds the time from the request to the first token of a stream, reasoning included. Zero or less, the
// default, does not.
func WithFirstToken(d time.Duration) Option { return Option{func(c *config) { c.first = d }} }

// WithIdle bounds the time in which a stream says nothing at all, heartbeats included; it is stream.DefaultIdle without
// this option, and zero or less disables it.
func WithIdle(d time.Duration) Option { return Option{func(c *config) { c.idle = d }} }

// WithProgress bounds the time in which a stream brings no token, whatever heartbeats it sends. Zero or less, the default,
// does not.
func WithProgress(d time.Duration) Option { return Option{func(c *config) { c.progress = d }} }

// WithTotal bounds the life of a stream. Zero or less, the default, does not: a stream that makes progress is not cut but
// by the budget.
func WithTotal(d time.Duration) Option { return Option{func(c *config) { c.total = d }} }

// WithCancel says what is done with a stream whose caller no longer waits for it.
func WithCancel(p CancelPolicy) Option { return Option{func(c *config) { c.cancel = p }} }

// WithHop adds options to the hop of every call.
func WithHop(opts ...budget.HopOption) Option {
	return Option{func(c *config) { c.hop = append(c.hop, opts...) }}
}

// WithHTTP adds options to the hops of the HTTP requests below the calls.
func WithHTTP(opts ...budgethttp.Option) Option {
	return Option{func(c *config) { c.http = append(c.http, opts...) }}
}

// providerOf returns the provider as gen_ai.provider.name has it.
func (c *config) providerOf(req *http.Request) string {
	host := req.URL.Hostname()
	switch {
	case c.provider != "":
		return c.provider
	case strings.HasSuffix(host, "openai.com"):
		return "openai"
	case strings.HasSuffix(host, "openai.azure.com"):
		return "azure.ai.openai"
	case strings.HasSuffix(host, "anthropic.com"):
		return "anthropic"
	}
	return host
}
