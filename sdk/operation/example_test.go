package operation_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/operation"
	"github.com/laxity-dev/laxity/sdk/record"
)

// The request is answered with an id; the work goes on and can be asked for.
func ExampleRunner() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	store, clock := new(record.Memory), envelope.NewClock()
	consumer, err := envelope.NewConsumer(ctx, budget.Policy{}, store, clock)
	if err != nil {
		panic(err)
	}
	runner := operation.NewRunner(consumer, store, clock)
	e, err := runner.Start(ctx, "export", envelope.Spec{ID: "export-7", Limit: time.Hour}, func(_ context.Context, run *envelope.Run) error {
		return run.SetResult("42 rows")
	})
	if err != nil {
		panic(err)
	}
	runner.Wait()
	w := httptest.NewRecorder()
	operation.NewHandler(store).ServeHTTP(w, httptest.NewRequest("GET", "/"+e.CancellationID, nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 application/json
}
