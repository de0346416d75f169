// Command path measures how many spans a second pass from OTLP to rows in ClickHouse, beside the same collector with the
// contrib exporter alone: same engine, same machine, same spans, generator included, one run. A rate counts from the first
// request until the last row can be read. With -worker, the worker judges as many earlier spans and computes rollups meanwhile.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/laxity-dev/laxity/storage/worker"
)

// mode is one way through the collector.
type mode struct {
	name string
	args []string
	// worker: it runs, on as many spans that came before.
	worker bool
	// count is a statement that tells how many spans have arrived.
	count string
	// spans says how many of so many traces the statement counts when all have arrived.
	spans func(traces int) int
}

const (
	countRaw  = "SELECT count() FROM otel_traces"
	countHops = "SELECT count() FROM hops"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	spans := flag.Int("spans", 600_000, "spans of one measurement")
	rounds := flag.Int("rounds", 3, "measurements of each way, in turn")
	binary := flag.String("laxity", "", "binary to measure; built from this checkout by default")
	only := flag.Int("only", -1, "measure one way alone, for profiles: 0 contrib exporter, 1 all tables, 2 without raw spans")
	steady := flag.Duration("steady", 40*time.Second, "with -worker, how long 20,000 spans a second are sent for freshness")
	judging := flag.Bool("worker", false, "with the worker judging as many spans meanwhile, and how soon a span is in a report")
	flag.Parse()
	dir, err := os.MkdirTemp("", "laxity-bench-path")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *binary == "" {
		*binary = filepath.Join(dir, "laxity")
		build := exec.CommandContext(ctx, "go", "build", "-o", *binary, "github.com/laxity-dev/laxity/cmd/laxity")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	traces := *spans / spansPerTrace
	lasted := time.Duration(traces) * apart
	requests := makeRequests(traces, traces, time.Now().Add(-lasted))
	contrib := filepath.Join(dir, "contrib.yaml")
	modes := modes(contrib, *judging)
	var earlier [][]byte
	figures := []string{1: "path_rate", 2: "path_rate_hops"}
	if *judging {
		earlier = makeRequests(0, traces, time.Now().Add(-2*lasted))
		figures = []string{1: "ingest_rate", 2: "ingest_rate_hops"}
	}
	rates := make([][]result, len(modes))
	for round := range *rounds {
		for i, m := range modes {
			if *only >= 0 && i != *only {
				rates[i] = append(rates[i], result{})
				continue
			}
			r, err := measure(ctx, *binary, filepath.Join(dir, fmt.Sprintf("%d-%d", round, i)), contrib, m, requests, earlier, traces)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			rates[i] = append(rates[i], r)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "way\tspans/s\tcollector µs/span\tengine µs/span\tworker µs/span\tjudged\tcollector peak MiB\t")
	for i, m := range modes {
		of := func(f func(result) float64) float64 { return median(rates[i], f) }
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.0f%%\t%.0f\t\n", m.name, of(func(r result) float64 { return r.rate }),
			of(func(r result) float64 { return r.collectorCPU }), of(func(r result) float64 { return r.engineCPU }),
			of(func(r result) float64 { return r.workerCPU }), of(func(r result) float64 { return r.judged * 100 }),
			of(func(r result) float64 { return r.peakMiB }))
	}
	w.Flush()
	if *judging {
		for i, m := range modes[1:] {
			if *only >= 0 && *only != i+1 {
				continue
			}
			r, err := judge(ctx, *binary, filepath.Join(dir, "judge"), contrib, m, earlier, traces)
			if err != nil {
				return fmt.Errorf("%s: judge: %w", m.name, err)
			}
			fmt.Printf("%s, judged alone: %.0f spans/s, worker %.2f µs/span, engine %.2f µs/span\n", m.name, r.rate, r.workerCPU, r.engineCPU)
		}
	}
	if *only >= 0 {
		return nil
	}
	for i, figure := range figures {
		if figure == "" {
			continue
		}
		ratios := make([]float64, *rounds)
		for round := range ratios {
			ratios[round] = rates[i][round].rate / rates[0][round].rate
		}
		slices.Sort(ratios)
		fmt.Printf("figure %s %.2f x vs contrib-clickhouseexporter\n", figure, ratios[len(ratios)/2])
	}
	if !*judging {
		return nil
	}
	const rate = 20_000
	delays, lag, err := freshness(ctx, *binary, filepath.Join(dir, "freshness"), contrib, modes[1], rate, *steady)
	if err != nil {
		return fmt.Errorf("freshness: %w", err)
	}
	fmt.Printf("figure freshness_p99 %.2f s\n", delays[len(delays)*99/100].Seconds())
	fmt.Printf("after %s at %d spans/s everything is judged that is older than %.0f s, of which %.0f s are kept for late rows\n",
		*steady, rate, lag.Seconds(), worker.DefaultTrail.Seconds())
	return nil
}

// modes are the ways that are compared: the contrib exporter, all tables, hops alone.
func modes(contrib string, worker bool) []mode {
	all := func(traces int) int { return traces * spansPerTrace }
	return []mode{
		{"contrib exporter alone", []string{"--config-file", contrib}, false, countRaw, all},
		{"path", nil, worker, countRaw, all},
		{"path, raw spans off", []string{"--raw-spans=false"}, worker, countHops, func(traces int) int { return traces * hopsPerTrace }},
	}
}

func median(all []result, of func(result) float64) float64 {
	values := make([]float64, len(all))
	for i, r := range all {
		values[i] = of(r)
	}
	slices.Sort(values)
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}
