package budgettest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Act is one thing that a provider does for a request.
type Act struct{ do func(*exchange) bool } // false ends the exchange without completing the answer

// Wait does nothing for d.
func Wait(d time.Duration) Act { return Act{func(e *exchange) bool { return e.wait(d) }} }

// Headers sends the header of the answer.
func Headers() Act { return Act{func(e *exchange) bool { e.begin(); return true }} }

// Tokens produces n tokens, each after a wait.
func Tokens(n int, every time.Duration) Act {
	return Act{func(e *exchange) bool { return e.repeat(n, every, e.token) }}
}

// Reasoning produces n tokens of the model's reasoning, which the user does not see, each after a wait.
func Reasoning(n int, every time.Duration) Act {
	return Act{func(e *exchange) bool { return e.repeat(n, every, e.reasoning) }}
}

// Heartbeats sends n signs of life without content, each after a wait; below zero, it goes on for ever.
func Heartbeats(n int, every time.Duration) Act {
	return Act{func(e *exchange) bool { return e.repeat(n, every, e.heartbeat) }}
}

// Freeze does nothing until the client is gone. As the first act, the connection is accepted and nothing is ever said.
func Freeze() Act { return Act{func(e *exchange) bool { <-e.gone; return false }} }

// Reset breaks the connection.
func Reset() Act {
	return Act{func(e *exchange) bool {
		if conn, _, err := e.rc.Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		}
		return false
	}}
}

// Cut ends the answer cleanly for the transport but without what completes it.
func Cut() Act { return Act{func(e *exchange) bool { e.begin(); return false }} }

// Status answers with an HTTP status and headers, given as names and values, and an error body.
func Status(code int, header ...string) Act {
	return Act{func(e *exchange) bool {
		for i := 0; i+1 < len(header); i += 2 {
			e.w.Header().Set(header[i], header[i+1])
		}
		e.w.Header().Set("Content-Type", "application/json")
		e.w.WriteHeader(code)
		_ = json.NewEncoder(e.w).Encode(object{"type": "error", "error": object{"type": "fake_error", "message": http.StatusText(code)}})
		return false
	}}
}

// LastMoment waits until the remainder that came with the request is used up but for the given time. Without one it waits
// for nothing.
func LastMoment(before time.Duration) Act {
	return Act{func(e *exchange) bool {
		return e.left <= 0 || e.wait(e.left-before-time.Since(e.arrived))
	}}
}

// Deaf makes the provider go on with its script though the client is gone.
func Deaf() Act { return Act{func(e *exchange) bool { e.deaf = true; return true }} }

type object = map[string]any

// form is the form of the answer.
type form uint8

const (
	completions form = iota
	responses
	messages
)

// exchange is one request that is worked on. It is used by one goroutine.
type exchange struct {
	p             *Provider
	w             http.ResponseWriter
	rc            *http.ResponseController
	gone          <-chan struct{}
	form          form
	model         string
	stream        bool
	deaf          bool
	begun, opened bool
	tokens        int
	arrived       time.Time
	left          time.Duration // from the request's header
}

// wait reports whether the exchange goes on.
func (e *exchange) wait(d time.Duration) bool {
	if e.deaf {
		time.Sleep(d)
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return !e.closed()
	case <-e.gone:
		return false
	}
}

func (e *exchange) closed() bool {
	select {
	case <-e.gone:
		return true
	default:
		return false
	}
}

func (e *exchange) repeat(n int, every time.Duration, one func()) bool {
	for i := 0; n < 0 || i < n; i++ {
		if !e.wait(every) {
			return false
		}
		one()
	}
	return true
}

func (e *exchange) begin() {
	if e.begun {
		return
	}
	e.begun = true
	kind := "application/json"
	if e.stream {
		kind = "text/event-stream"
	}
	e.w.Header().Set("Content-Type", kind)
	e.w.WriteHeader(http.StatusOK)
	_ = e.rc.Flush()
}

func (e *exchange) heartbeat() {
	e.begin()
	if e.form == messages {
		e.event("ping", object{"type": "ping"})
		return
	}
	e.raw(": keep-alive\n\n")
}

