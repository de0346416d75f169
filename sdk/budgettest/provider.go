package budgettest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Provider is a fake provider of models, and of any other HTTP answer, that behaves as told. It speaks the streaming forms
// of OpenAI (chat completions and, below /responses, responses) and, below /messages, of Anthropic. It is safe for
// concurrent use.
type Provider struct {
	// URL is its base address. Clients reach it through [Provider.Transport]; one on a real socket by any other way too.
	URL string

	transport *http.Transport
	working   sync.WaitGroup

	mu          sync.Mutex
	scripts     [][]Act
	unreachable bool
	requests    []Request
	stats       Stats
}

// Request is what the provider saw of one request.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
}

// Stats are the counts of a provider.
type Stats struct {
	// Requests counts the requests that arrived, Dials the attempts to connect.
	Requests, Dials int
	// Connections are open now, and MaxConnections were at the same time.
	Connections, MaxConnections int
	// Active requests are worked on now, and MaxActive were at the same time.
	Active, MaxActive int
	// Tokens counts all tokens produced, TokensAfterClose those produced when nobody was there to read them.
	Tokens, TokensAfterClose int
}

// ProviderOption changes a new [Provider].
type ProviderOption struct{ inMemory bool }

// InMemory makes the provider listen on pipes instead of a socket, as a bubble of testing/synctest needs. Only its own
// transport reaches it.
func InMemory() ProviderOption { return ProviderOption{inMemory: true} }

// NewProvider starts a provider; it ends with the test. Without a script it answers each request with three tokens at once.
func NewProvider(t testing.TB, opts ...ProviderOption) *Provider {
	t.Helper()
	p := &Provider{}
	inMemory := false
	for _, o := range opts {
		inMemory = inMemory || o.inMemory
	}
	var listener net.Listener
	var dial func(context.Context) (net.Conn, error)
	if inMemory {
		l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		listener, dial, p.URL = l, l.dial, "http://provider.invalid"
	} else {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("provider: %v", err)
		}
		address := l.Addr().String()
		listener, p.URL = l, "http://"+address
		dial = func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", address) }
	}
	p.transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			p.mu.Lock()
			p.stats.Dials++
			unreachable := p.unreachable
			p.mu.Unlock()
			if unreachable {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return dial(ctx)
		}}
	server := &http.Server{Handler: http.HandlerFunc(p.serve), ConnState: p.connection}
	p.working.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		p.transport.CloseIdleConnections()
		_ = server.Close()
		p.working.Wait()
	})
	return p
}

// Transport returns the one way to the provider that knows of [Provider.Unreachable]; it dials the provider whatever the
// host of the request is.
func (p *Provider) Transport() *http.Transport { return p.transport }

// Answer adds what is done for one request, the requests taking the scripts in order; the last one serves all further
// requests. A script that ends on its own completes its answer.
func (p *Provider) Answer(script ...Act) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scripts = append(p.scripts, script)
}

// Unreachable makes attempts to connect hang until who dials gives up.
func (p *Provider) Unreachable(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unreachable = yes
}

// Requests returns what has arrived, in order.
func (p *Provider) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Stats returns the counts so far.
func (p *Provider) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

func (p *Provider) connection(_ net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch state {
	case http.StateNew:
		p.stats.Connections++
		p.stats.MaxConnections = max(p.stats.MaxConnections, p.stats.Connections)
	case http.StateClosed, http.StateHijacked:
		p.stats.Connections--
	}
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	var asked struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
	}
	_ = json.Unmarshal(body, &asked)
	p.mu.Lock()
	p.requests = append(p.requests, Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body})
	script := []Act{Tokens(3, 0)}
	if n := len(p.scripts); n > 0 {
		script = p.scripts[min(p.stats.Requests, n-1)]
	}
	p.stats.Requests++
	p.stats.Active++
	p.stats.MaxActive = max(p.stats.MaxActive, p.stats.Active)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.stats.Active--
		p.mu.Unlock()
	}()
	e := &exchange{p: p, w: w, rc: http.NewResponseController(w), gone: r.Context().Done(), form: formOf(r.URL.Path), model: asked.Model, stream: asked.Stream, arrived: time.Now()}
	e.left, _ = time.ParseDuration(r.Header.Get(budgetattr.HeaderTimeout) + "ms")
	for _, act := range script {
		if !act.do(e) {
			return
		}
	}
	e.finish()
}

func formOf(path string) form {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return messages
	case strings.HasSuffix(path, "/responses"):
		return responses
	}
	return completions
}

// pipeListener accepts the ends of pipes.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

var errListenerClosed = errors.New("provider is closed")

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, errListenerClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, errListenerClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "provider", Net: "pipe"} }
