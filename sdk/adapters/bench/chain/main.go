// Command chain measures what five declared steps add to five plain calls, each with a timeout of its own: one optional step,
// one with a fallback, one that may be repeated, one capped, one plain. The calls return at once, so that nothing but the
// chain is measured; nothing is sampled, as with most requests in production.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/step"
)

func call(_ context.Context, in string) (string, error) { return in, nil }

func same(in string) string { return in }

const limit = 2 * time.Second

func plain(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		text := "question"
		for range 5 {
			own, done := context.WithTimeout(ctx, limit/2)
			var err error
			if text, err = call(own, text); err != nil {
				b.Fatal(err)
			}
			done()
		}
		cancel()
	}
}

func declared(b *testing.B) {
	steps := []*step.Step[string, string]{
		step.Optional("rewrite", call, same, step.Terms{Expected: time.Millisecond}),
		step.Required("retrieve", call, step.Terms{Expected: time.Millisecond}).
			Or(step.Fallback[string, string]{Name: "cache", Do: call, Reserve: time.Millisecond, Meets: "the same documents"}),
		step.Required("rerank", call, step.Terms{Retry: step.Retry{Attempts: 2}}),
		step.Required("generate", call, step.Terms{Cap: limit / 2}),
		step.Required("check", call, step.Terms{}),
	}
	chain := step.NewChain(steps[0], steps[1], steps[2], steps[3], steps[4])
	edge := budget.NewEdge(budget.Policy{Default: limit}, budget.WithTracerProvider(noop.NewTracerProvider()))
	b.ReportAllocs()
	for b.Loop() {
		ctx, entry, err := edge.Start(context.Background(), budget.Arrival{Name: "chain"})
		if err != nil {
			b.Fatal(err)
		}
		ctx = chain.Start(ctx)
		text := "question"
		for _, s := range steps {
			if text, err = step.Run(ctx, s, text); err != nil {
				b.Fatal(err)
			}
		}
		entry.End(nil)
	}
}

func main() {
	const rounds = 5
	var ours, theirs []float64
	for range rounds { // in turn, so that both meet the same machine
		theirs = append(theirs, float64(testing.Benchmark(plain).NsPerOp()))
		ours = append(ours, float64(testing.Benchmark(declared).NsPerOp()))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	o, p := ours[rounds/2], theirs[rounds/2]
	if p == 0 {
		fmt.Fprintln(os.Stderr, "chain: nothing was measured")
		os.Exit(1)
	}
	fmt.Printf("five steps %.1f µs, five plain calls with timeouts %.1f µs (medians of %d)\n", o/1e3, p/1e3, rounds)
	fmt.Printf("figure chain_time %.2f x vs context.WithTimeout\n", o/p)
	fmt.Printf("figure chain_added_time %.2f us\n", (o-p)/1e3)
}
