package step_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/step"
)

// A service with four workers of 20 ms gets five times its usual load for a second. Work that nobody can still get in
// time falls instead of piling up, so nearly all of the capacity goes into answers in time, and none is owed afterwards.
func TestT22_StaleWorkFallsInASpike(t *testing.T) {
	for name, dial := range map[string]time.Duration{"warm connections": 0, "cold connections": 30 * ms} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const capacity, usual, patience = 200, 120, 200 * ms
				workers := make(chan struct{}, 4)
				work := step.Required("work", func(context.Context, struct{}) (struct{}, error) {
					time.Sleep(20 * ms)
					return struct{}{}, nil
				}, step.Terms{MinUseful: 22 * ms})
				network := newPipes(dial)
				server := &http.Server{Handler: budgethttp.NewMiddleware(budget.Policy{Trust: budget.TrustInternal})(
					http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						select {
						case workers <- struct{}{}:
						case <-r.Context().Done():
							return
						}
						_, err := step.Run(r.Context(), work, struct{}{})
						<-workers
						if err != nil {
							http.Error(w, err.Error(), budgethttp.Status(err))
						}
					}))}
				go func() { _ = server.Serve(network) }()
				transport := &http.Transport{DialContext: network.dial, DisableKeepAlives: dial > 0, MaxIdleConnsPerHost: 1000}
				client := &http.Client{Transport: budgethttp.NewTransport(transport)}
				edge := budgettest.NewRecorder().Edge(budget.Policy{Default: patience})
				var inTime [3]atomic.Int64 // before, in and after the spike
				var all sync.WaitGroup
				load := func(phase int, rate int, d time.Duration) {
					for range int(d.Seconds() * float64(rate)) {
						all.Go(func() {
							ctx, entry, err := edge.Start(t.Context(), budget.Arrival{Name: "in"})
							if err == nil {
								_, err = get(ctx, client, "http://service.invalid")
							}
							if err == nil && ctx.Err() == nil {
								inTime[phase].Add(1)
							}
							entry.End(err)
						})
						time.Sleep(time.Second / time.Duration(rate))
					}
				}
				load(0, usual, time.Second)
				load(1, 5*usual, time.Second)
				time.Sleep(patience) // what came in the spike is answered or has fallen
				load(2, usual, time.Second)
				all.Wait()
				transport.CloseIdleConnections()
				_ = server.Close()
				if n := inTime[0].Load(); n != usual {
					t.Errorf("%d of %d answers in time before the spike", n, usual)
				}
				if share := float64(inTime[1].Load()) / capacity; share < 0.9 {
					t.Errorf("%.2f of the capacity went into answers in time", share)
				}
				if n := inTime[2].Load(); n != usual {
					t.Errorf("%d of %d answers in time after the spike", n, usual)
				}
			})
		})
	}
}

// pipes is a network in memory on which a connection takes time to be made.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
	delay  time.Duration
}

func newPipes(delay time.Duration) *pipes {
	return &pipes{conns: make(chan net.Conn), closed: make(chan struct{}), delay: delay}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	select {
	case <-time.After(p.delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "service", Net: "pipe"} }
