package budgethttp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

// Each test here is a fault that was found in the middleware.

// A client that stops in the middle of its upload kept the answer from itself, and the server's goroutine for ever.
func TestIssueStalledUploadGetsTheAnswer(t *testing.T) {
	s := serve(t, newRecorder(), budget.Policy{Default: 100 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			if _, err := io.ReadAll(r.Body); !errors.Is(err, budget.ErrExhausted) {
				t.Errorf("reading a body that stalls: %v", err)
			}
			return
		}
		if r.URL.Path == "/answer" {
			_, _ = io.WriteString(w, "ok")
		}
	})
	for path, want := range map[string]int{"/answer": 200, "/nothing": 200, "/read": 504} {
		t.Run(path, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhello", path)
			in := bufio.NewReader(conn)
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != want {
				t.Fatalf("answer %v, error %v", resp, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			// What the client still sends is no further request.
			if _, err := in.ReadByte(); err == nil {
				t.Error("the connection goes on")
			}
		})
	}
}

// A body that the handler leaves unread does not cost the connection.
func TestIssueUnreadBodyKeepsTheConnection(t *testing.T) {
	s := serve(t, newRecorder(), budget.Policy{Default: 5 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr)
	})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	in := bufio.NewReader(conn)
	for range 3 {
		_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 30000\r\n\r\n%30000d", 1)
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.Close {
			t.Fatalf("answer %v, error %v", resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}

// closedWriter counts calls after its handler has returned, as HTTP/2's writer panics at them.
type closedWriter struct {
	http.ResponseWriter
	mu     sync.Mutex
	closed bool
	after  int
}

func (c *closedWriter) WriteHeader(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.after++
	}
	c.ResponseWriter.WriteHeader(code)
}

// A handler that panicked at the end of its budget left the budget answering on a writer that was no more.
func TestIssueNoAnswerAfterAPanic(t *testing.T) {
	r := newRecorder()
	h := budgethttp.NewMiddleware(budget.Policy{Default: time.Second}, r.option())(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); panic("in the handler") }))
	synctest.Test(t, func(t *testing.T) {
		for range 200 {
			w := &closedWriter{ResponseWriter: httptest.NewRecorder()}
			func() {
				defer func() {
					w.mu.Lock()
					defer w.mu.Unlock()
					if p := recover(); p != "in the handler" {
						t.Errorf("panic %v", p)
					}
					w.closed = true
				}()
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
			}()
			synctest.Wait()
			if w.after > 0 {
				t.Fatal("answered after the handler had returned")
			}
		}
	})
}

// A panic was recorded with status 200, which nobody got.
func TestIssuePanicRecordsNoStatus(t *testing.T) {
	r := newRecorder()
	h := budgethttp.NewMiddleware(budget.Policy{Default: time.Second}, r.option())(http.HandlerFunc(
		func(http.ResponseWriter, *http.Request) { panic("in the handler") }))
	func() {
		defer func() { _ = recover() }()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	}()
	got := attrs(r.wait(t, "GET"))
	if status, ok := got["http.response.status_code"]; ok || got[budgetattr.OutcomeKey] != string(budgetattr.OutcomeFailed) {
		t.Errorf("status %v, outcome %v", status, got[budgetattr.OutcomeKey])
	}
}

// Any caller escaped the default budget by asking for an upgrade that the handler knows nothing of.
func TestIssueAskingForAnUpgradeLiftsNothing(t *testing.T) {
	r := newRecorder()
	s := serve(t, r, budget.Policy{Default: 50 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) {
		if left, ok := budget.Remaining(r.Context()); !ok || left > 50*time.Millisecond {
			t.Errorf("%v left, %v", left, ok)
		}
		<-r.Context().Done()
	})
	resp, _ := get(t, s.URL, "Upgrade", "h2c", "Connection", "Upgrade")
	got := attrs(r.wait(t, "GET"))
	if resp.StatusCode != 504 || got[budgetattr.BudgetReceivedKey] != .05 || got[budgetattr.BudgetSourceKey] != string(budgetattr.SourceDefault) {
		t.Errorf("status %d, attributes %v", resp.StatusCode, got)
	}
}

// An upgrade that took place outlives the default budget and is not late.
func TestIssueUpgradeThatTookPlaceHasNoBudget(t *testing.T) {
	r := newRecorder()
	s := serve(t, r, budget.Policy{Default: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		select {
		case <-r.Context().Done():
			t.Error("the default budget ended an upgraded connection")
		case <-time.After(100 * time.Millisecond):
		}
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		_ = rw.Flush()
	})
	req, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL, nil)
	req.Header.Set("Upgrade", "x")
	req.Header.Set("Connection", "Upgrade")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := attrs(r.wait(t, "GET"))
	if margin, ok := got[budgetattr.MarginKey].(float64); !ok || margin < 0 || got[budgetattr.LateKey] != false {
		t.Errorf("attributes %v", got)
	}
}

// An upgrade that a proxy passed on was recorded as out of time, however well it went.
func TestIssueProxiedUpgradeIsNotOutOfTime(t *testing.T) {
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		_ = rw.Flush()
		_, _ = rw.ReadByte()
	}))
	defer back.Close()
	target, _ := url.Parse(back.URL)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = budgethttp.NewTransport(nil)
	r := newRecorder()
	const granted = 100 * time.Millisecond
	s := serve(t, r, budget.Policy{Default: granted}, proxy.ServeHTTP)
	req, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL, nil)
	req.Header.Set("Upgrade", "x")
	req.Header.Set("Connection", "Upgrade")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("answer %v, error %v", resp, err)
	}
	cut := make(chan error, 1)
	go func() { _, err := resp.Body.Read(make([]byte, 1)); cut <- err }()
	select {
	case err := <-cut:
		t.Errorf("the upgraded connection ended: %v", err)
	case <-time.After(2 * granted):
	}
	resp.Body.Close()
	eventually(t, "both spans", func() bool { return len(r.Ended()) == 2 })
	for _, span := range r.Ended() {
		if got := attrs(span); span.Status().Code == codes.Error || got[budgetattr.TimeoutPhaseKey] != nil {
			t.Errorf("%v %v: %v %v", span.SpanKind(), span.Name(), span.Status(), got)
		}
	}
}

// A client could make up a name of spans with each request, by the method.
func TestIssueMadeUpMethodsShareOneName(t *testing.T) {
	r := newRecorder()
	s := serve(t, r, budget.Policy{}, func(http.ResponseWriter, *http.Request) {})
	req, _ := http.NewRequestWithContext(t.Context(), "X1", s.URL, nil)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := attrs(r.wait(t, "HTTP")); got["http.request.method"] != "_OTHER" {
		t.Errorf("method %v", got["http.request.method"])
	}
}
