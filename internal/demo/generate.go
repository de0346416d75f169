package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/llm"
	"github.com/laxity-dev/laxity/sdk/step"
	"github.com/laxity-dev/laxity/sdk/stream"
)

// Two layers of a retry storm retry a refusal, the client of the provider and the edge itself, so the model is called up to
// rounds × attempts times, as long as it likes to refuse.
const (
	retryRounds   = 3
	retryAttempts = 3
	retryBackoff  = 15 * time.Millisecond
	refusalTime   = 260 * time.Millisecond
)

// libraryRepeats is how often the client library of nested_retries sends a request by itself.
const libraryRepeats = 4

// generator is the edge's way to the model.
type generator struct {
	*service
	model *service
	// guarded is watched by the sdk; draining is too, and reads on for the usage when its caller has left.
	guarded, draining *http.Client
	// hangUp makes the client of a request leave.
	hangUp func(number uint64)
}

func newGenerator(s, model *service, hangUp func(uint64)) *generator {
	g := &generator{service: s, model: model, hangUp: hangUp}
	guard := func(policy llm.CancelPolicy) *http.Client {
		transport := llm.NewTransport(tamper{s, s.idle}, llm.WithStage("chat"), llm.WithProvider("demo"), llm.WithCancel(policy),
			llm.WithFirstToken(s.timing.limit(firstTokenLimit)), llm.WithProgress(s.timing.limit(progressLimit)),
			llm.WithIdle(s.timing.limit(progressLimit)),
			llm.WithHTTP(budgethttp.WithPeer(stageGenerate.peer),
				budgethttp.WithStage(func(*http.Request) string { return stageGenerate.name })))
		return &http.Client{Transport: planTransport{transport}}
	}
	g.guarded, g.draining = guard(llm.Abort()), guard(llm.DrainFor(s.timing.limit(drainLimit)))
	return g
}

// write is the work of the step: one stream of the large model.
func (g *generator) write(ctx context.Context, q question) (string, error) {
	switch {
	case has(ctx, NestedRetries):
		return g.asLibrary(ctx, q)
	case has(ctx, TokensAfterCancel):
		return g.ask(ctx, g.draining, modelLarge, q)
	}
	return g.ask(ctx, g.guarded, modelLarge, q)
}

// brief is the fallback: few tokens of a small model.
func (g *generator) brief(ctx context.Context, q question) (string, error) {
	return g.ask(ctx, g.guarded, modelBrief, q)
}

