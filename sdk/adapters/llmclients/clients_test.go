// Package llmclients_test puts package llm under the official Go clients, which stay unchanged.
package llmclients_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/llm"
	"github.com/laxity-dev/laxity/sdk/step"
)

const ms = time.Millisecond

// generate is what an application does with a client: it reads a stream to its end and returns the text.
type generate func(ctx context.Context, url string, rt http.RoundTripper) (string, error)

var clients = map[string]generate{"openai-chat": chat, "openai-responses": respond, "anthropic": message}

func chat(ctx context.Context, url string, rt http.RoundTripper) (string, error) {
	client := openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: rt}))
	s := client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{Model: "big", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("question")}})
	defer s.Close()
	var text strings.Builder
	for s.Next() {
		for _, c := range s.Current().Choices {
			text.WriteString(c.Delta.Content)
		}
	}
	return text.String(), s.Err()
}

func respond(ctx context.Context, url string, rt http.RoundTripper) (string, error) {
	client := openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: rt}))
	s := client.Responses.NewStreaming(ctx, responses.ResponseNewParams{Model: "big", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("question")}})
	defer s.Close()
	var text strings.Builder
	for s.Next() {
		if e := s.Current(); e.Type == "response.output_text.delta" {
			text.WriteString(e.Delta)
		}
	}
	return text.String(), s.Err()
}

func message(ctx context.Context, url string, rt http.RoundTripper) (string, error) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("key"), anthropicoption.WithHTTPClient(&http.Client{Transport: rt}))
	s := client.Messages.NewStreaming(ctx, anthropic.MessageNewParams{Model: "big", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("question"))}})
	defer s.Close()
	var text strings.Builder
	for s.Next() {
		text.WriteString(s.Current().Delta.Text)
	}
	return text.String(), s.Err()
}

// each runs a test for every client in a request of its own, in a bubble.
func each(t *testing.T, p budget.Policy, run func(*testing.T, *world)) {
	for name, g := range clients {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{p: budgettest.NewProvider(t, budgettest.InMemory()), r: budgettest.NewRecorder(), generate: g}
				base, leave := context.WithCancel(t.Context())
				defer leave()
				w.leave = leave
				ctx, entry, err := w.r.Edge(p).Start(base, budget.Arrival{Name: "in", ParentCause: budgetattr.CauseClientDisconnect})
				if err != nil {
					t.Fatal(err)
				}
				w.ctx, w.entry = ctx, entry
				run(t, w)
				entry.End(nil)
			})
		})
	}
}

type world struct {
	p        *budgettest.Provider
	r        *budgettest.Recorder
	ctx      context.Context
	leave    context.CancelFunc
	entry    *budget.Entry
	generate generate
}

func TestAnswerArrivesUnchanged(t *testing.T) {
	each(t, budget.Policy{Default: time.Minute}, func(t *testing.T, w *world) {
		w.p.Answer(budgettest.Heartbeats(2, 100*ms), budgettest.Reasoning(2, 100*ms), budgettest.Tokens(5, 100*ms))
		text, err := w.generate(w.ctx, w.p.URL, llm.NewTransport(w.p.Transport(), llm.WithFirstToken(time.Second), llm.WithStage("model")))
		if err != nil || strings.Count(text, "w") != 5 {
			t.Errorf("%q, %v", text, err)
		}
		if hop := w.r.Last(t, "model"); hop.Text("gen_ai.request.model") != "big" || hop.Text(budgetattr.CancelCauseKey) != "" {
			t.Errorf("attributes %v", hop.Attributes())
		}
		budgettest.Stopped(t, w.r, 0)
	})
}

// The clients repeat what was silent before its first token, twice, with back-offs of their own: all of it within the budget.
func TestSilentStream(t *testing.T) {
	for name, silence := range map[string]budgettest.Act{"silent": budgettest.Freeze(), "heartbeats only": budgettest.Heartbeats(-1, 100*ms)} {
		t.Run(name, func(t *testing.T) {
			each(t, budget.Policy{Default: 8 * time.Second}, func(t *testing.T, w *world) {
				w.p.Answer(budgettest.Headers(), silence)
				start := time.Now()
				text, err := w.generate(w.ctx, w.p.URL, llm.NewTransport(w.p.Transport(), llm.WithFirstToken(2*time.Second), llm.WithStage("model")))
				var timeout *llm.TimeoutError
				if text != "" || !errors.As(err, &timeout) || !errors.Is(err, syscall.ETIMEDOUT) || timeout.Phase != budgetattr.PhaseFirstToken {
					t.Errorf("%q, %v", text, err)
				}
				if took := time.Since(start); took < 2*time.Second || took > 8*time.Second {
					t.Errorf("after %v", took)
				}
				budgettest.Quiet(t, w.p, 0)
			})
		})
	}
}

