package step_test

import (
	"context"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/step"
)

// BenchmarkRun is one declared step that returns at once, in a request that is not recorded.
func BenchmarkRun(b *testing.B) {
	ctx, entry, err := budget.NewEdge(budget.Policy{Default: time.Hour}).Start(context.Background(), budget.Arrival{Name: "in"})
	if err != nil {
		b.Fatal(err)
	}
	defer entry.End(nil)
	s := step.Required("a", func(_ context.Context, in string) (string, error) { return in, nil }, step.Terms{Cap: time.Second})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := step.Run(ctx, s, ""); err != nil {
			b.Fatal(err)
		}
	}
}
