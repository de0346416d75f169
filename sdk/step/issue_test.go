package step_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/step"
)

// A stream that the step's own time cut has delivered a part, and the end of the time must not take it away.
func TestIssuePartAtTheEndOfTheStepsTimeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: time.Second, Reserve: 100 * ms})
		cut := func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", &step.Partial[string]{Value: "half an answer", Err: ctx.Err()}
		}
		res, err := step.RunResult(ctx, step.Required("generate", cut, step.Terms{Partial: true, Cap: 300 * ms}), "")
		if err != nil || res.Value != "half an answer" || res.Decision != budgetattr.DecisionPartial || !errors.Is(res.Err, budget.ErrExhausted) {
			t.Errorf("%+v, %v", res, err)
		}
		entry.End(err)
		if c := r.Last(t, "generate").Text(budgetattr.CancelCauseKey); c != string(budgetattr.CauseLocalDeadline) {
			t.Errorf("cause %q", c)
		}
	})
}

// Once a client library has used the allowance up, nothing is waited for: the next attempt would be refused.
func TestIssueNoBackoffForAnAttemptThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := budgettest.NewProvider(t, budgettest.InMemory())
		p.Answer(budgettest.Status(503))
		client := &http.Client{Transport: budgethttp.NewTransport(p.Transport())}
		ctx, entry, r := request(t, budget.Policy{Default: time.Minute})
		library := func(ctx context.Context, _ string) (text string, err error) {
			for range 3 {
				text, err = get(ctx, client, p.URL)
			}
			return text, err
		}
		s := step.Optional("call", library, raw, step.Terms{Retry: step.Retry{Attempts: 3, Wait: 5 * time.Second, Jitter: -1}})
		start := time.Now()
		res, err := step.RunResult(ctx, s, "x")
		entry.End(err)
		var status *step.StatusError
		if time.Since(start) > 0 || res.Attempts != 1 || res.SkippedReason != step.ReasonAttempts || !errors.As(res.Err, &status) {
			t.Errorf("%+v, %v after %v", res, err, time.Since(start))
		}
		if got := r.Last(t, "call").Text(budgetattr.RetriesSkippedReasonKey); got != string(step.ReasonAttempts) || len(r.Stage("call")) != 1 {
			t.Errorf("reason %q, %d hops", got, len(r.Stage("call")))
		}
		if n := p.Stats().Requests; n != 3 {
			t.Errorf("%d requests", n)
		}
	})
}

// What is wrong is told, not that the outer layer's allowance is used up.
func TestIssueNestedRetriesTellWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, _ := request(t, budget.Policy{Default: time.Minute})
		defer entry.End(nil)
		did := 0
		inner := step.Required("inner", func(context.Context, string) (string, error) { did++; return "", errUnavailable },
			step.Terms{Retry: step.Retry{Attempts: 5, Wait: time.Second, Jitter: -1}})
		outer := step.Required("outer", func(ctx context.Context, in string) (string, error) { return step.Run(ctx, inner, in) },
			step.Terms{Retry: step.Retry{Attempts: 2, Wait: time.Second, Jitter: -1}})
		start := time.Now()
		_, err := step.Run(ctx, outer, "")
		if !errors.Is(err, errUnavailable) || did != 2 || time.Since(start) != time.Second {
			t.Errorf("%v, %d attempts after %v", err, did, time.Since(start))
		}
	})
}

// The fallback of a step inside another one's attempt is no repetition of that attempt.
func TestIssueFallbackBelowAnotherLayersRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := budgettest.NewProvider(t, budgettest.InMemory()), budgettest.NewProvider(t, budgettest.InMemory())
		a.Answer(budgettest.Status(503))
		call := func(p *budgettest.Provider) step.Func[string, string] {
			client := &http.Client{Transport: budgethttp.NewTransport(p.Transport())}
			return func(ctx context.Context, _ string) (string, error) { return get(ctx, client, p.URL) }
		}
		ctx, entry, _ := request(t, budget.Policy{Default: time.Minute})
		defer entry.End(nil)
		inner := step.Required("inner", call(a), step.Terms{Retry: step.Retry{Attempts: 2}}).
			Or(step.Fallback[string, string]{Name: "other", Do: call(b), Meets: "the same elsewhere"})
		outer := step.Required("outer", func(ctx context.Context, in string) (string, error) { return step.Run(ctx, inner, in) },
			step.Terms{Retry: step.Retry{Attempts: 2}})
		if _, err := step.Run(ctx, outer, ""); err != nil || a.Stats().Requests != 2 || b.Stats().Requests != 1 {
			t.Errorf("%v, %d and %d requests", err, a.Stats().Requests, b.Stats().Requests)
		}
	})
}

