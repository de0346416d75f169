package budgethttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

type recorder struct {
	*tracetest.SpanRecorder
	provider *sdktrace.TracerProvider
}

func newRecorder() recorder {
	sr := tracetest.NewSpanRecorder()
	return recorder{sr, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(sr))}
}

func (r recorder) option() budgethttp.Option { return budgethttp.WithTracerProvider(r.provider) }

// wait returns the first ended span with the name; it waits for it, because a client may see an answer before the server
// has closed its books.
func (r recorder) wait(t *testing.T, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	var found sdktrace.ReadOnlySpan
	eventually(t, "span "+name, func() bool {
		for _, s := range r.Ended() {
			if s.Name() == name {
				found = s
				return true
			}
		}
		return false
	})
	return found
}

func attrs(s sdktrace.ReadOnlySpan) map[string]any {
	m := map[string]any{}
	for _, kv := range s.Attributes() {
		m[string(kv.Key)] = kv.Value.AsInterface()
	}
	return m
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func serve(t *testing.T, r recorder, p budget.Policy, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(budgethttp.NewMiddleware(p, r.option())(h))
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestT13_DefaultOverHTTP(t *testing.T) {
	r := newRecorder()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) {
		left, ok := budget.Remaining(r.Context())
		if !ok || left > 2*time.Second || left < time.Second {
			t.Errorf("remaining %v %v", left, ok)
		}
		w.WriteHeader(http.StatusTeapot)
	})
	s := httptest.NewServer(budgethttp.NewMiddleware(budget.Policy{Default: 2 * time.Second, Max: 8 * time.Second}, r.option())(mux))
	defer s.Close()
	if resp, _ := get(t, s.URL+"/items/7"); resp.StatusCode != http.StatusTeapot {
		t.Errorf("status %d", resp.StatusCode)
	}
	a := attrs(r.wait(t, "GET /items/{id}"))
	for k, w := range map[string]any{
		"http.route": "/items/{id}", "http.request.method": "GET", "url.path": "/items/7", "http.response.status_code": int64(418),
		budgetattr.BudgetSourceKey: "default", budgetattr.OutcomeKey: "done", budgetattr.BudgetReceivedKey: 2.0, budgetattr.LateKey: false,
	} {
		if a[k] != w {
			t.Errorf("%s = %v, want %v", k, a[k], w)
		}
	}
}

func TestT14_ClampedOverHTTP(t *testing.T) {
	r := newRecorder()
	s := serve(t, r, budget.Policy{Max: 8 * time.Second}, func(w http.ResponseWriter, r *http.Request) {})
	for _, h := range [][]string{
		{budgetattr.HeaderTimeout, "3600000"}, {budgetattr.HeaderGRPCTimeout, "1H"}, {budgetattr.HeaderTimeout, "99999999999999999999"},
		{budgetattr.HeaderTimeout, "soon"}, {budgetattr.HeaderTimeout, "9000", budgetattr.HeaderTimeout, "x"},
	} {
		r.Reset()
		get(t, s.URL, h...)
		if a := attrs(r.wait(t, "GET")); a[budgetattr.BudgetReceivedKey] != 8.0 {
			t.Errorf("%v: received %v", h, a[budgetattr.BudgetReceivedKey])
		}
	}
	for _, v := range []string{"0", "-1", "0, 100"} {
		if resp, _ := get(t, s.URL, budgetattr.HeaderTimeout, v); resp.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("%q: status %d", v, resp.StatusCode)
		}
	}
}

