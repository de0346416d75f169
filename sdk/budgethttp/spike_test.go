package budgethttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

// pipes is a listener whose connections are pipes, so that HTTP runs in a bubble. Dialling takes its time.
type pipes struct {
	conns chan net.Conn
	cold  time.Duration
	dials atomic.Int64
}

func (p *pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p *pipes) Close() error   { close(p.conns); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	p.dials.Add(1)
	select {
	case <-time.After(p.cold):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A spike of six times what the service can do, with warm connections and with cold ones. Work whose time is over falls out
// of the queue without costing the dependency a call, and what comes after the spike is answered as if there had been none.
func TestT22_StaleWorkFallsAndGoodputRecovers(t *testing.T) {
	for name, cold := range map[string]time.Duration{"warm connections": 0, "cold connections": 40 * time.Millisecond} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { spike(t, cold) }) })
	}
}

func spike(t *testing.T, cold time.Duration) {
	const workers, work = 4, 20 * time.Millisecond // 200 requests a second
	listener := &pipes{conns: make(chan net.Conn), cold: cold}
	var calls, wasted atomic.Int64
	dependency := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.Header.Get(budgetattr.HeaderTimeout) == "0" {
			wasted.Add(1)
		}
		time.Sleep(work)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = dependency.Serve(listener) }()
	base := &http.Transport{DialContext: listener.dial, MaxIdleConnsPerHost: workers, DisableKeepAlives: cold > 0}
	// What cannot finish any more is not begun: otherwise a queue as long as the budget has each call cut just before its end.
	client := &http.Client{Transport: budgethttp.NewTransport(base, budgethttp.WithHop(budget.WithExpected(work+cold, 5*time.Millisecond)))}
	slots := make(chan struct{}, workers)
	service := budgethttp.NewMiddleware(budget.Policy{Max: time.Second})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived := time.Now()
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-r.Context().Done():
			return // the middleware answers
		}
		budget.FromContext(r.Context()).AddQueueTime(time.Since(arrived))
		req, _ := http.NewRequestWithContext(r.Context(), "GET", "http://dependency/", nil)
		resp, err := client.Do(req)
		if err != nil {
			w.WriteHeader(budgethttp.Status(err))
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}))
	// burst sends requests a fixed time apart and counts those answered.
	burst := func(n int, apart time.Duration) (answered int) {
		var wg sync.WaitGroup
		var good atomic.Int64
		for range n {
			wg.Go(func() {
				r := httptest.NewRequest("GET", "/", nil)
				r.Header.Set(budgetattr.HeaderTimeout, strconv.Itoa(300))
				w := httptest.NewRecorder()
				start := time.Now()
				service.ServeHTTP(w, r)
				if w.Code == http.StatusOK && time.Since(start) <= 300*time.Millisecond {
					good.Add(1)
				}
			})
			time.Sleep(apart)
		}
		wg.Wait()
		return int(good.Load())
	}
	calm := burst(50, 20*time.Millisecond)
	before := calls.Load()
	start := time.Now()
	during := burst(600, time.Second/1200) // 1,200 a second for half a second
	tail := time.Since(start) - 500*time.Millisecond
	called := calls.Load() - before
	after := burst(50, 20*time.Millisecond)
	if calm != 50 || after != 50 {
		t.Errorf("answered %d of 50 before and %d after", calm, after)
	}
	if tail > 320*time.Millisecond {
		t.Errorf("the spike was still worked on %v after it", tail)
	}
	// What the service can do while the spike lasts, less what its queue made late.
	if capacity := int(800 * time.Millisecond / (work + cold) * workers); during < capacity/2 || int(called) > capacity+workers {
		t.Errorf("answered %d of the spike by %d calls, capacity %d", during, called, capacity)
	}
	if wasted.Load() > 0 {
		t.Errorf("%d calls began with no time left", wasted.Load())
	}
	base.CloseIdleConnections()
	_ = dependency.Close()
	<-done
}
