package demo

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// The models that the provider has. The brief one answers in few tokens and never fails.
const (
	modelLarge = "large"
	modelBrief = "brief"
)

// completion is what a client asks of a provider, and an answer's event, both in the form of OpenAI as far as it is used.
type (
	completion struct {
		Model    string    `json:"model"`
		Stream   bool      `json:"stream"`
		Messages []message `json:"messages"`
	}
	message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	event struct {
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
		} `json:"choices"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
)

const pathCompletions = "/v1/chat/completions"

// heartbeatEvery is the time between two heartbeats of a provider that has nothing else to say.
const heartbeatEvery = 20 * time.Millisecond

// model plays a provider that streams tokens as server-sent events.
type model struct{ *service }

func newModel(s *service) {
	s.handle(pathCompletions, s.inherited(), model{s}.complete)
}

func (s model) complete(w http.ResponseWriter, r *http.Request) {
	var ask completion
	if !readJSON(w, r, &ask) {
		return
	}
	ctx := r.Context()
	if ask.Model == modelBrief {
		s.stream(ctx, w, ask, briefly)
		return
	}
	switch {
	case has(ctx, RetryStorm):
		s.refuse(w, r)
	case has(ctx, NestedRetries):
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
	case has(ctx, ModelDown):
		s.faults.took(ctx, ModelDown, s.name, "answered that the model does not exist any more")
		http.Error(w, "no such model", http.StatusGone)
	case has(ctx, RetryAfter):
		s.faults.took(ctx, RetryAfter, s.name, "asked to be left alone for an hour")
		w.Header().Set("Retry-After", "3600")
		http.Error(w, "too many requests", http.StatusTooManyRequests)
	default:
		s.stream(ctx, w, ask, tokens)
	}
}

// stream answers in so many tokens.
func (s model) stream(ctx context.Context, w http.ResponseWriter, ask completion, count int) {
	median := stageGenerate.median
	if ask.Model == modelBrief {
		median /= 2
	}
	plays := func(f Fault) bool { return ask.Model != modelBrief && has(ctx, f) }
	w.Header().Set("Content-Type", "text/event-stream")
	if plays(FirstTokenDelay) {
		s.heartbeats(ctx, w, FirstTokenDelay, 0)
	}
	if s.spend(ctx, stageGenerate.name, median) != nil {
		panic(http.ErrAbortHandler)
	}
	for n := range count {
		if n == count/2 {
			switch {
			case plays(Freeze):
				s.faults.took(ctx, Freeze, s.name, fmt.Sprintf("silent after %d of %d tokens", n, count))
				<-requestFrom(ctx).left // a frozen provider sees no deadline, only the end of the connection
				panic(http.ErrAbortHandler)
			case plays(HeartbeatsOnly):
				s.heartbeats(ctx, w, HeartbeatsOnly, n)
			case plays(LateFailure):
				s.failLate(ctx, w)
				return
			}
		}
		if !send(w, fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":"word%d "}}]}`, n)) {
			return
		}
		if s.spend(ctx, "token "+strconv.Itoa(n), tokenWork) != nil {
			panic(http.ErrAbortHandler) // a stream that is not whole must not look like one
		}
	}
	send(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]")
}

// heartbeats keeps the connection alive and brings no token until nobody listens.
func (s model) heartbeats(ctx context.Context, w http.ResponseWriter, fault Fault, after int) {
	s.faults.took(ctx, fault, s.name, fmt.Sprintf("only heartbeats after %d tokens", after))
	for send(w, ": still here") && work(ctx, heartbeatEvery) == nil {
	}
	panic(http.ErrAbortHandler)
}

// failLate goes on with tokens until little is left of the time it was handed, and then reports an error.
func (s model) failLate(ctx context.Context, w http.ResponseWriter) {
	end, bounded := ctx.Deadline()
	for bounded && time.Until(end) > s.timing.limit(lateFailureLeaves) {
		if !send(w, `data: {"choices":[{"index":0,"delta":{"content":"and "}}]}`) || work(ctx, s.timing.limit(progressLimit/8)) != nil {
			return
		}
	}
	s.faults.took(ctx, LateFailure, s.name, "failed when little time was left")
	send(w, `data: {"error":{"message":"the server had an error"}}`)
}

// send writes one event, or a comment, and reports whether it could.
func send(w http.ResponseWriter, event string) bool {
	fmt.Fprint(w, event, "\n\n")
	return http.NewResponseController(w).Flush() == nil
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