func TestHandlerThatIgnoresTheEndDoesNotHoldTheClient(t *testing.T) {
	r := newRecorder()
	release := make(chan struct{})
	late := make(chan error, 1)
	s := serve(t, r, budget.Policy{Default: 100 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		_, hop, _ := budget.StartHop(r.Context(), "stubborn")
		<-release
		hop.End(nil)
		_, err := io.WriteString(w, "too late")
		late <- err
	})
	start := time.Now()
	resp, body := get(t, s.URL)
	if took := time.Since(start); resp.StatusCode != http.StatusGatewayTimeout || took > 5*time.Second || strings.Contains(body, "too late") {
		t.Errorf("%d %q after %v", resp.StatusCode, body, took)
	}
	close(release)
	if err := <-late; err != http.ErrHandlerTimeout {
		t.Errorf("late write: %v", err)
	}
	entry := r.wait(t, "GET")
	a := attrs(entry)
	if a[budgetattr.OutcomeKey] != "cancelled" || a[budgetattr.CancelCauseKey] != "local_deadline" || a[budgetattr.OpenChildrenKey] != int64(1) ||
		a["http.response.status_code"] != int64(504) || len(entry.Events()) != 1 {
		t.Errorf("%v, events %v", a, entry.Events())
	}
}

func TestT18_DisconnectReachesTheWorkBelow(t *testing.T) {
	for name, body := range map[string]string{"no body": "", "unread body": "0123456789", "long unread body": strings.Repeat("x", 200<<10)} {
		t.Run(name, func(t *testing.T) {
			rec := newRecorder()
			var below atomic.Bool
			began := make(chan struct{})
			deep := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(began)
				<-r.Context().Done()
				below.Store(true)
			}))
			defer deep.Close()
			client := &http.Client{Transport: budgethttp.NewTransport(&http.Transport{})}
			s := serve(t, rec, budget.Policy{Default: 20 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
				if len(body) > 100<<10 {
					_, _ = io.CopyN(io.Discard, r.Body, int64(len(body))-1000)
				}
				req, _ := http.NewRequestWithContext(r.Context(), "GET", deep.URL, nil)
				_, err := client.Do(req)
				if !errors.Is(err, context.Canceled) {
					t.Errorf("err %v", err)
				}
			})
			ctx, leave := context.WithCancel(t.Context())
			go func() { <-began; leave() }()
			req, _ := http.NewRequestWithContext(ctx, "POST", s.URL, strings.NewReader(body))
			start := time.Now()
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
				t.Error("got an answer")
			}
			eventually(t, "the service below sees the end", below.Load)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			a := attrs(rec.wait(t, "POST"))
			if a[budgetattr.CancelCauseKey] != "client_disconnect" || a[budgetattr.OutcomeKey] != "cancelled" || a["http.response.status_code"] != int64(499) ||
				a[budgetattr.DisconnectObservableKey] != nil {
				t.Errorf("entry %v", a)
			}
			hop := rec.wait(t, "GET")
			if a := attrs(hop); a[budgetattr.CancelCauseKey] != "client_disconnect" || a["error.type"] != "context.Canceled" ||
				hop.Status().Code.String() == "Error" || hop.Parent().SpanID() != rec.wait(t, "POST").SpanContext().SpanID() {
				t.Errorf("hop %v", a)
			}
		})
	}
}

