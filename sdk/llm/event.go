package llm

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/stream"
)

// tally is what a stream has brought. It is not safe for concurrent use.
type tally struct {
	scanner stream.EventScanner
	start   time.Time

	tokens               int  // events that brought a piece of the answer or of the reasoning
	late                 int  // of these, after the cancellation
	heard                bool // there was any event
	known                bool
	complete             bool
	failed               bool          // the provider reported an error inside the stream
	opaque               bool          // the stream is compressed: each chunk is taken for a token
	first, visible, last time.Duration // from the start; meaningless without tokens
	seen                 bool          // some of them was visible

	id, model, finish string
	input, output     int
	counted           bool // the provider told its usage
}

// message is what the forms of the providers have in an event or in a whole answer, as far as it matters here.
type message struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Text         string `json:"text"`
		Delta        struct {
			Content          string            `json:"content"`
			Refusal          string            `json:"refusal"`
			ReasoningContent string            `json:"reasoning_content"`
			Reasoning        string            `json:"reasoning"`
			ToolCalls        []json.RawMessage `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
	Delta      json.RawMessage `json:"delta"`
	Error      json.RawMessage `json:"error"`
	Message    *message        `json:"message"`
	Response   *message        `json:"response"`
	StopReason string          `json:"stop_reason"`
	Status     string          `json:"status"`
	Usage      *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Input      int `json:"input_tokens"`
		Output     int `json:"output_tokens"`
	} `json:"usage"`
}

// piece is what one event brought of the answer.
type piece uint8

const (
	nothing piece = iota
	reasoning
	visible
)

// feed takes in raw bytes of a stream and reports whether they made progress.
func (t *tally) feed(chunk []byte, cancelled bool) (progress bool) {
	if t.opaque {
		t.heard = true
		t.count(visible, cancelled)
		return true
	}
	for e := range t.scanner.Feed(chunk) {
		t.heard = true
		if p := t.event(e); p != nothing {
			progress = true
			t.count(p, cancelled)
		}
	}
	return progress
}

func (t *tally) count(p piece, cancelled bool) {
	now := time.Since(t.start)
	if t.tokens == 0 {
		t.first = now
	}
	if p == visible && !t.seen {
		t.visible, t.seen = now, true
	}
	t.tokens++
	t.last = now
	if cancelled {
		t.late++
	}
}

func (t *tally) event(e stream.Event) piece {
	if e.Data == "[DONE]" {
		t.known, t.complete = true, true
		return nothing
	}
	var m message
	err := json.Unmarshal([]byte(e.Data), &m)
	switch {
	case e.Type == "error", m.Type == "error", len(m.Error) > 0 && string(m.Error) != "null":
		t.known, t.complete, t.failed = true, true, true
		return nothing
	case err != nil:
		return visible // a form that is not known; it is progress in any case
	}
	t.facts(&m)
	switch {
	case m.Choices != nil:
		t.known = true
		return t.choices(&m)
	case strings.HasPrefix(m.Type, "response."):
		t.known = true
		return t.response(&m)
	case m.Type == "content_block_delta":
		t.known = true
		var d struct{ Type string }
		_ = json.Unmarshal(m.Delta, &d)
		switch d.Type {
		case "thinking_delta", "signature_delta":
			return reasoning
		}
		return visible
	case m.Type == "message_start":
		t.known = true
		return nothing
	case m.Type == "message_delta":
		var d message
		_ = json.Unmarshal(m.Delta, &d)
		t.facts(&d)
		return nothing
	case m.Type == "message_stop":
		t.known, t.complete = true, true
		return nothing
	case strings.HasSuffix(m.Type, ".delta"):
		return visible // of a form that is not known
	case m.Type != "":
		return nothing // pings, starts and ends of blocks, errors
	}
	return visible
}

// choices reads a chunk of a chat completion.
func (t *tally) choices(m *message) piece {
	p := nothing
	for _, c := range m.Choices {
		switch {
		case c.Delta.Content != "" || c.Text != "" || c.Delta.Refusal != "" || len(c.Delta.ToolCalls) > 0:
			p = visible
		case p == nothing && (c.Delta.ReasoningContent != "" || c.Delta.Reasoning != ""):
			p = reasoning
		}
		if c.FinishReason != "" {
			t.complete, t.finish = true, c.FinishReason
		}
	}
	return p
}

// response reads an event of the responses form.
func (t *tally) response(m *message) piece {
	switch m.Type {
	case "response.failed":
		t.complete, t.failed = true, true
	case "response.completed", "response.incomplete":
		t.complete = true
	}
	switch {
	case !strings.HasSuffix(m.Type, ".delta"):
		return nothing
	case strings.Contains(m.Type, "reasoning"):
		return reasoning
	}
	return visible
}

// facts keeps what an event, or a whole answer, says of itself.
func (t *tally) facts(m *message) {
	for _, inner := range []*message{m.Message, m.Response} {
		if inner != nil {
			t.facts(inner)
		}
	}
	keep := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	if m.Type == "" || m.Type == "message" || m.Message == nil && m.Response == nil && m.Delta == nil {
		keep(&t.id, m.ID)
		keep(&t.model, m.Model)
	}
	keep(&t.finish, m.StopReason)
	if u := m.Usage; u != nil {
		t.counted = true
		t.input = max(t.input, u.Prompt, u.Input)
		t.output = max(t.output, u.Completion, u.Output)
	}
}
