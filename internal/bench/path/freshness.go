package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/laxity-dev/laxity/storage"
)

// freshness sends spans at a steady rate, and probes among them: requests with a route of their own. It returns how long after
// its end each probe was in the report of margins, ascending, and how old the worker's watermark was at the end.
func freshness(ctx context.Context, binary, dir, contrib string, all mode, rate int, lasts time.Duration) (delays []time.Duration, lag time.Duration, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(dir)
	s, err := startStack(ctx, binary, dir, contrib, nil)
	if err != nil {
		return nil, 0, err
	}
	defer s.stop()
	earlier := rate * 20 / spansPerTrace
	if err := s.ingest(ctx, all, makeRequests(0, earlier, time.Now().Add(-time.Duration(earlier)*apart)), earlier, 0); err != nil {
		return nil, 0, err
	}
	if err := s.age(ctx); err != nil {
		return nil, 0, err
	}
	if err := s.startWorker(ctx); err != nil {
		return nil, 0, err
	}
	db, err := storage.Open(storage.Config{DSN: s.dsn})
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = db.Close() }()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const every = 200 * time.Millisecond
	probes := int(lasts / every)
	var ended sync.Map // by route
	var group sync.WaitGroup
	errs := make(chan error, 2)
	group.Go(func() { errs <- s.load(ctx, earlier, rate, lasts) })
	group.Go(func() { errs <- s.probe(ctx, probes, every, &ended) })
	seen := map[string]time.Duration{}
	for deadline := time.Now().Add(lasts + 2*time.Minute); len(seen) < probes; {
		if time.Now().After(deadline) {
			return nil, 0, fmt.Errorf("%d probes of %d appeared", len(seen), probes)
		}
		if err := look(ctx, db, &ended, seen); err != nil {
			return nil, 0, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	group.Wait()
	progress, err := db.Progress(ctx)
	if err != nil {
		return nil, 0, err
	}
	lag = time.Since(progress[storage.StepVerdicts])
	for range cap(errs) {
		if err := <-errs; err != nil {
			return nil, 0, err
		}
	}
	for _, d := range seen {
		delays = append(delays, d)
	}
	slices.Sort(delays)
	return delays, lag, nil
}

// probe sends one request after the other, and notes when each ended.
func (s *stack) probe(ctx context.Context, probes int, every time.Duration, ended *sync.Map) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := range probes {
		now := time.Now()
		ended.Store(probeRoute(n), now)
		if err := export(ctx, s.conn, probeRequest(n, now)); err != nil {
			return fmt.Errorf("probe: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// look asks the report as the API does and notes the probes that are new in it.
func look(ctx context.Context, db *storage.DB, ended *sync.Map, seen map[string]time.Duration) error {
	now := time.Now()
	ask := storage.MarginQuestion{Window: storage.Window{From: now.Add(-time.Hour), To: now.Add(time.Minute)}, Service: probeService, Limit: 1000}
	ask, err := db.PlanMargins(ctx, ask, time.Minute)
	if err != nil {
		return err
	}
	rows, err := db.Margins(ctx, ask)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if at, ok := ended.Load(row.Route); ok && seen[row.Route] == 0 {
			seen[row.Route] = time.Since(at.(time.Time))
		}
	}
	return nil
}

// load sends traces, numbered from first, at a steady rate of spans a second.
func (s *stack) load(ctx context.Context, first, rate int, lasts time.Duration) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	sent := 0
	for began := time.Now(); ; {
		due := int(min(time.Since(began), lasts).Seconds() * float64(rate) / spansPerTrace)
		for _, request := range makeRequests(first+sent, due-sent, time.Now()) {
			if err := until(ctx, func() error { return export(ctx, s.conn, request) }); err != nil {
				return fmt.Errorf("load: %w", err)
			}
		}
		sent = due
		if time.Since(began) >= lasts {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
