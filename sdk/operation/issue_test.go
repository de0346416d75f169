package operation_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/operation"
	"github.com/laxity-dev/laxity/sdk/record"
)

// A client repeats its request: the operation runs once. It asks for another attempt: it gets one, without a broker.
func TestIssueAnOperationRunsOnceAndAgainIfItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, clock := new(record.Memory), envelope.NewClock()
		consumer, err := envelope.NewConsumer(t.Context(), budget.Policy{}, store, clock)
		if err != nil {
			t.Fatal(err)
		}
		runner, ran := operation.NewRunner(consumer, store, clock), 0
		start := func() (envelope.Envelope, error) {
			return runner.Start(t.Context(), "export", envelope.Spec{ID: "export-1", Limit: time.Minute}, func(context.Context, *envelope.Run) error {
				time.Sleep(time.Second)
				if ran++; ran == 1 {
					return &envelope.Again{After: 5 * time.Second, Err: errors.New("busy")}
				}
				return nil
			})
		}
		first, err := start()
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		if again, err := start(); err != nil || !again.DeadlineAt.Equal(first.DeadlineAt) {
			t.Errorf("%+v, %v", again, err)
		}
		runner.Wait()
		if u, err := envelope.GetUnit(t.Context(), store, "export-1"); err != nil || u.Outcome != budgetattr.OutcomeDone || u.LateCount != 0 || ran != 2 {
			t.Errorf("ran %d times: %+v, %v", ran, u, err)
		}
		if _, err := start(); !errors.Is(err, envelope.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}
