package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
)

// Two layers retry a refusal, the client of the provider and the edge itself, so the model is called up to rounds × attempts times, as long as it likes to refuse.
const (
	retryRounds   = 3
	retryAttempts = 3
	retryBackoff  = 15 * time.Millisecond
	refusalTime   = 260 * time.Millisecond
)

// layerOf names the layer that makes attempt n, from 0.
func layerOf(n int) string {
	if n > 0 && n%retryAttempts == 0 {
		return "edge"
	}
	return "provider_client"
}

var errStreamCut = errors.New("the model's stream ended without its end mark")

// model plays a provider that streams tokens as server-sent events.
type model struct{ *service }

func newModel(s *service) {
	s.handle("/stream", s.inherited(), model{s}.stream)
}

func (s model) stream(w http.ResponseWriter, r *http.Request) {
	var q question
	if !readJSON(w, r, &q) {
		return
	}
	ctx := r.Context()
	if has(ctx, RetryStorm) {
		s.refuse(w, r)
		return
	}
	if err := s.spend(ctx, stageGenerate.name, stageGenerate.median); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for n := range tokens {
		if n == tokens/2 && has(ctx, Freeze) && ctx.Err() == nil {
			s.faults.took(ctx, Freeze, s.name, fmt.Sprintf("silent after %d of %d tokens", n, tokens))
			<-requestFrom(ctx).left // a frozen provider sees no deadline, only the end of the connection
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "data: word%d\n\n", n)
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		if err := s.spend(ctx, "token "+strconv.Itoa(n), tokenWork); err != nil {
			return
		}
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// refuse plays an overloaded provider, which takes its time to say no.
func (s model) refuse(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if err := work(ctx, s.timing.limit(refusalTime)); err != nil {
		fail(w, err)
		return
	}
	http.Error(w, "overloaded", http.StatusServiceUnavailable)
}

// generate streams the answer of the model. Two layers that know neither of each other nor of the time left retry a refusal.
func (e *edge) generate(ctx context.Context, q question) (string, error) {
	var err error
	attempts := budget.NewAttempts(ctx, 0)
	for n := range retryRounds * retryAttempts {
		attempt, _, _ := attempts.Begin(ctx, layerOf(n))
		var text string
		text, err = e.streamOnce(attempt, q)
		if n == 1 && has(ctx, RetryStorm) {
			e.faults.took(ctx, RetryStorm, e.name, "retried a refusal")
		}
		if !refused(err) {
			return text, err
		}
		if err := work(ctx, e.timing.limit(retryBackoff)); err != nil {
			return "", err
		}
	}
	return "", err
}

func refused(err error) bool {
	var answer *statusError
	return errors.As(err, &answer) && answer.status == http.StatusServiceUnavailable
}

func (e *edge) streamOnce(ctx context.Context, q question) (string, error) {
	resp, err := e.post(ctx, stageGenerate, e.model, "/stream", q)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var text strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		token, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !ok:
		case token == "[DONE]":
			return text.String(), nil
		default:
			text.WriteString(token + " ")
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("stream of the model: %w", err)
	}
	return "", errStreamCut
}
