package approval_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/approval"
	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/envelope"
	"github.com/laxity-dev/laxity/sdk/record"
)

// Each row changes one thing between the question and the way back.
func TestResumeTrustsNothingFromBeforeThePause(t *testing.T) {
	for name, c := range map[string]struct {
		during  func(ctx context.Context, s record.Store)
		answer  approval.Answer
		wait    time.Duration
		version string
		data    error
		want    approval.Reason
	}{
		"good":             {answer: approval.Answer{Approved: true}, wait: 10 * time.Second},
		"denied":           {answer: approval.Answer{}, wait: time.Second, want: approval.Denied},
		"unanswered":       {answer: approval.Answer{By: "-"}, wait: time.Second, want: approval.Unanswered},
		"expired":          {answer: approval.Answer{Approved: true}, wait: 41 * time.Second, want: approval.Expired},
		"validity too low": {answer: approval.Answer{Approved: true}, wait: 38 * time.Second, want: approval.NoTime},
		"object changed":   {answer: approval.Answer{Approved: true}, wait: time.Second, version: "v2", want: approval.OtherObject},
		"data changed":     {answer: approval.Answer{Approved: true}, wait: time.Second, data: errors.New("price"), want: approval.DataChanged},
		"unit cancelled": {answer: approval.Answer{Approved: true}, wait: time.Second, want: approval.UnitClosed,
			during: func(ctx context.Context, s record.Store) {
				_, _ = envelope.Cancel(ctx, s, "job", envelope.Cancellation{})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(record.Memory)
				e, err := envelope.New(t.Context(), envelope.NewClock(), envelope.Spec{ID: "job", Limit: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				if err := envelope.Register(t.Context(), store, e); err != nil {
					t.Fatal(err)
				}
				ask := approval.Approval{ID: "publish", Unit: "job", Object: "briefing", Version: "v1", ValidUntil: time.Now().Add(40 * time.Second),
					Effect: envelope.Seconds(2 * time.Second), Confirm: envelope.Seconds(time.Second)}
				for range 2 {
					if _, err := approval.Ask(t.Context(), store, ask); err != nil {
						t.Fatal(err)
					}
				}
				if c.answer.By == "" {
					c.answer.By, c.answer.Version = "editor", "v1"
					if _, err := approval.Decide(t.Context(), store, "publish", c.answer); err != nil {
						t.Fatal(err)
					}
				}
				if c.during != nil {
					c.during(t.Context(), store)
				}
				if c.version == "" {
					c.version = "v1"
				}
				time.Sleep(c.wait)
				_, err = approval.Resume(t.Context(), store, "publish", approval.Checks{
					Version: func(context.Context) (string, error) { return c.version, nil },
					Data:    func(context.Context) error { return c.data },
				})
				refused, _ := errors.AsType[*approval.RefusedError](err)
				if c.want == "" && err != nil || c.want != "" && (refused == nil || refused.Reason != c.want || !errors.Is(err, approval.ErrRefused)) {
					t.Errorf("%v, want %q", err, c.want)
				}
				if c.want == approval.NoTime && !errors.Is(err, budget.ErrExhausted) {
					t.Errorf("%v is no exhausted budget", err)
				}
			})
		})
	}
}

func TestTheFirstAnswerCountsAndIsForTheVersionShown(t *testing.T) {
	store := new(record.Memory)
	ask := approval.Approval{ID: "a", Unit: "job", Object: "o", Version: "v1", ValidUntil: time.Now().Add(time.Minute)}
	if _, err := approval.Ask(t.Context(), store, ask); err != nil {
		t.Fatal(err)
	}
	if _, err := approval.Decide(t.Context(), store, "a", approval.Answer{Approved: true, By: "x", Version: "v0"}); !errors.Is(err, approval.ErrRefused) {
		t.Errorf("another version: %v", err)
	}
	if _, err := approval.Decide(t.Context(), store, "a", approval.Answer{By: "x", Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	a, err := approval.Decide(t.Context(), store, "a", approval.Answer{Approved: true, By: "y", Version: "v1"})
	if err != nil || a.Answer.Approved || a.Answer.By != "x" {
		t.Errorf("%+v, %v", a.Answer, err)
	}
	if _, err := approval.Decide(t.Context(), store, "none", approval.Answer{By: "x"}); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
