// Package demo is a set of sample services that spend one time budget per request over real sockets, with faults that can
// be switched on one by one, a load that makes traffic, and a sample history. Everything it sends says that it is a sample.
package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
)

// Config says how to start the services.
type Config struct {
	// Spans takes the spans of every service. It is started and stopped by the demo.
	Spans otlptrace.Client
	// Faults decides and records faults; nil means none.
	Faults *Injector
	// Listen is the address of the edge and of the control endpoint; the other services take free ports on loopback.
	Listen string
	// ReportGrows, unless 0, is how much longer collecting a report takes with each minute from the start on.
	ReportGrows time.Duration
	// Timing compresses time; the zero value is real time.
	Timing Timing
}

// Demo is the running services.
type Demo struct {
	timing   Timing
	faults   *Injector
	spans    *sink
	accounts *accounts
	services []*service // callers first, the order in which they are closed
	edge     *edge
	client   *http.Client
	idle     *http.Transport
	clients  sync.Map // number of a request under way -> the function that makes its client leave
}

// Start opens the database and starts the services. Close must be called.
func Start(ctx context.Context, cfg Config) (*Demo, error) {
	if cfg.Timing == (Timing{}) {
		cfg.Timing = Timing{Work: 1, Limits: 1}
	}
	if cfg.Faults == nil {
		cfg.Faults = NewInjector(nil, nil, nil)
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if err := cfg.Spans.Start(ctx); err != nil {
		return nil, fmt.Errorf("span export: %w", err)
	}
	d := &Demo{timing: cfg.Timing, faults: cfg.Faults, spans: &sink{client: cfg.Spans}}
	d.idle = &http.Transport{MaxIdleConnsPerHost: 256}
	d.client = &http.Client{Transport: d.idle}
	if err := d.start(ctx, cfg); err != nil {
		_, closing := d.Close(ctx)
		return nil, errors.Join(err, closing)
	}
	return d, nil
}

func (d *Demo) start(ctx context.Context, cfg Config) error {
	var err error
	if d.accounts, err = openAccounts(ctx); err != nil {
		return err
	}
	service := func(name string) *service {
		s := newService(name, d.timing, d.faults, d.spans)
		d.services = append(d.services, s)
		return s
	}
	front, retrieval, validator := service("edge"), service("retrieval"), service("validator")
	index, rerank, model, account := service("index"), service("rerank"), service("model"), service("account")
	notes, err := newArchive(service("archive"))
	if err != nil {
		return err
	}
	newAccount(account, d.accounts)
	newModel(model)
	newRerank(rerank)
	newValidator(validator, account)
	newIndex(index)
	newRetrieval(retrieval, index, rerank, cfg.ReportGrows)
	d.edge = newEdge(front, account, retrieval, model, validator, notes, d.hangUp)
	d.control(front.mux)
	for n, s := range slices.Backward(d.services) { // nobody is called before they listen
		address := "127.0.0.1:0"
		if n == 0 {
			address = cfg.Listen
		}
		if err := s.listen(address); err != nil {
			return err
		}
	}
	return nil
}

// URL is where the edge listens.
func (d *Demo) URL() string { return d.edge.url }

// hangUp makes the client of a request leave, if it is one of our own.
func (d *Demo) hangUp(number uint64) {
	if leave, ok := d.clients.Load(number); ok {
		leave.(context.CancelFunc)()
	}
}

// Close stops the services, callers first, flushes their spans and says what became of them.
func (d *Demo) Close(ctx context.Context) (Counts, error) {
	var errs []error
	d.idle.CloseIdleConnections()
	for _, s := range d.services {
		errs = append(errs, s.close(ctx))
	}
	if d.accounts != nil {
		errs = append(errs, d.accounts.close())
	}
	if err := d.spans.client.Stop(ctx); err != nil {
		errs = append(errs, fmt.Errorf("span export: %w", err))
	}
	return d.spans.counts(), errors.Join(errs...)
}