// ask sends one request and reads its stream to the end.
func (g *generator) ask(ctx context.Context, client *http.Client, name string, q question) (string, error) {
	body, err := json.Marshal(completion{Model: name, Stream: true, Messages: []message{{"user", q.Text}}})
	if err != nil {
		return "", fmt.Errorf("request to %s: %w", g.model.name, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.model.url+pathCompletions, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("request to %s: %w", g.model.name, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("call %s: %w", g.model.name, err)
	}
	defer resp.Body.Close()
	if err := step.CheckStatus(resp); err != nil {
		return "", fmt.Errorf("call %s: %w", g.model.name, err)
	}
	text, read, err := g.read(ctx, resp)
	if err != nil {
		g.noteLeft(ctx, read)
		return "", fmt.Errorf("stream of %s: %w", g.model.name, err)
	}
	return text, nil
}

// read puts the tokens of a stream together. It reads to the end, so that the provider is not cut after its end mark.
func (g *generator) read(ctx context.Context, resp *http.Response) (text string, read int, err error) {
	var all strings.Builder
	var events stream.EventScanner
	whole := false
	buffer := make([]byte, 4<<10)
	for {
		n, failed := resp.Body.Read(buffer)
		for e := range events.Feed(buffer[:n]) {
			if whole = whole || e.Data == "[DONE]"; whole {
				continue
			}
			var got event
			if err := json.Unmarshal([]byte(e.Data), &got); err != nil {
				return "", read, err
			}
			if got.Error != nil {
				return "", read, errors.New(got.Error.Message)
			}
			for _, c := range got.Choices {
				all.WriteString(c.Delta.Content)
			}
			switch read++; {
			case read != tokens/2:
			case has(ctx, SlowReader):
				g.pause(ctx)
			case has(ctx, TokensAfterCancel):
				g.hangUp(requestFrom(ctx).number)
			}
		}
		switch {
		case failed != nil && whole:
			return all.String(), read, nil
		case failed != nil:
			return "", read, failed
		}
	}
}

// pause keeps the stream waiting for longer than it may be silent.
func (g *generator) pause(ctx context.Context) {
	began := time.Now()
	_ = work(ctx, g.timing.limit(progressLimit*5/4)) // it may be cut: who reads on finds out
	g.faults.took(ctx, SlowReader, g.name, fmt.Sprintf("did not read the stream for %v", time.Since(began).Round(time.Millisecond)))
}

// noteLeft records that the client left in the middle of a stream that is drained.
func (g *generator) noteLeft(ctx context.Context, read int) {
	if read > 0 && has(ctx, TokensAfterCancel) && clientGone(ctx) {
		g.background.Go(func() { time.Sleep(g.timing.limit(drainLimit) + roundedDown) }) // the drain is over by then
		g.faults.took(ctx, TokensAfterCancel, g.name, fmt.Sprintf("the client left after %d tokens, and the stream was drained", read))
	}
}

// asLibrary plays a client library that repeats a refusal by itself and tells nobody. The transport counts what it sends.
func (g *generator) asLibrary(ctx context.Context, q question) (text string, err error) {
	for range libraryRepeats {
		if text, err = g.ask(ctx, g.guarded, modelLarge, q); err == nil {
			return text, nil
		}
		if errors.Is(err, budget.ErrAttempts) {
			g.faults.took(ctx, NestedRetries, g.name, fmt.Sprintf("repeated a refusal until its %d attempts were used up", writeAttempts))
			return "", err
		}
		if err := work(ctx, g.timing.limit(writeBackoff)); err != nil {
			return "", err
		}
	}
	return "", err
}

// storm plays two layers that know neither of each other nor of the time left and retry a refusal.
func (g *generator) storm(ctx context.Context, q question) (string, error) {
	var err error
	attempts := budget.NewAttempts(ctx, 0)
	for n := range retryRounds * retryAttempts {
		attempt, _, _ := attempts.Begin(ctx, layerOf(n))
		err = g.call(attempt, stageGenerate, g.model, pathCompletions, completion{Model: modelLarge}, nil)
		if n == 1 {
			g.faults.took(ctx, RetryStorm, g.name, "retried a refusal")
		}
		if !refused(err) {
			return "", err
		}
		if err := work(ctx, g.timing.limit(retryBackoff)); err != nil {
			return "", err
		}
	}
	return "", err
}

// layerOf names the layer that makes attempt n of a storm, from 0.
func layerOf(n int) string {
	if n > 0 && n%retryAttempts == 0 {
		return "edge"
	}
	return "provider_client"
}

func refused(err error) bool {
	var answer *statusError
	return errors.As(err, &answer) && answer.status == http.StatusServiceUnavailable
}

// writeStep declares the step of the model and its fallback.
func (g *generator) writeStep() *step.Step[question, string] {
	t := g.timing
	return step.Required("write", g.write, step.Terms{
		Expected: t.work(writeTakes), Variability: t.limit(writeVaries),
		Retry: step.Retry{Attempts: writeAttempts, Wait: t.limit(writeBackoff), Jitter: -1},
	}).Or(step.Fallback[question, string]{
		Name: "write_brief", Do: g.brief, Reserve: t.limit(briefReserve), Decision: budgetattr.DecisionFallback,
		Meets: "a brief answer of the small model is allowed by the product",
	})
}
