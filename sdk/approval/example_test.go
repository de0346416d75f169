package approval_test

import (
	"context"
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/approval"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

// Between the answer and the effect the object was changed: the yes was to another version.
func ExampleResume() {
	ctx, store := context.Background(), new(record.Memory)
	e, _ := envelope.New(ctx, envelope.NewClock(), envelope.Spec{ID: "briefing", Limit: time.Minute})
	if err := envelope.Register(ctx, store, e); err != nil {
		panic(err)
	}
	version := "v1"
	_, err := approval.Ask(ctx, store, approval.Approval{
		ID: "publish", Unit: "briefing", Object: "draft", Version: version, ValidUntil: time.Now().Add(time.Minute),
	})
	if err != nil {
		panic(err)
	}
	if _, err := approval.Decide(ctx, store, "publish", approval.Answer{Approved: true, By: "editor", Version: "v1"}); err != nil {
		panic(err)
	}
	checks := approval.Checks{Version: func(context.Context) (string, error) { return version, nil }}
	_, err = approval.Resume(ctx, store, "publish", checks)
	fmt.Println(err)
	version = "v2"
	_, err = approval.Resume(ctx, store, "publish", checks)
	fmt.Println(err)
	// Output:
	// <nil>
	// approval publish refused: version_changed
}