func (e *exchange) token() {
	e.count()
	text := fmt.Sprintf("w%d ", e.tokens)
	e.open()
	switch e.form {
	case messages:
		e.event("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": text}})
	case responses:
		e.event("response.output_text.delta", object{"type": "response.output_text.delta", "item_id": "item-1", "output_index": 0, "content_index": 0, "delta": text})
	default:
		e.chunk(object{"content": text}, nil)
	}
}

func (e *exchange) reasoning() {
	e.count()
	e.open()
	switch e.form {
	case messages:
		e.event("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": object{"type": "thinking_delta", "thinking": "hm "}})
	case responses:
		e.event("response.reasoning_text.delta", object{"type": "response.reasoning_text.delta", "item_id": "item-1", "output_index": 0, "content_index": 0, "delta": "hm "})
	default:
		e.chunk(object{"reasoning_content": "hm "}, nil)
	}
}

func (e *exchange) count() {
	e.tokens++
	e.p.mu.Lock()
	defer e.p.mu.Unlock()
	e.p.stats.Tokens++
	if e.closed() {
		e.p.stats.TokensAfterClose++
	}
}

// open sends what comes before the first token.
func (e *exchange) open() {
	if e.stream {
		e.begin()
	}
	if e.opened {
		return
	}
	e.opened = true
	switch e.form {
	case messages:
		e.event("message_start", object{"type": "message_start", "message": object{"id": "msg-1", "type": "message", "role": "assistant",
			"model": e.model, "content": []any{}, "usage": object{"input_tokens": 7, "output_tokens": 0}}})
		e.event("content_block_start", object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
	case responses:
		e.event("response.created", object{"type": "response.created", "response": object{"id": "resp-1", "object": "response", "model": e.model, "status": "in_progress"}})
	default:
		e.chunk(object{"role": "assistant"}, nil)
	}
}

// finish completes the answer.
func (e *exchange) finish() {
	if !e.stream {
		e.begin()
		_ = json.NewEncoder(e.w).Encode(e.whole())
		return
	}
	e.open()
	usage := object{"input_tokens": 7, "output_tokens": e.tokens}
	switch e.form {
	case messages:
		e.event("content_block_stop", object{"type": "content_block_stop", "index": 0})
		e.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": "end_turn"}, "usage": usage})
		e.event("message_stop", object{"type": "message_stop"})
	case responses:
		e.event("response.completed", object{"type": "response.completed", "response": object{"id": "resp-1", "object": "response", "model": e.model,
			"status": "completed", "usage": usage}})
	default:
		e.chunk(object{}, "stop")
		e.data(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": e.model, "choices": []any{}, "usage": e.usage()})
		e.raw("data: [DONE]\n\n")
	}
}

func (e *exchange) usage() object {
	return object{"prompt_tokens": 7, "completion_tokens": e.tokens, "total_tokens": 7 + e.tokens}
}

// whole is the answer to who did not ask for a stream.
func (e *exchange) whole() object {
	var text strings.Builder
	for i := range e.tokens {
		fmt.Fprintf(&text, "w%d ", i+1)
	}
	usage := object{"input_tokens": 7, "output_tokens": e.tokens}
	switch e.form {
	case messages:
		return object{"id": "msg-1", "type": "message", "role": "assistant", "model": e.model, "stop_reason": "end_turn", "usage": usage,
			"content": []any{object{"type": "text", "text": text.String()}}}
	case responses:
		return object{"id": "resp-1", "object": "response", "model": e.model, "status": "completed", "usage": usage, "output": []any{object{"type": "message",
			"id": "item-1", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": text.String(), "annotations": []any{}}}}}}
	}
	return object{"id": "chatcmpl-1", "object": "chat.completion", "model": e.model, "usage": e.usage(), "choices": []any{object{"index": 0,
		"finish_reason": "stop", "message": object{"role": "assistant", "content": text.String()}}}}
}

func (e *exchange) chunk(delta object, finish any) {
	e.data(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": e.model,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (e *exchange) event(kind string, data object) {
	e.write("event: "+kind+"\n", data)
}

func (e *exchange) data(data object) { e.write("", data) }

func (e *exchange) write(prefix string, data object) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // only plain values are written
	}
	e.raw(prefix + "data: " + string(text) + "\n\n")
}

// raw writes to a stream; who asked for none gets the whole answer at the end.
func (e *exchange) raw(text string) {
	if !e.stream {
		return
	}
	_, _ = e.w.Write([]byte(text))
	_ = e.rc.Flush()
}
