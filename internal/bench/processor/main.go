// Command processor measures the deadline processor beside contrib's transform processor, which does the nearest equivalent
// in OTTL: same spans, one process, one goroutine, in turn.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/transformprocessor"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/laxity-dev/laxity/processor/deadlineprocessor"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// way is one of the two processors.
type way struct {
	name      string
	processor processor.Traces
	rounds    []result
}

type result struct{ rate, cpu float64 } // spans/s; CPU µs per span

func run(ctx context.Context) error {
	traces := flag.Int("traces", 10_000, "traces of one measurement")
	rounds := flag.Int("rounds", 7, "measurements of each processor, in turn")
	profile := flag.String("profile", "", "file for a processor profile of the deadline processor alone, instead of the measurement")
	flag.Parse()
	ways := []*way{{name: "deadline"}, {name: "transform (OTTL)"}}
	var err error
	if ways[0].processor, err = start(ctx, deadlineprocessor.NewFactory(), nil); err != nil {
		return err
	}
	if ways[1].processor, err = start(ctx, transformprocessor.NewFactory(), equivalent()); err != nil {
		return err
	}
	if err := agree(ctx, ways); err != nil {
		return err
	}
	if *profile != "" {
		return profiled(ctx, ways[0].processor, *traces, *profile)
	}
	for range *rounds {
		for _, w := range ways {
			r, err := measure(ctx, w.processor, *traces)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			w.rounds = append(w.rounds, r)
		}
	}
	for _, w := range ways {
		if err := w.processor.Shutdown(ctx); err != nil {
			return err
		}
	}
	report(ways)
	return nil
}

func start(ctx context.Context, f processor.Factory, config map[string]any) (processor.Traces, error) {
	c := f.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(config).Unmarshal(c); err != nil {
		return nil, err
	}
	if v, ok := c.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return nil, err
		}
	}
	p, err := f.CreateTraces(ctx, processortest.NewNopSettings(f.Type()), c, consumertest.NewNop())
	if err != nil {
		return nil, err
	}
	var host component.Host = componenttest.NewNopHost()
	return p, p.Start(ctx, host)
}

// measure takes the time of the processor alone, batch by batch: what a collector holds at a time is little.
func measure(ctx context.Context, p processor.Traces, traces int) (result, error) {
	spans, took, used := 0, time.Duration(0), time.Duration(0)
	for first := 0; first < traces; first += tracesPerBatch {
		td := batch(first)
		spans += td.SpanCount()
		cpu, begin := cpuTime(), time.Now()
		if err := p.ConsumeTraces(ctx, td); err != nil {
			return result{}, err
		}
		took, used = took+time.Since(begin), used+cpuTime()-cpu
	}
	return result{float64(spans) / took.Seconds(), float64(used.Nanoseconds()) / 1e3 / float64(spans)}, nil
}

// profiled measures under the profiler; what makes the spans is in the profile too.
func profiled(ctx context.Context, p processor.Traces, traces int, to string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	_, err = measure(ctx, p, traces)
	return errors.Join(err, p.Shutdown(ctx))
}

// cpuTime of this process, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func report(ways []*way) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "processor\tspans/s\tCPU µs/span\t")
	for _, way := range ways {
		fmt.Fprintf(w, "%s\t%.0f\t%.3f\t\n", way.name, median(way.rounds, func(r result) float64 { return r.rate }),
			median(way.rounds, func(r result) float64 { return r.cpu }))
	}
	w.Flush()
	// Ratios of rounds next to each other: another load on the machine hits both.
	rates, cpus := make([]result, len(ways[0].rounds)), 0.0
	for i := range rates {
		ours, theirs := ways[0].rounds[i], ways[1].rounds[i]
		rates[i] = result{ours.rate / theirs.rate, theirs.cpu / ours.cpu}
	}
	cpus = median(rates, func(r result) float64 { return r.cpu })
	fmt.Printf("figure processor_rate %.2f x vs contrib-transformprocessor\n", median(rates, func(r result) float64 { return r.rate }))
	fmt.Printf("figure processor_cpu %.2f x vs contrib-transformprocessor\n", cpus)
}

func median(all []result, of func(result) float64) float64 {
	values := make([]float64, len(all))
	for i, r := range all {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
