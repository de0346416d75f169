package approval_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/approval"
	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

// Two units use one name for their questions: neither goes on with the answer that the other got.
func TestIssueAnApprovalIsForItsOwnUnit(t *testing.T) {
	store, clock := new(record.Memory), envelope.NewClock()
	consumer, err := envelope.NewConsumer(t.Context(), budget.Policy{}, store, clock)
	if err != nil {
		t.Fatal(err)
	}
	ask := approval.Approval{ID: "publish", Unit: "first", Object: "briefing", Version: "v1", ValidUntil: time.Now().Add(time.Hour)}
	if _, err := approval.Ask(t.Context(), store, ask); err != nil {
		t.Fatal(err)
	}
	if _, err := approval.Decide(t.Context(), store, "publish", approval.Answer{Approved: true, By: "editor", Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	ask.Unit = "second"
	if a, err := approval.Ask(t.Context(), store, ask); !errors.Is(err, approval.ErrConflict) {
		t.Errorf("%+v, %v", a, err)
	}
	for id, want := range map[string]error{"first": nil, "second": approval.ErrConflict} {
		e, err := envelope.New(t.Context(), clock, envelope.Spec{ID: id, Limit: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		consumer.Handle(t.Context(), envelope.Delivery{Envelope: e, Name: "job"}, func(ctx context.Context, _ *envelope.Run) error {
			_, err := approval.Resume(ctx, store, "publish", approval.Checks{Version: func(context.Context) (string, error) { return "v1", nil }})
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", id, err)
			}
			return nil
		})
	}
}
