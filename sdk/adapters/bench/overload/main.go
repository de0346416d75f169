// Command overload puts one service of bounded capacity under five times its usual load and measures, for several ways to
// limit the time of a call, how much of the capacity goes into answers that come in time, and how long the service needs to
// recover. The service is the same for all: a queue before a fixed number of workers, each taking its time, which cannot be
// interrupted. Waiting for a worker ends in all of them when the caller is known to be gone.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"text/tabwriter"
	"time"
)

// The scenario.
const (
	workers  = 5
	work     = 50 * time.Millisecond
	patience = 500 * time.Millisecond
	usual    = 0.6 // of the capacity
	spike    = 5   // times the usual load
	before   = 2 * time.Second
	during   = 5 * time.Second
	after    = 5 * time.Second
	window   = 250 * time.Millisecond
)

// capacity is what the workers can do, in answers a second.
var capacity = float64(workers) / work.Seconds()

func main() {
	chart := flag.String("png", "", "file for the chart of the run with warm connections")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *chart); err != nil {
		fmt.Fprintln(os.Stderr, "overload:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, chart string) error {
	var all []outcome
	for _, cold := range []bool{false, true} {
		for _, a := range arms {
			o, err := measure(ctx, a, cold)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			all = append(all, o)
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "limits\tconnections\tat most/s\tgoodput before\tgoodput in the spike\tstale work in the spike\trecovery")
	for _, o := range all {
		fmt.Fprintf(table, "%s\t%s\t%.0f\t%.2f\t%.2f\t%.2f\t%s\n", o.arm.what, o.connections(), o.most, o.calm, o.goodput, o.stale, o.recovered())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Printf("\ngoodput before: share of the requests answered in time; in the spike: answers in time as a share of the capacity,\nwhich is %.0f a second; stale work: share of the work in the spike whose answer came too late for anyone; at most: what was measured before the load, with nobody waiting in vain\n", capacity)
	for _, o := range all {
		suffix := ""
		if o.cold {
			suffix = "_cold"
		}
		fmt.Printf("figure overload_goodput_%s%s %.3f share\n", o.arm.name, suffix, o.goodput)
		fmt.Printf("figure overload_stale_%s%s %.3f share\n", o.arm.name, suffix, o.stale)
		fmt.Printf("figure overload_recovery_%s%s %.2f s\n", o.arm.name, suffix, o.recovery.Seconds())
	}
	if chart != "" {
		return save(chart, all)
	}
	return nil
}

// outcome is what one run showed.
type outcome struct {
	arm      arm
	cold     bool
	most     float64 // answers a second that the workers gave when nobody waited in vain
	calm     float64 // share of the requests before the spike that were answered in time
	goodput  float64 // in the spike
	stale    float64 // share of the work in the spike that was for nobody
	recovery time.Duration
	windows  []float64 // answers in time in each window, as a share of the capacity
}

func (o outcome) connections() string {
	if o.cold {
		return "cold"
	}
	return "warm"
}

func (o outcome) recovered() string {
	if o.recovery >= after {
		return fmt.Sprintf("not in %.0f s", after.Seconds())
	}
	return fmt.Sprintf("%.2f s", o.recovery.Seconds())
}

// sent is one request.
type sent struct {
	at   time.Duration // since the beginning of the load
	good time.Duration // when the answer came, or zero if it did not come in time
}

func measure(ctx context.Context, a arm, cold bool) (outcome, error) {
	o := outcome{arm: a, cold: cold}
	s := &service{slots: make(chan struct{}, workers)}
	call, stop, err := a.start(s, cold)
	if err != nil {
		return o, err
	}
	defer stop()
	o.most = saturate(ctx, call)
	begun := time.Now()
	requests := load(ctx, call)
	if err := ctx.Err(); err != nil {
		return o, err
	}
	o.judge(requests, s.between(begun.Add(before), begun.Add(before+during)))
	return o, nil
}

// saturate measures what this machine makes of the capacity: as many callers as workers, each asking again at once.
func saturate(ctx context.Context, call func(context.Context) error) float64 {
	const d = 2 * time.Second
	start := time.Now()
	var mu sync.Mutex
	n := 0
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for time.Since(start) < d && ctx.Err() == nil {
				if call(ctx) == nil {
					mu.Lock()
					n++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(start).Seconds()
}

// load sends requests at an even rate, whatever becomes of them, and returns them when all are over.
func load(ctx context.Context, call func(context.Context) error) []sent {
	var mu sync.Mutex
	var requests []sent
	var all sync.WaitGroup
	start := time.Now()
	for at := time.Duration(0); at < before+during+after && ctx.Err() == nil; {
		time.Sleep(time.Until(start.Add(at)))
		all.Go(func() {
			s := sent{at: at}
			began := time.Now()
			if call(ctx) == nil && time.Since(began) <= patience {
				s.good = time.Since(start)
			}
			mu.Lock()
			defer mu.Unlock()
			requests = append(requests, s)
		})
		rate := usual * capacity
		if at >= before && at < before+during {
			rate *= spike
		}
		at += time.Duration(float64(time.Second) / rate)
	}
	all.Wait()
	return requests
}

// judge derives the figures; worked is the number of pieces of work that were done in the spike.
func (o *outcome) judge(requests []sent, worked int) {
	o.windows = make([]float64, (before+during+after)/window)
	asked, good := make([]int, len(o.windows)), make([]int, len(o.windows))
	calmAsked, calmGood, spikeGood := 0, 0, 0
	for _, r := range requests {
		w := min(int(r.at/window), len(asked)-1)
		asked[w]++
		if r.good > 0 {
			good[w]++
			if c := int(r.good / window); c < len(o.windows) {
				o.windows[c] += 1 / (capacity * window.Seconds())
			}
		}
		switch {
		case r.at < before:
			calmAsked++
			if r.good > 0 {
				calmGood++
			}
		case r.good >= before && r.good < before+during:
			spikeGood++
		}
	}
	o.calm = float64(calmGood) / float64(max(calmAsked, 1))
	o.stale = max(float64(worked-spikeGood), 0) / float64(max(worked, 1))
	o.goodput = float64(spikeGood) / (capacity * during.Seconds())
	// Recovered is after the last window of which less than nine in ten requests were answered in time.
	for w := range asked {
		from := time.Duration(w) * window
		if from >= before+during && float64(good[w]) < 0.9*float64(asked[w]) {
			o.recovery = from + window - before - during
		}
	}
}
