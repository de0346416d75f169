// Command connector measures the deadlineconnector beside the contrib spanmetricsconnector: the same spans with the same
// dimensions, 10,000 label sets, each way in a process of its own, in turn.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"text/tabwriter"
)

// ways to measure, the peer first.
var ways = []string{"spanmetrics", "deadline", "deadline, skeletons on"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	spans := flag.Int("spans", 3_000_000, "spans of one measurement")
	rounds := flag.Int("rounds", 5, "measurements of each way, in turn")
	profile := flag.String("profile", "", "file for a processor profile of one way")
	way := flag.String("way", "", "measure one way in this process")
	flag.Parse()
	if *way != "" {
		r, err := measure(ctx, *way, *spans, *profile)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	results := make([][]result, len(ways))
	for range *rounds {
		for i, w := range ways {
			cmd := exec.CommandContext(ctx, self, "-way", w, "-spans", fmt.Sprint(*spans))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w", w, err)
			}
			var r result
			if err := json.Unmarshal(out, &r); err != nil {
				return fmt.Errorf("%s: %w", w, err)
			}
			results[i] = append(results[i], r)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "way\tspans/s\tµs of processor/span\tpeak MiB\tlabel sets\tseries\t")
	for i, name := range ways {
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.1f\t%d\t%d\t\n", name, median(results[i], rate), median(results[i], cpu), median(results[i], memory),
			results[i][0].LabelSets, results[i][0].Series)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		way  int
		of   func(result) float64
	}{
		{"connector_rate", 1, rate}, {"connector_cpu", 1, cpu}, {"connector_memory", 1, memory},
		{"connector_rate_skeletons", 2, rate}, {"connector_memory_skeletons", 2, memory},
	} {
		ratios := make([]float64, *rounds)
		for round := range ratios {
			ratios[round] = f.of(results[f.way][round]) / f.of(results[0][round])
		}
		slices.Sort(ratios)
		fmt.Printf("figure %s %.2f x vs contrib-spanmetricsconnector\n", f.name, ratios[len(ratios)/2])
	}
	return nil
}

func rate(r result) float64   { return r.Rate }
func cpu(r result) float64    { return r.CPU }
func memory(r result) float64 { return r.PeakMiB }

func median(all []result, of func(result) float64) float64 {
	values := make([]float64, len(all))
	for i, r := range all {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
