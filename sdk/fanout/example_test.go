package fanout_test

import (
	"context"
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/fanout"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	source := func(name string, takes time.Duration) fanout.Branch[string] {
		return fanout.Branch[string]{Name: name, Do: func(ctx context.Context) (string, error) {
			select {
			case <-time.After(takes):
				return "from " + name, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}}
	}
	index := source("index", 0)
	index.Mandatory = true
	plan := fanout.Plan{Deadline: 100 * time.Millisecond, Margin: 50 * time.Millisecond, Quorum: 1}
	for r, err := range fanout.Each(ctx, plan, index, source("archive", time.Hour)) {
		if err != nil {
			fmt.Println(r.Branch, "gave nothing in time")
			continue
		}
		fmt.Println(r.Value)
	}
	// Output:
	// from index
	// archive gave nothing in time
}