func TestDisconnectThatCannotBeNoticedIsNotClaimed(t *testing.T) {
	r := newRecorder()
	s := serve(t, r, budget.Policy{Default: 300 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// More than is read ahead, and never all of it.
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n%s", strings.Repeat("x", 100<<10))
	a := attrs(r.wait(t, "POST"))
	if a[budgetattr.DisconnectObservableKey] != false || a[budgetattr.CancelCauseKey] != "local_deadline" {
		t.Errorf("%v", a)
	}
}

// zeros is a body without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestTransportErrorsNamePhaseAndRemainder(t *testing.T) {
	stall := make(chan struct{})
	defer close(stall)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "half")
			http.NewResponseController(w).Flush()
		}
		select {
		case <-r.Context().Done():
		case <-stall:
		}
	}))
	defer slow.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, c := range []struct {
		name, url string
		phase     budgetattr.Phase
		opts      []budgethttp.Option
		own       bool // a limit of the phase, not the budget
	}{
		{"first byte, budget", slow.URL, budgetattr.PhaseFirstByte, nil, false},
		{"body, budget", slow.URL + "/body", budgetattr.PhaseBody, nil, false},
		{"request, budget", "http://" + silent.Addr().String(), budgetattr.PhaseRequest, nil, false},
		{"request, limit", "http://" + silent.Addr().String(), budgetattr.PhaseRequest, []budgethttp.Option{budgethttp.WithPhaseLimit(budgetattr.PhaseRequest, 50*time.Millisecond)}, true},
		{"tls, budget", "https://" + silent.Addr().String(), budgetattr.PhaseTLS, nil, false},
		{"first byte, limit", slow.URL, budgetattr.PhaseFirstByte, []budgethttp.Option{budgethttp.WithPhaseLimit(budgetattr.PhaseFirstByte, 50*time.Millisecond)}, true},
		{"body, limit", slow.URL + "/body", budgetattr.PhaseBody, []budgethttp.Option{budgethttp.WithPhaseLimit(budgetattr.PhaseBody, 50*time.Millisecond)}, true},
		{"tls, limit", "https://" + silent.Addr().String(), budgetattr.PhaseTLS, []budgethttp.Option{budgethttp.WithPhaseLimit(budgetattr.PhaseTLS, 50*time.Millisecond)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecorder()
			limit := 200 * time.Millisecond
			if c.own {
				limit = time.Minute
			}
			ctx, entry, _ := budget.NewEdge(budget.Policy{Default: limit}, budget.WithTracerProvider(r.provider)).Start(t.Context(), budget.Arrival{Name: "in"})
			rt := budgethttp.NewTransport(&http.Transport{}, c.opts...)
			defer rt.CloseIdleConnections()
			method, body := "GET", io.Reader(nil)
			if c.phase == budgetattr.PhaseRequest {
				method, body = "POST", zeros{} // more than the connection takes while nobody reads
			}
			req, _ := http.NewRequestWithContext(ctx, method, c.url, body)
			resp, err := rt.RoundTrip(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			} else if _, bare := err.(*budget.ExhaustedError); !bare {
				t.Errorf("not bare: %T", err)
			}
			var e *budget.ExhaustedError
			if !errors.As(err, &e) || e.Phase != c.phase || !e.HasRemaining || c.own != (e.Remaining > time.Second) || !strings.Contains(err.Error(), string(c.phase)) {
				t.Fatalf("err %v", err)
			}
			if !(&url.Error{Err: err}).Timeout() {
				t.Error("no timeout to the standard library")
			}
			if ctx.Err() == nil != c.own {
				t.Errorf("request %v", ctx.Err())
			}
			a := attrs(r.wait(t, method))
			if a[budgetattr.TimeoutPhaseKey] != string(c.phase) || a[budgetattr.CancelCauseKey] != "local_deadline" || a[budgetattr.PhaseTime(c.phase)] == nil {
				t.Errorf("%v", a)
			}
			entry.End(err)
		})
	}
}

