package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/timeout"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/step"
)

// service is the service under load.
type service struct {
	slots chan struct{}

	mu   sync.Mutex
	done []time.Time // when each piece of work was over
}

// serve waits for a worker and works, unless the caller is gone before. The work itself cannot be interrupted.
func (s *service) serve(ctx context.Context, work func(context.Context) error) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.slots }()
	return work(ctx)
}

func (s *service) toil(context.Context) error {
	time.Sleep(work)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, time.Now())
	return nil
}

// between counts the work that was over from one instant to another.
func (s *service) between(from, to time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.done {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// arm is one way to limit the time of a call. start returns what a user does, who waits for patience at most.
type arm struct {
	name, what string
	start      func(s *service, cold bool) (call func(context.Context) error, stop func(), err error)
}

var arms = []arm{
	{"timeouts", "timeouts per call", plain},
	{"grpc", "gRPC deadlines", overGRPC},
	{"failsafe", "failsafe-go timeout and retry", withFailsafe},
	{"laxity", "Laxity", withBudget},
}

// plain limits each call by http.Client.Timeout, and the handler by http.TimeoutHandler.
func plain(s *service, cold bool) (func(context.Context) error, func(), error) {
	handler := http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.serve(r.Context(), s.toil) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}), patience, "")
	return overHTTP(handler, cold, func(t http.RoundTripper) *http.Client { return &http.Client{Transport: t, Timeout: patience} })
}

// withFailsafe composes the policies as its documentation does: a timeout of the whole, retries with their default back-off
// and number, a timeout of each attempt.
func withFailsafe(s *service, cold bool) (func(context.Context) error, func(), error) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.serve(r.Context(), s.toil) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return overHTTP(handler, cold, func(t http.RoundTripper) *http.Client {
		retry := failsafehttp.NewRetryPolicyBuilder().WithBackoff(20*time.Millisecond, 100*time.Millisecond).Build()
		return &http.Client{Transport: failsafehttp.NewRoundTripper(t, timeout.New[*http.Response](patience), retry, timeout.New[*http.Response](patience/2))}
	})
}

// withBudget grants the user's patience as a budget, which the service knows: work that cannot be done in time is not begun.
func withBudget(s *service, cold bool) (func(context.Context) error, func(), error) {
	process := step.Required("work", func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, s.toil(ctx) },
		step.Terms{MinUseful: work + 20*time.Millisecond})
	handler := budgethttp.NewMiddleware(budget.Policy{Default: patience, Max: patience, Trust: budget.TrustInternal})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			err := s.serve(r.Context(), func(ctx context.Context) error {
				_, err := step.Run(ctx, process, struct{}{})
				return err
			})
			if err != nil {
				http.Error(w, err.Error(), budgethttp.Status(err))
			}
		}))
	call, stop, err := overHTTP(handler, cold, func(t http.RoundTripper) *http.Client { return &http.Client{Transport: budgethttp.NewTransport(t)} })
	edge := budget.NewEdge(budget.Policy{Default: patience})
	return func(ctx context.Context) error {
		ctx, entry, err := edge.Start(ctx, budget.Arrival{Name: "user"})
		if err == nil {
			err = call(ctx)
		}
		entry.End(err)
		return err
	}, stop, err
}

func overHTTP(handler http.Handler, cold bool, client func(http.RoundTripper) *http.Client) (func(context.Context) error, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	server := &http.Server{Handler: handler}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 2000, DisableKeepAlives: cold}
	c := client(transport)
	url := "http://" + l.Addr().String()
	call := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		return nil
	}
	return call, func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-served
	}, nil
}

// health is the service as a gRPC service that needs no generated code of its own.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	service *service
}

func (h *health) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{}, h.service.serve(ctx, h.service.toil)
}

// overGRPC gives each call a deadline, which gRPC carries to the server.
func overGRPC(s *service, cold bool) (func(context.Context) error, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, &health{service: s})
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	dial := func() (*grpc.ClientConn, error) {
		return grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	warm, err := dial()
	if err != nil {
		server.Stop()
		return nil, nil, err
	}
	call := func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		conn := warm
		if cold {
			if conn, err = dial(); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, conn.Close()) }()
		}
		_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		return err
	}
	return call, func() {
		_ = warm.Close()
		server.Stop()
		<-served
	}, nil
}
