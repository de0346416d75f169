package effect_test

import (
	"context"
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/effect"
)

// The destination books the order and its answer is lost. Asked by the key, it is there: nothing is booked twice.
func ExampleWriter_Do() {
	booked := map[string]int{}
	writer, err := effect.NewWriter(new(effect.Memory), effect.Operation{
		Name: "book", Cap: 20 * time.Millisecond, Confirm: 200 * time.Millisecond,
		Send: func(ctx context.Context, r effect.Request) ([]byte, error) {
			booked[r.Key]++
			<-ctx.Done()
			return nil, ctx.Err()
		},
		Ask: func(_ context.Context, key string) (effect.Presence, []byte, error) {
			if booked[key] > 0 {
				return effect.Present, []byte("receipt 1"), nil
			}
			return effect.Absent, nil, nil
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: time.Second}).Start(context.Background(), budget.Arrival{Name: "order"})
	defer entry.End(nil)
	for range 2 {
		e, err := writer.Do(ctx, "order-7", effect.Key("order-7", "book"), []byte("one table"))
		fmt.Println(e.State, string(e.Result), err, booked[e.Key])
	}
	// Output:
	// reconciled receipt 1 <nil> 1
	// reconciled receipt 1 <nil> 1
}