// The wire rounds down, so a peer's 504 may come just before the hop's own time is over. It is the same timeout.
func TestTimeoutOfThePeerJustBeforeOurOwnIsOurOwn(t *testing.T) {
	for name, early := range map[string]time.Duration{"rounded down": 500 * time.Microsecond, "its own affair": 400 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder()
				base := roundTripper(func(req *http.Request) (*http.Response, error) {
					end, _ := req.Context().Deadline()
					time.Sleep(time.Until(end) - early)
					return &http.Response{StatusCode: http.StatusGatewayTimeout, Body: io.NopCloser(strings.NewReader("late\n")), Header: http.Header{}}, nil
				})
				client := &http.Client{Transport: budgethttp.NewTransport(base, budgethttp.WithHop(budget.WithCap(time.Second)))}
				edge := budget.NewEdge(budget.Policy{Default: 2 * time.Second}, budget.WithTracerProvider(r.provider))
				ctx, entry, _ := edge.Start(t.Context(), budget.Arrival{Name: "in"})
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://peer.test/", nil)
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				exhausted := entry.Exhausted()
				entry.End(nil)
				cause := attrs(r.wait(t, "GET"))[budgetattr.CancelCauseKey]
				if ours := early < time.Millisecond; ours != (exhausted != nil) || ours != (cause == string(budgetattr.CauseLocalDeadline)) {
					t.Errorf("exhausted %v, cause %v", exhausted, cause)
				}
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWaitingForAConnectionIsAPhase(t *testing.T) {
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-hold }))
	defer s.Close()
	defer close(hold)
	client := &http.Client{Transport: budgethttp.NewTransport(&http.Transport{MaxConnsPerHost: 1})}
	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: 10 * time.Second}).Start(t.Context(), budget.Arrival{})
	defer entry.End(nil)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	eventually(t, "the only connection is taken", func() bool {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		req, _ := http.NewRequestWithContext(short, "GET", s.URL, nil)
		_, err := client.Do(req)
		var e *budget.ExhaustedError
		return errors.As(err, &e) && e.Phase == budgetattr.PhasePool
	})
}

func TestBodyIsUnderTheBudgetUntilClosedAndNotLonger(t *testing.T) {
	r := newRecorder()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer s.Close()
	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: 10 * time.Second}, budget.WithTracerProvider(r.provider)).Start(t.Context(), budget.Arrival{Name: "in"})
	client := &http.Client{Transport: budgethttp.NewTransport(&http.Transport{}, budgethttp.WithHop(budget.WithCap(5*time.Second)))}
	for i := range 2 {
		r.Reset()
		req, _ := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Ended()) != 0 {
			t.Error("the hop ended before its body was read")
		}
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "hello" {
			t.Errorf("%q %v", b, err)
		}
		resp.Body.Close()
		a := attrs(r.wait(t, "GET"))
		if a[budgetattr.ConnectionReusedKey] != (i == 1) || a["http.response.status_code"] != int64(200) || a[budgetattr.CapKey] != 5.0 ||
			a[budgetattr.PhaseTime(budgetattr.PhaseFirstByte)] == nil || (a[budgetattr.PhaseTime(budgetattr.PhaseConnect)] == nil) != (i == 1) {
			t.Errorf("%d: %v", i, a)
		}
	}
	entry.End(nil)
}

