package budget_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// A worker grants a budget to each piece of work. HTTP and gRPC servers have middleware for it.
func ExampleEdge_Start() {
	edge := budget.NewEdge(budget.Policy{Default: 2 * time.Second, Max: 8 * time.Second, Reserve: 75 * time.Millisecond})

	ctx, entry, err := edge.Start(context.Background(), budget.Arrival{Name: "import", Ask: budget.LimitOf(time.Hour)})
	if err != nil {
		fmt.Println("refused:", err)
	}
	// … the work, under ctx …
	entry.End(err)

	received, _ := entry.Grant().Received.Get()
	_, bounded := ctx.Deadline()
	fmt.Println(received, entry.Grant().Source, bounded)
	// Output: 8s clamped true
}

// One hop by hand: refused before it starts if it cannot finish.
func ExampleStartHop() {
	rerank := func(ctx context.Context) (answer string, err error) {
		ctx, hop, err := budget.StartHop(ctx, "rerank", budget.WithCap(time.Second), budget.WithMinUseful(150*time.Millisecond))
		if errors.Is(err, budget.ErrExhausted) {
			return "raw order", nil
		}
		defer func() { hop.End(err) }()
		_ = ctx // … the call, under ctx …
		return "reranked", nil
	}

	edge := budget.NewEdge(budget.Policy{Default: time.Minute})
	ctx, entry, _ := edge.Start(context.Background(), budget.Arrival{Name: "plenty"})
	fmt.Println(rerank(ctx))
	entry.End(nil)

	ctx, entry, _ = edge.Start(context.Background(), budget.Arrival{Name: "little", Ask: budget.LimitOf(100 * time.Millisecond)})
	fmt.Println(rerank(ctx))
	entry.End(nil)
	// Output:
	// reranked <nil>
	// raw order <nil>
}

// The caller's wait is bounded even if the work ignores its end.
func ExampleRun() {
	edge := budget.NewEdge(budget.Policy{Default: 20 * time.Millisecond, Cleanup: 20 * time.Millisecond})
	ctx, entry, _ := edge.Start(context.Background(), budget.Arrival{Name: "request"})

	err := budget.Run(ctx, "stubborn", func(context.Context) error {
		time.Sleep(200 * time.Millisecond)
		return nil
	})
	fmt.Println(errors.Is(err, budget.ErrExhausted), errors.Is(err, context.DeadlineExceeded))
	entry.End(err) // names the hop that still runs
	// Output: true true
}

// A quote that holds for two seconds governs before the deadline does.
func ExampleExpire() {
	edge := budget.NewEdge(budget.Policy{Default: time.Minute})
	ctx, entry, _ := edge.Start(context.Background(), budget.Arrival{Name: "order"})
	defer entry.End(nil)

	ctx, cancel := budget.Expire(ctx, time.Now().Add(2*time.Second))
	defer cancel()
	left, _ := budget.Remaining(ctx)
	fmt.Println(left <= 2*time.Second)
	// Output: true
}

// Work that can wrap up is told before the hard stop.
func ExampleSoft() {
	edge := budget.NewEdge(budget.Policy{Default: 5 * time.Second})
	ctx, entry, _ := edge.Start(context.Background(), budget.Arrival{Name: "request"})
	defer entry.End(nil)

	soft, cancel := budget.Soft(ctx, 4900*time.Millisecond)
	defer cancel()
	<-soft.Done()
	fmt.Println("wrap up now; hard stop has come:", ctx.Err() != nil)
	// Output: wrap up now; hard stop has come: false
}

// What must be done after the end has a small budget of its own.
func ExampleCleanup() {
	edge := budget.NewEdge(budget.Policy{Default: time.Millisecond, Cleanup: 500 * time.Millisecond})
	ctx, entry, _ := edge.Start(context.Background(), budget.Arrival{Name: "request"})
	defer entry.End(nil)
	<-ctx.Done()

	fresh, done := budget.Cleanup(ctx)
	defer done()
	fmt.Println(ctx.Err(), fresh.Err())
	// Output: context deadline exceeded <nil>
}

// Why a context ended.
func ExampleCauseOf() {
	edge := budget.NewEdge(budget.Policy{Default: time.Minute})
	ctx, entry, _ := edge.Start(context.Background(), budget.Arrival{Name: "request"})
	entry.Cancel(budgetattr.CauseShutdown)
	cause, ended := budget.CauseOf(ctx)
	fmt.Println(cause, ended)
	entry.End(context.Cause(ctx))
	// Output: shutdown true
}

// Enforcement can be watched before it bites, and switched while the service runs.
func ExampleNewControl() {
	control := budget.NewControl(budgetattr.ModeShadow, budget.WithRejectionCap(0.1))
	edge := budget.NewEdge(budget.Policy{Default: time.Second, Control: control})

	ctx, entry, _ := edge.Start(context.Background(), budget.Arrival{Name: "watched"})
	_, bounded := ctx.Deadline()
	entry.End(nil)

	control.SetMode(budgetattr.ModeEnforce)
	ctx, entry, _ = edge.Start(context.Background(), budget.Arrival{Name: "enforced"})
	_, boundedNow := ctx.Deadline()
	entry.End(nil)
	fmt.Println(bounded, boundedNow)
	// Output: false true
}

// A policy file bounds hops by what was measured of their dependencies.
func ExampleReadLimits() {
	limits, err := budget.ReadLimits(strings.NewReader(
		`{"version": 1, "dependencies": [{"service": "chat", "stage": "rerank", "observed_limit_s": 0.42}]}`), "chat")
	if err != nil {
		fmt.Println(err)
		return
	}
	edge := budget.NewEdge(budget.Policy{Default: time.Minute, Limits: limits})
	ctx, entry, _ := edge.Start(context.Background(), budget.Arrival{Name: "request"})
	defer entry.End(nil)
	_, hop, _ := budget.StartHop(ctx, "rerank")
	defer hop.End(nil)
	fmt.Println(hop.Allowance())
	// Output: 420ms true
}

// The arithmetic alone.
func ExampleTerms_Allowance() {
	a, err := budget.Terms{
		Remaining: budget.LimitOf(900 * time.Millisecond),
		Tell:      75 * time.Millisecond,
		Cap:       budget.LimitOf(time.Second),
		MinUseful: 150 * time.Millisecond,
	}.Allowance()
	fmt.Println(a.Amount, a.Binding, a.Starts(), err)
	// Output: 825ms budget true <nil>
}

// Attempts of all layers share one counter.
func ExampleAttempts() {
	ctx := context.Background()
	attempts := budget.NewAttempts(ctx, 2)
	for {
		try, n, ok := attempts.Begin(ctx, "step")
		if !ok {
			fmt.Println("no more")
			break
		}
		fmt.Println("attempt", n, "is request", budget.NextWireAttempt(try).N)
	}
	// Output:
	// attempt 1 is request 1
	// attempt 2 is request 2
	// no more
}

func ExampleDetach() {
	ctx, entry, err := budget.NewEdge(budget.Policy{Default: time.Second}).Start(context.Background(), budget.Arrival{Name: "POST /reports"})
	if err != nil {
		return
	}
	// The report is made under a durable id, which its caller can ask for later.
	work, cancel := context.WithTimeout(budget.Detach(ctx, "report-7"), time.Minute)
	defer cancel()
	entry.End(nil) // 202 Accepted
	_, hop, err := budget.StartHop(work, "render")
	if err != nil {
		return
	}
	defer hop.End(nil)
	allowed, _ := hop.Allowance()
	fmt.Println(ctx.Err(), work.Err(), allowed.Round(time.Second))
	// Output: context canceled <nil> 1m0s
}
