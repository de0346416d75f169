package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/internal/demo"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/tracefile"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// setup is how the sample services are played.
type setup struct {
	timing demo.Timing
	// atOnce bounds the requests with faults under way at a time.
	atOnce int
	// seed is that of the first request; it draws how long work takes and what is asked for.
	seed uint64
}

// usual enlarges budgets and limits against the work, so that a stall of a busy machine does not make requests late that
// ought not to be: between what is usual and its limit there is most of a second.
var usual = setup{timing: demo.Timing{Work: 0.5, Limits: 4}, atOnce: 32}

// play is one request: the faults it asks for.
type play []demo.Fault

// trace is the spans of one request and the faults that took effect in it, each once, from the injector's log.
type trace struct {
	spans   []span.Span
	effects []demo.Fault
	// watched: the edge ran in mode shadow and enforced nothing.
	watched bool
}

// has reports whether one of the faults took effect.
func (t *trace) has(faults ...demo.Fault) bool {
	return slices.ContainsFunc(faults, func(f demo.Fault) bool { return slices.Contains(t.effects, f) })
}

func (t *trace) label() string {
	if len(t.effects) == 0 {
		return "no fault"
	}
	names := make([]string, len(t.effects))
	for i, f := range t.effects {
		names[i] = string(f)
	}
	return strings.Join(names, " + ")
}

// plays is every one of the faults alone, so many times, and every pair of them.
func plays(faults []demo.Fault, alone, pairs int) []play {
	var all []play
	for range alone {
		for _, f := range faults {
			all = append(all, play{f})
		}
	}
	for range pairs {
		for i, f := range faults {
			for _, g := range faults[i+1:] {
				all = append(all, play{f, g})
			}
		}
	}
	return all
}

// memory keeps the spans that the services send.
type memory struct {
	mu    sync.Mutex
	spans []*tracepb.ResourceSpans
}

func (m *memory) Start(context.Context) error { return nil }
func (m *memory) Stop(context.Context) error  { return nil }
func (m *memory) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spans = append(m.spans, spans...)
	return nil
}

// run starts the services, lets traffic go through them and returns what they left, one trace for each request.
func (s setup) run(ctx context.Context, watched bool, traffic func(*demo.Demo) error) ([]*trace, error) {
	kept, labels := &memory{}, map[string][]demo.Fault{}
	faults := demo.NewInjector(nil, nil, func(e demo.Effect) {
		if !slices.Contains(labels[e.TraceID], e.Fault) {
			labels[e.TraceID] = append(labels[e.TraceID], e.Fault)
		}
	})
	d, err := demo.Start(ctx, demo.Config{Spans: kept, Faults: faults, Timing: s.timing})
	if err != nil {
		return nil, fmt.Errorf("start the sample services: %w", err)
	}
	failed := traffic(d)
	counts, err := d.Close(context.WithoutCancel(ctx))
	if err := errors.Join(failed, err, counts.Lost()); err != nil {
		return nil, fmt.Errorf("play the sample services: %w", err)
	}
	var all []*trace
	for _, spans := range verdict.Group(tracefile.Spans(kept.spans)) {
		effects := labels[spans[0].Trace.String()]
		slices.Sort(effects)
		all = append(all, &trace{spans: spans, effects: effects, watched: watched})
	}
	return all, nil
}

// faulty plays requests with faults.
func (s setup) faulty(ctx context.Context, all []play) ([]*trace, error) {
	groups := map[bool][]play{}
	for _, p := range all {
		watched := slices.Contains(p, demo.LateValidation) // such a request finds an edge that only watches
		groups[watched] = append(groups[watched], p)
	}
	slots := make(chan struct{}, s.atOnce)
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		traces  []*trace
		errs    []error
		seed    = s.seed
	)
	for watched, group := range groups {
		first := seed
		seed += uint64(len(group))
		running.Go(func() {
			got, err := s.run(ctx, watched, func(d *demo.Demo) error {
				var sending sync.WaitGroup
				for n, p := range group {
					slots <- struct{}{}
					sending.Go(func() {
						defer func() { <-slots }()
						d.Send(ctx, first+uint64(n), p...)
					})
				}
				sending.Wait()
				return ctx.Err()
			})
			mu.Lock()
			defer mu.Unlock()
			traces, errs = append(traces, got...), append(errs, err)
		})
	}
	running.Wait()
	return traces, errors.Join(errs...)
}

// clean plays requests of all routes without any fault.
func (s setup) clean(ctx context.Context, requests int) ([]*trace, error) {
	return s.run(ctx, false, func(d *demo.Demo) error {
		_, err := d.Load(ctx, demo.Load{Requests: requests, Concurrency: 8, Seed: s.seed})
		return err
	})
}

// strip returns the spans as services would leave them that never heard of budgets.
func strip(spans []span.Span) []span.Span {
	bare := slices.Clone(spans)
	for i := range bare {
		s := &bare[i]
		kept := make(span.Attributes, len(s.Attrs))
		for key, value := range s.Attrs {
			if !strings.HasPrefix(key, budgetattr.Prefix) {
				kept[key] = value
			}
		}
		s.Attrs = kept
		s.Events = slices.DeleteFunc(slices.Clone(s.Events), func(e span.Event) bool { return strings.HasPrefix(e.Name, budgetattr.Prefix) })
	}
	return bare
}

// stall is how long after a signal a service on a busy machine may come to run again: what it is late by up to here is true,
// and the machine's doing.
const stall = 500 * time.Millisecond
