// Command verdicts measures how right the verdicts are. It plays the sample services with every fault of their menu, alone and
// in pairs, and clean; the labels are the injector's log of what took effect and a table of what each fault does. It prints
// precision and recall of each finding, once with all that the sdk recorded and once with every deadline.* attribute
// stripped, which leaves what inference alone finds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"

	"github.com/laxity-dev/laxity/internal/demo"
	"github.com/laxity-dev/laxity/internal/verdict"
)

func main() {
	var size corpusSize
	flag.IntVar(&size.alone, "alone", 10, "how often each fault is played alone")
	flag.IntVar(&size.pairs, "pairs", 2, "how often each pair of faults is played")
	flag.IntVar(&size.clean, "clean", 500, "requests without a fault")
	flag.IntVar(&usual.atOnce, "at-once", usual.atOnce, "requests with faults under way at a time")
	flag.Uint64Var(&usual.seed, "seed", 1, "the first of the seeds of the requests")
	verbose := flag.Bool("v", false, "print each verdict that is wrong or missing, stripped ones too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, size, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "bench verdicts:", err)
		os.Exit(1)
	}
}

type corpusSize struct{ alone, pairs, clean int }

func bench(ctx context.Context, size corpusSize, verbose bool) error {
	var (
		running           sync.WaitGroup
		calm, traces      []*trace
		calmErr, faultErr error
	)
	running.Go(func() { calm, calmErr = usual.clean(ctx, size.clean) })
	running.Go(func() { traces, faultErr = usual.faulty(ctx, plays(demo.Faults(), size.alone, size.pairs)) })
	running.Wait()
	for _, err := range []error{calmErr, faultErr} {
		if err != nil {
			return err
		}
	}
	describe(traces, len(calm))
	all := slices.Concat(traces, calm)

	recorded, inferred := newScore(), newScore()
	for _, t := range all {
		recorded.add(t, labelsOf(t), judge(t.spans))
		inferred.add(t, strippedLabels(t), judge(strip(t.spans)))
	}
	fmt.Println("\nwith what the sdk recorded:")
	recorded.write(os.Stdout)
	for _, c := range recorded.complaints {
		fmt.Println("  " + c)
	}
	fmt.Println("\nwithout deadline.*:")
	inferred.write(os.Stdout)
	if verbose {
		for _, c := range inferred.complaints {
			fmt.Println("  " + c)
		}
	}
	fmt.Println()
	precision, recall := recorded.least(func(verdict.Rule) bool { return true })
	fmt.Printf("figure verdict_precision_min %.3f ratio\nfigure verdict_recall_min %.3f ratio\n", precision, recall)
	fmt.Printf("figure verdict_clean_warnings %d findings\n", warnings(calm, false))
	precision, recall = inferred.least(func(r verdict.Rule) bool { _, open := undecided[r]; return !open })
	fmt.Printf("figure verdict_inferred_precision_min %.3f ratio\nfigure verdict_inferred_recall_min %.3f ratio\n", precision, recall)
	fmt.Printf("figure verdict_inferred_clean_warnings %d findings\n", warnings(calm, true))
	return nil
}

// warnings counts the findings of severity warn or higher on clean requests.
func warnings(calm []*trace, stripped bool) int {
	n := 0
	for _, t := range calm {
		spans := t.spans
		if stripped {
			spans = strip(spans)
		}
		for _, f := range judge(spans).Findings {
			if f.Severity.Violation() {
				n++
			}
		}
	}
	return n
}

// describe says what the corpus consists of.
func describe(traces []*trace, calm int) {
	count := map[int]int{}
	took, paired := map[demo.Fault]int{}, map[[2]demo.Fault]bool{}
	spans := 0
	for _, t := range traces {
		count[min(len(t.effects), 2)]++
		spans += len(t.spans)
		for i, f := range t.effects {
			took[f]++
			for _, g := range t.effects[i+1:] {
				paired[[2]demo.Fault{f, g}] = true
			}
		}
	}
	fmt.Printf("corpus: %d clean requests; %d with one fault, %d with two (%d different pairs), %d in which what was asked came to nothing; %d spans\n",
		calm, count[1], count[2], len(paired), count[0], spans)
	for _, f := range demo.Faults() {
		if took[f] == 0 {
			fmt.Printf("warning: %s never took effect\n", f)
		}
	}
}