func TestShadowLeavesHeadersAlone(t *testing.T) {
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.Header.Clone() }))
	defer s.Close()
	for _, mode := range []budgetattr.Mode{budgetattr.ModeOff, budgetattr.ModeShadow, budgetattr.ModeEnforce} {
		r := newRecorder()
		client := &http.Client{Transport: budgethttp.NewTransport(nil)}
		front := serve(t, r, budget.Policy{Max: 8 * time.Second, Control: budget.NewControl(mode)}, func(w http.ResponseWriter, r *http.Request) {
			if v := r.Header.Get(budgetattr.HeaderTimeout); v != "60000" {
				t.Errorf("%s: arrived %q", mode, v)
			}
			req, _ := http.NewRequestWithContext(r.Context(), "GET", s.URL, nil)
			req.Header.Set(budgetattr.HeaderTimeout, r.Header.Get(budgetattr.HeaderTimeout))
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
		get(t, front.URL, budgetattr.HeaderTimeout, "60000")
		if v := got.Get(budgetattr.HeaderTimeout); (v == "60000") == (mode == budgetattr.ModeEnforce) {
			t.Errorf("%s: sent %q", mode, v)
		}
		if got.Get("Traceparent") == "" {
			t.Errorf("%s: no trace context", mode)
		}
	}
}

func TestResponseKeepsWhatHandlersRelyOn(t *testing.T) {
	r := newRecorder()
	mux := http.NewServeMux()
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "4")
		w.Header().Set(http.TrailerPrefix+"X-More", "yes")
	})
	mux.HandleFunc("/degraded", func(w http.ResponseWriter, r *http.Request) {
		budget.FromContext(r.Context()).Degrade("rerank")
		budget.FromContext(r.Context()).Degrade("validate")
		_, _ = io.WriteString(w, "body")
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "x.txt", time.Time{}, strings.NewReader(strings.Repeat("0123456789", 1000)))
	})
	mux.HandleFunc("/panic", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	mux.HandleFunc("/upgrade", func(w http.ResponseWriter, r *http.Request) {
		if left, ok := budget.Remaining(r.Context()); !ok || left > 5*time.Second {
			t.Errorf("before the upgrade: %v %v", left, ok)
		}
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		_ = rw.Flush()
		if _, ok := budget.Remaining(r.Context()); ok {
			t.Error("a budget after the upgrade")
		}
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	})
	s := httptest.NewServer(budgethttp.NewMiddleware(budget.Policy{Default: 5 * time.Second}, r.option())(mux))
	defer s.Close()

	if resp, body := get(t, s.URL+"/trailers"); body != "body" || resp.Trailer.Get("X-Sum") != "4" || resp.Trailer.Get("X-More") != "yes" {
		t.Errorf("trailers %q %v", body, resp.Trailer)
	}
	if resp, _ := get(t, s.URL+"/degraded"); resp.Header.Get(budgetattr.HeaderDegraded) != "rerank, validate" {
		t.Errorf("degraded %v", resp.Header)
	}
	if a := attrs(r.wait(t, "GET /degraded")); a[budgetattr.OutcomeKey] != "degraded" {
		t.Errorf("degraded %v", a)
	}
	if resp, body := get(t, s.URL+"/file"); len(body) != 10000 || resp.ContentLength != 10000 {
		t.Errorf("file %d %d", len(body), resp.ContentLength)
	}
	if _, err := http.Get(s.URL + "/panic"); err == nil {
		t.Error("the panic was swallowed")
	}
	if a := attrs(r.wait(t, "GET /panic")); a[budgetattr.OutcomeKey] != "failed" {
		t.Errorf("panic %v", a)
	}
	big := strings.Repeat("abc", 300<<10)
	resp, err := http.Post(s.URL+"/echo", "text/plain", strings.NewReader(big))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != big {
		t.Errorf("echo of %d bytes: %d %v", len(big), len(b), err)
	}
	resp.Body.Close()

	client := &http.Client{Transport: budgethttp.NewTransport(&http.Transport{})}
	req, _ := http.NewRequest("GET", s.URL+"/upgrade", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "x")
	up, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer up.Body.Close()
	if up.StatusCode != 101 {
		t.Fatalf("status %d", up.StatusCode)
	}
	fmt.Fprintln(up.Body.(io.Writer), "ping")
	if line, err := bufio.NewReader(up.Body).ReadString('\n'); line != "ping\n" {
		t.Errorf("upgraded %q %v", line, err)
	}
}

func FuzzAsk(f *testing.F) {
	f.Add("1500", "1S", "0", "12")
	f.Add("-1", "99999999H", "", "1,2,3")
	f.Fuzz(func(t *testing.T, own, grpc, envoy, connect string) {
		h := http.Header{budgetattr.HeaderTimeout: {own}, budgetattr.HeaderGRPCTimeout: {grpc}, budgetattr.HeaderEnvoyTimeout: {envoy}, budgetattr.HeaderConnectTimeout: {connect}}
		all, ok := budgethttp.Ask(h).Get()
		for k, v := range h {
			if one, has := budgethttp.Ask(http.Header{k: v}).Get(); has && (!ok || one < all) {
				t.Errorf("%s %q alone asks %v, all ask %v %v", k, v, one, all, ok)
			}
		}
		if g := (budget.Policy{Default: time.Second, Max: 2 * time.Second}).Grant(budgethttp.Ask(h)); true {
			if d, _ := g.Received.Get(); d < 0 || d > 2*time.Second {
				t.Errorf("granted %v", d)
			}
		}
	})
}