// What a step leaves is what each step after it takes and leaves in its turn, and a step may come twice.
func TestIssueRestOfAChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, _ := request(t, budget.Policy{Default: 2 * time.Second, Reserve: 100 * ms})
		defer entry.End(nil)
		search := step.Optional("search", takes(time.Hour, ""), raw, step.Terms{})
		write := step.Required("write", takes(390*ms, "text"), step.Terms{Expected: 400 * ms, MinUseful: 400 * ms, Reserve: 100 * ms})
		chain := step.NewChain(search, write, search)
		if n := chain.Need(); n != 500*ms {
			t.Errorf("need %v", n)
		}
		ctx = chain.Start(ctx)
		start := time.Now()
		for i, s := range []*step.Step[string, string]{search, write, search} {
			if text, err := step.Run(ctx, s, "x"); err != nil || i == 1 && text != "text" {
				t.Errorf("%q, %v", text, err)
			}
			if i == 0 && time.Since(start) > 1410*ms {
				t.Errorf("the first search took %v", time.Since(start))
			}
		}
	})
}

func TestIssueFallbackThatPanicsOrFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: time.Second})
		broken := errors.New("broken")
		s := step.Required("a", fails(0), step.Terms{})
		_, err := step.Run(ctx, s.Or(step.Fallback[string, string]{Name: "b", Meets: "it does",
			Do: func(context.Context, string) (string, error) { return "", broken }}), "")
		if !errors.Is(err, errUnavailable) || !errors.Is(err, broken) {
			t.Errorf("err %v", err)
		}
		func() {
			defer func() {
				if p := recover(); p != "boom" {
					t.Errorf("panic %v", p)
				}
			}()
			_, _ = step.Run(ctx, s.Or(step.Fallback[string, string]{Name: "c", Meets: "it does",
				Do: func(context.Context, string) (string, error) { panic("boom") }}), "")
		}()
		entry.End(err)
		budgettest.Stopped(t, r, 0)
	})
}

func TestIssueHedgesThatBothFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: time.Second})
		var sent atomic.Int32
		both := func(ctx context.Context, _ string) (string, error) {
			if sent.Add(1) == 1 {
				time.Sleep(200 * ms)
				return "first", nil
			}
			time.Sleep(100 * ms)
			return "second", nil
		}
		s := step.Required("call", both, step.Terms{Expected: 100 * ms, Retry: step.Retry{Attempts: 2, Hedge: 100 * ms}})
		res, err := step.RunResult(ctx, s, "")
		if err != nil || res.Value == "" || res.Attempts != 2 {
			t.Errorf("%+v, %v", res, err)
		}
		synctest.Wait()
		entry.End(err)
		budgettest.Stopped(t, r, 0)
		if n := len(r.Stage("call")); n != 2 {
			t.Errorf("%d hops", n)
		}
	})
}

func TestIssueOptionalStepAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: time.Second, Reserve: 100 * ms})
		defer entry.End(nil)
		never := func(context.Context, string) (string, error) { t.Error("started"); return "", nil }
		s := step.Optional("rerank", never, raw, step.Terms{})
		time.Sleep(950 * ms)
		if text, err := step.Run(ctx, s, "x"); err != nil || text != "raw x" {
			t.Errorf("%q, %v", text, err)
		}
		time.Sleep(time.Second)
		if _, err := step.Run(ctx, s, "x"); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("err %v", err)
		}
		budgettest.NeverStarted(t, r, "rerank")
	})
}

// The time in which a step may complete what it has begun is its own and not that of the steps that follow.
func TestIssueCompletionTakesNothingFromTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, entry, r := request(t, budget.Policy{Default: time.Second, Reserve: 100 * ms})
		commit := step.Optional("commit", takes(time.Hour, ""), raw, step.Terms{Completion: 300 * ms})
		last := step.Required("last", takes(290*ms, "last"), step.Terms{Expected: 300 * ms, MinUseful: 300 * ms})
		ctx = step.NewChain(commit, last).Start(ctx)
		for _, s := range []*step.Step[string, string]{commit, last} {
			if _, err := step.Run(ctx, s, ""); err != nil {
				t.Error(err)
			}
		}
		entry.End(nil)
		budgettest.WithinBudget(t, r)
	})
}