func TestFrozenStreamIsNeverRepeated(t *testing.T) {
	each(t, budget.Policy{Default: time.Hour}, func(t *testing.T, w *world) {
		w.p.Answer(budgettest.Tokens(3, 100*ms), budgettest.Heartbeats(-1, 100*ms))
		text, err := w.generate(w.ctx, w.p.URL, llm.NewTransport(w.p.Transport(), llm.WithProgress(2*time.Second)))
		var timeout *llm.TimeoutError
		if strings.Count(text, "w") != 3 || !errors.As(err, &timeout) || timeout.Phase != budgetattr.PhaseBetweenTokens || timeout.Tokens != 3 {
			t.Errorf("%q, %v", text, err)
		}
		if n := w.p.Stats().Requests; n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// litellm 31499: the client leaves before the first token, and the provider must see it.
func TestClientLeavesBeforeTheFirstToken(t *testing.T) {
	each(t, budget.Policy{Default: time.Hour}, func(t *testing.T, w *world) {
		w.p.Answer(budgettest.Headers(), budgettest.Tokens(100, 500*ms))
		time.AfterFunc(50*ms, w.leave)
		start := time.Now()
		text, err := w.generate(w.ctx, w.p.URL, llm.NewTransport(w.p.Transport(), llm.WithStage("model")))
		if text != "" || !errors.Is(err, context.Canceled) || time.Since(start) > 60*ms {
			t.Errorf("%q, %v after %v", text, err, time.Since(start))
		}
		budgettest.Quiet(t, w.p, 0)
		if s := w.p.Stats(); s.Tokens != 0 || s.Requests != 1 || time.Since(start) > 500*ms {
			t.Errorf("%+v after %v", s, time.Since(start))
		}
	})
}

func TestDeadProviderIsReplacedWithinTheDeadline(t *testing.T) {
	each(t, budget.Policy{Default: 10 * time.Second}, func(t *testing.T, w *world) {
		b := budgettest.NewProvider(t, budgettest.InMemory())
		b.Answer(budgettest.Wait(time.Second), budgettest.Tokens(4, 100*ms))
		w.p.Unreachable(true)
		rt := llm.NewFallback([]llm.Candidate{{Name: "a", URL: w.p.URL, Base: w.p.Transport()}, {Name: "b", URL: b.URL, Base: b.Transport(), Meets: "the same model elsewhere"}})
		start := time.Now()
		text, err := w.generate(w.ctx, w.p.URL, rt)
		if err != nil || strings.Count(text, "w") != 4 || time.Since(start) > 10*time.Second {
			t.Errorf("%q, %v after %v", text, err, time.Since(start))
		}
		budgettest.Decided(t, w.r, "b", budgetattr.DecisionFallback)
		if d := w.entry.Degraded(); len(d) != 1 || d[0] != "a" {
			t.Errorf("degraded %v", d)
		}
	})
}

// T27: the clients retry inside without telling. Their requests are counted, and refused beyond the allowance of the step.
func TestT27_HiddenRetriesAreCountedAndRefused(t *testing.T) {
	each(t, budget.Policy{Default: time.Minute}, func(t *testing.T, w *world) {
		w.p.Answer(budgettest.Status(503))
		rt := llm.NewTransport(w.p.Transport())
		s := step.Required("generate", func(ctx context.Context, url string) (string, error) { return w.generate(ctx, url, rt) },
			step.Terms{Retry: step.Retry{Attempts: 2}})
		if _, err := step.Run(w.ctx, s, w.p.URL); err == nil {
			t.Error("no error")
		}
		if n := w.p.Stats().Requests; n != 2 {
			t.Errorf("%d requests", n)
		}
		layers := ""
		for _, h := range w.r.Spans() {
			if h.Int(budgetattr.AttemptKey) == 2 {
				layers = h.Text(budgetattr.AttemptLayerKey)
			}
		}
		if layers != budget.LayerSDK {
			t.Errorf("the second attempt is of layer %q", layers)
		}
	})
}

// On a real socket too, a stream nobody waits for is closed.
func TestSocketIsClosedWhenTheBudgetEnds(t *testing.T) {
	p := budgettest.NewProvider(t)
	p.Answer(budgettest.Tokens(2, 0), budgettest.Heartbeats(-1, 10*ms))
	r := budgettest.NewRecorder()
	for name, g := range clients {
		ctx, entry, err := r.Edge(budget.Policy{Default: 300 * ms}).Start(t.Context(), budget.Arrival{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		text, err := g(ctx, p.URL, llm.NewTransport(nil))
		entry.End(err)
		if strings.Count(text, "w") != 2 || !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	budgettest.Quiet(t, p, 0)
}
