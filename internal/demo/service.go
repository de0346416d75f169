package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budget"
)

// SampleAttribute marks, on the resource, telemetry that the sample services made.
const SampleAttribute = span.SampleKey

const (
	serviceVersion = "1.4.0"
	scopeName      = "github.com/laxity-dev/laxity/internal/demo"
	exportEvery    = 200 * time.Millisecond
)

// service is what the sample services have in common: their own telemetry, their own listener, their own client.
type service struct {
	name     string
	timing   Timing
	faults   *Injector
	provider *sdktrace.TracerProvider
	mux      *http.ServeMux
	server   *http.Server
	clients  map[string]*http.Client // by stage
	idle     *http.Transport
	url      string
	served   chan error
	// background is work that outlives its request.
	background sync.WaitGroup
}

func newService(name string, timing Timing, faults *Injector, spans *sink) *service {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", name),
			attribute.String("service.version", serviceVersion),
			attribute.String("service.instance.id", uuid.NewString()),
			attribute.String("deployment.environment.name", "demo"),
			attribute.Bool(SampleAttribute, true),
		)),
		sdktrace.WithSpanProcessor(spans),
		sdktrace.WithBatcher(otlptrace.NewUnstarted(spans), sdktrace.WithMaxQueueSize(1<<15), sdktrace.WithBatchTimeout(exportEvery)),
	)
	return &service{
		name: name, timing: timing, faults: faults, provider: provider, clients: map[string]*http.Client{},
		mux: http.NewServeMux(), idle: &http.Transport{MaxIdleConnsPerHost: 64}, served: make(chan error, 1),
	}
}

// listen begins to serve the routes that were handed to handle.
func (s *service) listen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("service %s: %w", s.name, err)
	}
	s.url = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: s.mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { s.served <- s.server.Serve(listener) }()
	return nil
}

// close waits for requests under way and for what outlives them, then flushes the spans.
func (s *service) close(ctx context.Context) error {
	var errs []error
	if s.server != nil {
		if err := s.server.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("service %s: %w", s.name, errors.Join(err, s.server.Close())))
		}
		if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, fmt.Errorf("service %s: %w", s.name, err))
		}
	}
	s.background.Wait()
	s.idle.CloseIdleConnections()
	if err := s.provider.Shutdown(ctx); err != nil {
		errs = append(errs, fmt.Errorf("flush spans of %s: %w", s.name, err))
	}
	return errors.Join(errs...)
}

// spend works on the request for about median, which Timing compresses.
func (s *service) spend(ctx context.Context, name string, median time.Duration) error {
	return work(ctx, s.timing.work(latency(requestFrom(ctx).number, name, median)))
}

// statusError is an answer other than 200.
type statusError struct {
	service string
	status  int
}

func (e *statusError) Error() string { return fmt.Sprintf("%s answered %d", e.service, e.status) }

// Is makes a 504 the timeout that it is.
func (e *statusError) Is(target error) bool {
	return e.status == http.StatusGatewayTimeout && target == context.DeadlineExceeded
}

// roundedDown is by how much a peer's time may be shorter than its caller's: what the wire rounds off, and some.
const roundedDown = 2 * time.Millisecond

// call makes one hop of the chain: it posts in as JSON and reads the JSON answer into out, which may be nil.
func (s *service) call(ctx context.Context, st stage, to *service, path string, in, out any) error {
	resp, err := s.post(ctx, st, to, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read answer of %s: %w", to.name, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("answer of %s: %w", to.name, err)
	}
	return nil
}

// post sends the request; the caller closes the body of an answer, which is always 200.
func (s *service) post(ctx context.Context, st stage, to *service, path string, in any) (*http.Response, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("request to %s: %w", to.name, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("request to %s: %w", to.name, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.clients[st.name].Do(req)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", to.name, err)
	}
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode == http.StatusGatewayTimeout {
			// The peer has used up what it was handed: our own time, rounded down to the millisecond.
			_ = work(ctx, roundedDown)
		}
		_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
		resp.Body.Close()
		if errors.Is(err, budget.ErrExhausted) {
			return nil, fmt.Errorf("call %s: %w", to.name, err)
		}
		return nil, &statusError{to.name, resp.StatusCode}
	}
	return resp, nil
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may be gone; the entry span says so
}

// readJSON answers 400 and returns false where the body is not what the service expects.
func readJSON(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(into); err != nil {
		http.Error(w, "body: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}
