package llm_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/llm"
	"github.com/laxity-dev/laxity/sdk/step"
)

// stream is a step that reads a whole stream; what it has when the stream ends early is a partial result.
func (w *world) stream(rt *llm.Transport, attempts int) *step.Step[string, string] {
	return step.Required("write", func(ctx context.Context, path string) (string, error) {
		asking := *w
		asking.ctx = ctx
		resp, err := asking.ask(rt, path)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		var timeout *llm.TimeoutError
		if errors.As(err, &timeout) && timeout.Tokens > 0 {
			return "", &step.Partial[string]{Value: string(text), Err: err}
		}
		return string(text), err
	}, step.Terms{Partial: true, Expected: time.Second, Retry: step.Retry{Attempts: attempts, Wait: 100 * ms, Jitter: -1}})
}

// Without a token a call is repeated, twice at most, and only while a repetition fits.
func TestE18_AStreamWithoutTokensIsRepeatedWhileItFits(t *testing.T) {
	for name, c := range map[string]struct {
		budget   time.Duration
		silent   int // so many streams say nothing
		requests int
		fails    bool
	}{
		"third answers":  {time.Minute, 2, 3, false},
		"no third retry": {time.Minute, 9, 3, true},
		"does not fit":   {3200 * ms, 9, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, budget.Policy{Default: c.budget}, func(w *world) {
				for range c.silent {
					w.p.Answer(budgettest.Headers(), budgettest.Freeze())
				}
				w.p.Answer(budgettest.Tokens(3, 0))
				rt := llm.NewTransport(w.p.Transport(), llm.WithFirstToken(time.Second))
				got, err := step.RunResult(w.ctx, w.stream(rt, 3), forms["completions"])
				if n := w.p.Stats().Requests; n != c.requests || got.Attempts != c.requests || (err != nil) != c.fails {
					t.Errorf("%d requests, %+v, %v", n, got, err)
				}
				var timeout *llm.TimeoutError
				if c.fails && !(errors.As(err, &timeout) && timeout.Phase == budgetattr.PhaseFirstToken) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// A stream that freezes late gives what it has to the declared degradation, and is not sent again.
func TestE15_AStreamFrozenLateIsPartialAndNotRepeated(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(w *world) {
		w.p.Answer(budgettest.Tokens(3, 10*ms), budgettest.Freeze())
		rt := llm.NewTransport(w.p.Transport(), llm.WithProgress(time.Second))
		got, err := step.RunResult(w.ctx, w.stream(rt, 3), forms["completions"])
		if err != nil || got.Decision != budgetattr.DecisionPartial || got.Value == "" || got.Attempts != 1 || w.p.Stats().Requests != 1 {
			t.Errorf("%+v, %v, %d requests", got, err, w.p.Stats().Requests)
		}
		var timeout *llm.TimeoutError
		if !errors.As(got.Err, &timeout) || timeout.Phase != budgetattr.PhaseBetweenTokens || !timeout.HasRemaining {
			t.Errorf("%v", got.Err)
		}
	})
}
