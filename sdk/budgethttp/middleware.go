package budgethttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/internal/carry"
)

// NewMiddleware returns a middleware that grants each request a budget by the policy, as its context's deadline, and
// records it on a server span. It panics if the policy contradicts itself.
//
// The context ends when the budget does, and when the client leaves. If the handler has not begun its answer when the
// budget ends, the client gets 504 at that moment, and what the handler writes later gets http.ErrHandlerTimeout. An answer
// that was begun goes on under the handler's own judgement. Stages that the handler declared as degraded are named in the
// response header X-Request-Degraded.
//
// net/http notices that an HTTP/1 client has left only once the request body was read to its end, so up to 64 KiB of it are
// read ahead. Where that was not enough, deadline.disconnect.observable is false on the span: nothing is claimed.
// Websockets and other upgrades have their budget until the connection is theirs.
func NewMiddleware(policy budget.Policy, opts ...Option) func(http.Handler) http.Handler {
	cfg := newConfig(opts)
	edge := budget.NewEdge(policy, cfg.edge...)
	return func(next http.Handler) http.Handler { return &handler{edge: edge, cfg: cfg, next: next} }
}

type handler struct {
	edge *budget.Edge
	cfg  *config
	next http.Handler
}

func (h *handler) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	ctx := h.cfg.propagator().Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, entry, err := h.edge.Start(ctx, budget.Arrival{
		Name: spanName(r.Method), Kind: trace.SpanKindServer, Attributes: arrived(r),
		Ask: Ask(r.Header), Attempt: carry.Attempt(r.Header.Get(budgetattr.HeaderAttempt)),
		Endless: r.Header.Get("Upgrade") != "", ParentCause: budgetattr.CauseClientDisconnect,
	})
	w := &response{rw: rw, ctx: ctx, entry: entry}
	if err != nil {
		w.fail(err)
		h.end(entry, w, r, err)
		return
	}
	r = r.WithContext(ctx)
	body := readAhead(rw, r, entry)
	stop := func() bool { return true }
	if entry.Mode() == budgetattr.ModeEnforce {
		stop = context.AfterFunc(ctx, w.expire)
	}
	defer func() {
		p := recover()
		stop()
		if p != nil {
			w.abandon()
		}
		if !body.stop(w) && entry.Span().IsRecording() {
			entry.Span().SetAttributes(attribute.Bool(budgetattr.DisconnectObservableKey, false))
		}
		if p != nil {
			h.end(entry, w, r, fmt.Errorf("panic: %v", p))
			panic(p)
		}
		w.finish()
		h.end(entry, w, r, w.err())
	}()
	h.next.ServeHTTP(w, r)
}

// end names the route and closes the entry.
func (h *handler) end(entry *budget.Entry, w *response, r *http.Request, err error) {
	route := entry.Route()
	switch {
	case route != "":
	case h.cfg.route != nil:
		route = h.cfg.route(r)
	default:
		route = pattern(r.Pattern)
	}
	if route != "" {
		entry.SetRoute(route)
	}
	if span := entry.Span(); span.IsRecording() {
		if route != "" {
			span.SetName(spanName(r.Method) + " " + route)
		}
		if status := w.recorded(); status != 0 {
			span.SetAttributes(attribute.Int("http.response.status_code", status))
		}
		var status statusError
		if errors.As(err, &status) {
			span.SetAttributes(attribute.String("error.type", status.ErrorType()))
		}
	}
	entry.End(err)
}

// pattern is the route in a pattern of net/http's mux, which may begin with a method.
func pattern(p string) string {
	if _, path, ok := strings.Cut(p, " "); ok {
		return strings.TrimLeft(path, " \t")
	}
	return p
}

// arrived describes a request by the semantic conventions for HTTP servers.
func arrived(r *http.Request) []attribute.KeyValue {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	kv := make([]attribute.KeyValue, 0, 8)
	kv = append(kv, attribute.String("http.request.method", methodOf(r.Method)), attribute.String("url.path", r.URL.Path),
		attribute.String("url.scheme", scheme), attribute.String("network.protocol.version", strings.TrimPrefix(r.Proto, "HTTP/")))
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if host != "" {
		kv = append(kv, attribute.String("server.address", host))
	}
	if n, err := strconv.Atoi(port); err == nil {
		kv = append(kv, attribute.Int("server.port", n))
	}
	if ua := r.UserAgent(); ua != "" {
		kv = append(kv, attribute.String("user_agent.original", ua))
	}
	return kv
}

// otherMethod stands for methods that HTTP does not know, which any client can make up.
const otherMethod = "_OTHER"

// methodOf is the method as attributes carry it. Empty means GET, as for net/http's clients.
func methodOf(method string) string {
	switch method {
	case "":
		return http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return otherMethod
}

// spanName is the method as names of spans carry it.
func spanName(method string) string {
	if method = methodOf(method); method != otherMethod {
		return method
	}
	return "HTTP"
}