// HTTP/2 servers notice by themselves, and one connection carries many requests: the end of one leaves the others alone.
func TestHTTP2(t *testing.T) {
	r := newRecorder()
	gone, slow := make(chan budgetattr.Cause, 1), make(chan struct{})
	s := httptest.NewUnstartedServer(budgethttp.NewMiddleware(budget.Policy{Default: 10 * time.Second}, r.option())(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/leave":
				close(slow)
				<-r.Context().Done()
				cause, _ := budget.CauseOf(r.Context())
				gone <- cause
			case "/late":
				<-r.Context().Done()
			default:
				fmt.Fprint(w, r.ProtoMajor, r.Header.Get(budgetattr.HeaderTimeout) != "")
			}
		})))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	client := s.Client()
	client.Transport = budgethttp.NewTransport(client.Transport)
	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: 10 * time.Second}, budget.WithTracerProvider(r.provider)).Start(t.Context(), budget.Arrival{})
	defer entry.End(nil)
	call := func(ctx context.Context, method, path, body string) (string, error) {
		req, _ := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(b)), err
	}
	if got, err := call(ctx, "GET", "/", ""); got != "200 2 true" {
		t.Errorf("%q %v", got, err)
	}
	leaving, leave := context.WithCancel(ctx)
	go func() { <-slow; leave() }()
	if _, err := call(leaving, "POST", "/leave", "unread"); !errors.Is(err, context.Canceled) {
		t.Errorf("err %v", err)
	}
	if c := <-gone; c != budgetattr.CauseClientDisconnect {
		t.Errorf("the server saw %q", c)
	}
	short, hop, _ := budget.StartHop(ctx, "short", budget.WithCap(100*time.Millisecond))
	// The server's milliseconds are rounded down: its answer may come just before our own end.
	got, err := call(short, "GET", "/late", "")
	if !errors.Is(err, budget.ErrExhausted) && !strings.HasPrefix(got, "504 ") {
		t.Errorf("%q %v", got, err)
	}
	hop.End(err)
	if got, err := call(ctx, "GET", "/", ""); got != "200 2 true" {
		t.Errorf("afterwards %q %v", got, err)
	}
}

// Looking up a name and connecting are phases of their own.
func TestPhasesBeforeTheConnection(t *testing.T) {
	for phase, stuck := range map[budgetattr.Phase]func(*httptrace.ClientTrace){
		budgetattr.PhaseDNS: func(c *httptrace.ClientTrace) { c.DNSStart(httptrace.DNSStartInfo{Host: "peer.test"}) },
		budgetattr.PhaseConnect: func(c *httptrace.ClientTrace) {
			c.DNSStart(httptrace.DNSStartInfo{Host: "peer.test"})
			c.ConnectStart("tcp", "192.0.2.1:80")
		},
	} {
		for _, limit := range []time.Duration{0, 50 * time.Millisecond} {
			r := newRecorder()
			base := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				stuck(httptrace.ContextClientTrace(ctx))
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			total := 200 * time.Millisecond
			if limit > 0 {
				total = time.Minute
			}
			ctx, entry, _ := budget.NewEdge(budget.Policy{Default: total}, budget.WithTracerProvider(r.provider)).Start(t.Context(), budget.Arrival{})
			req, _ := http.NewRequestWithContext(ctx, "GET", "http://peer.test/", nil)
			_, err := budgethttp.NewTransport(base, budgethttp.WithPhaseLimit(phase, limit)).RoundTrip(req)
			if e, ok := errors.AsType[*budget.ExhaustedError](err); !ok || e.Phase != phase {
				t.Errorf("%s, limit %v: %v", phase, limit, err)
			}
			entry.End(err)
			if a := attrs(r.wait(t, "GET")); a[budgetattr.TimeoutPhaseKey] != string(phase) || a[budgetattr.ConnectionReusedKey] != nil {
				t.Errorf("%s: %v", phase, a)
			}
		}
	}
}
