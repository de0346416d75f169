package budgethttp_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

// scale multiplies the work of a long proof.
func scale(check, soak int) int {
	if os.Getenv("LAXITY_SOAK") != "" {
		return soak
	}
	return check
}

// Services that do not share a clock share nothing but durations: whatever path a request takes, no service ever has more
// than its caller had left when it called.
func TestT21_RemainderNeverGrows(t *testing.T) {
	client := &http.Client{Transport: budgethttp.NewTransport(&http.Transport{MaxIdleConnsPerHost: 50})}
	defer client.CloseIdleConnections()
	var urls []string
	var hops, refused atomic.Int64
	for i := range 6 {
		policy := budget.Policy{Default: time.Second, Max: 2 * time.Second, Trust: budget.TrustInternal,
			Reserve: time.Duration(i) * time.Millisecond, Control: budget.NewControl("", budget.WithRejectionCap(1))}
		s := httptest.NewServer(budgethttp.NewMiddleware(policy)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			had, err := strconv.ParseInt(r.Header.Get("Test-Had"), 10, 64)
			received, ok := budget.FromContext(r.Context()).Grant().Received.Get()
			if err != nil || !ok || int64(received) > had {
				t.Errorf("received %v, the caller had %v (%v)", received, time.Duration(had), err)
			}
			for k, v := range r.Header {
				if strings.HasPrefix(k, "X-Request-") && strings.ContainsAny(v[0], ":TZ") {
					t.Errorf("an instant on the wire: %s %s", k, v)
				}
			}
			hops.Add(1)
			time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
			for range rand.IntN(3) {
				to := urls[i+1:]
				if len(to) == 0 {
					return
				}
				left, _ := budget.Remaining(r.Context())
				req, _ := http.NewRequestWithContext(r.Context(), "GET", to[rand.IntN(len(to))], nil)
				req.Header.Set("Test-Had", strconv.FormatInt(int64(left), 10))
				if rand.IntN(4) == 0 { // a header passed on by hand must not make it more
					req.Header.Set(budgetattr.HeaderTimeout, r.Header.Get(budgetattr.HeaderTimeout))
				}
				resp, err := client.Do(req)
				if err != nil {
					refused.Add(1)
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})))
		defer s.Close()
		urls = append(urls, s.URL)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range scale(1000, 20000) / 8 {
				ms := rand.IntN(300)
				req, _ := http.NewRequestWithContext(t.Context(), "GET", urls[rand.IntN(2)], nil)
				req.Header.Set(budgetattr.HeaderTimeout, strconv.Itoa(ms))
				req.Header.Set("Test-Had", strconv.FormatInt(int64(ms)*int64(time.Millisecond), 10))
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	if hops.Load() < 1000 {
		t.Errorf("only %d hops", hops.Load())
	}
	t.Logf("%d services entered, %d calls refused or cut", hops.Load(), refused.Load())
}

// Cancelled requests leave no goroutine, no connection and no memory behind.
func TestCancelledRequestsLeaveNothing(t *testing.T) {
	var conns, number atomic.Int64
	count := func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			conns.Add(1)
		case http.StateClosed, http.StateHijacked:
			conns.Add(-1)
		}
	}
	server := func(h http.HandlerFunc) *httptest.Server {
		s := httptest.NewUnstartedServer(budgethttp.NewMiddleware(budget.Policy{Default: 30 * time.Second})(h))
		s.Config.ConnState = count
		s.Start()
		t.Cleanup(s.Close)
		return s
	}
	base := &http.Transport{MaxIdleConnsPerHost: 16}
	client := &http.Client{Transport: budgethttp.NewTransport(base)}
	var cancels sync.Map // by the number of the request
	deep := server(func(w http.ResponseWriter, r *http.Request) {
		cancel, _ := cancels.LoadAndDelete(r.URL.Path)
		cancel.(context.CancelFunc)()
		<-r.Context().Done()
	})
	front := server(func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), "GET", deep.URL+r.URL.Path, nil)
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
		}
	})
	outer := &http.Transport{MaxIdleConnsPerHost: 16}
	run := func(n int) {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range n / 16 {
					ctx, cancel := context.WithCancel(t.Context())
					path := "/" + strconv.FormatInt(number.Add(1), 10)
					cancels.Store(path, cancel)
					req, _ := http.NewRequestWithContext(ctx, "POST", front.URL+path, strings.NewReader("unread"))
					if resp, err := outer.RoundTrip(req); err == nil {
						resp.Body.Close()
					}
					cancel()
				}
			})
		}
		wg.Wait()
		base.CloseIdleConnections()
		outer.CloseIdleConnections()
		eventually(t, "connections closed", func() bool { return conns.Load() == 0 })
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run(320)
	goroutines, before := runtime.NumGoroutine(), heap()
	run(scale(2000, 100_000))
	eventually(t, "goroutines ended", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	if after := heap(); after > before+4<<20 {
		t.Errorf("heap grew from %d to %d", before, after)
	}
}
