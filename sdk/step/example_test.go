package step_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/step"
)

func Example() {
	// Declared once, at start-up.
	rerank := step.Optional("rerank", slowRerank, keepOrder, step.Terms{
		Expected: 20 * time.Millisecond, Cap: 30 * time.Millisecond})
	generate := step.Required("generate", bigModel, step.Terms{
		Expected: 200 * time.Millisecond, Retry: step.Retry{Attempts: 3},
	}).Or(step.Fallback[string, string]{Name: "small-model", Do: smallModel, Reserve: 100 * time.Millisecond,
		Meets: "short answers are allowed by the product"})
	chain := step.NewChain(rerank, generate)

	// For each request; budgethttp.NewMiddleware does this for HTTP.
	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: 5 * time.Second}).Start(context.Background(), budget.Arrival{})
	defer entry.End(nil)

	ctx = chain.Start(ctx)
	docs, err := step.Run(ctx, rerank, "b a")
	if err != nil {
		return
	}
	answer, err := step.Run(ctx, generate, docs)
	fmt.Println(answer, err, step.Degraded(ctx))
	// Output: short answer from b a <nil> [rerank generate]
}

func slowRerank(ctx context.Context, _ string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func keepOrder(docs string) string { return docs }

func bigModel(context.Context, string) (string, error) {
	return "", &step.StatusError{Code: 400} // no retry makes this better
}

func smallModel(_ context.Context, docs string) (string, error) {
	return "short answer from " + docs, nil
}

// A required step may say what becomes of the request where there is no time for it.
func ExampleRunResult() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	approve := step.Required("approve", bigModel, step.Terms{MinUseful: time.Minute, Refusal: budgetattr.DecisionPending})
	r, err := step.RunResult(ctx, approve, "")
	fmt.Println(r.Decision, errors.Is(err, budget.ErrExhausted))
	// Output: pending true
}
