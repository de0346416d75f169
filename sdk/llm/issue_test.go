package llm_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
	"github.com/laxity-dev/laxity/sdk/budgettest"
	"github.com/laxity-dev/laxity/sdk/llm"
)

// canned answers every request with the same stream.
type canned struct {
	header http.Header
	body   func() io.Reader
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	h := http.Header{"Content-Type": {"text/event-stream"}}
	for k, v := range c.header {
		h[k] = v
	}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(c.body()), Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}, nil
}

func says(text string) canned {
	return canned{body: func() io.Reader { return strings.NewReader(text) }}
}

// slow delivers one byte after each wait.
type slow struct {
	r     io.Reader
	every time.Duration
}

func (s slow) Read(p []byte) (int, error) { time.Sleep(s.every); return s.r.Read(p[:1]) }

// A client that unpacks on its own gets what it asked for; what cannot be read is no silence.
func TestIssueCompressedStreamIsNotSilent(t *testing.T) {
	in(t, budget.Policy{Default: time.Hour}, func(w *world) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = io.WriteString(z, `data: {"choices":[{"delta":{"content":"a"}}]}`+"\n\ndata: [DONE]\n\n")
		z.Close()
		base := canned{header: http.Header{"Content-Encoding": {"gzip"}}, body: func() io.Reader { return slow{bytes.NewReader(packed.Bytes()), 100 * ms} }}
		for name, rt := range map[string]http.RoundTripper{
			"transport": llm.NewTransport(base, llm.WithFirstToken(time.Second), llm.WithProgress(time.Second)),
			"fallback":  llm.NewFallback([]llm.Candidate{{Name: "a", URL: w.p.URL, Base: base, Slice: time.Second}, {Name: "b", URL: w.p.URL, Base: w.p.Transport(), Meets: "x"}}),
		} {
			resp, err := w.ask(rt, forms["completions"])
			if err != nil {
				t.Fatal(name, err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !bytes.Equal(got, packed.Bytes()) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
	})
}

// Providers report overload inside a stream that began with 200. Nothing was delivered, so the next candidate is asked.
func TestIssueErrorInsideAStreamBeforeTheFirstToken(t *testing.T) {
	for name, text := range map[string]string{
		"anthropic":     "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
		"after start":   "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
		"chat":          "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\",\"code\":null}}\n\n",
		"chat and done": "data: {\"error\":{\"message\":\"overloaded\"}}\n\ndata: [DONE]\n\n",
		"responses":     "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"overloaded\",\"param\":null}\n\n",
		"failed":        "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\"}}\n\n",
		"empty":         "",
		"only start":    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			in(t, budget.Policy{Default: time.Minute}, func(w *world) {
				resp, err := w.ask(llm.NewFallback([]llm.Candidate{{Name: "a", URL: w.p.URL, Base: says(text)},
					{Name: "b", URL: w.p.URL, Base: w.p.Transport(), Meets: "the same elsewhere"}}), forms["completions"])
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !strings.Contains(string(got), "w3") {
					t.Errorf("%q, %v", got, err)
				}
				hop := w.r.Last(t, "a")
				if hop.Status().Code.String() != "Error" {
					t.Errorf("the failed call is recorded as %v", hop.Status())
				}
			})
		})
	}
}

// The last candidate's error reaches the client as the provider put it, and is no token.
func TestIssueErrorInsideAStreamIsNoToken(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(w *world) {
		const text = "data: {\"error\":{\"message\":\"overloaded\"}}\n\n"
		for _, rt := range []http.RoundTripper{
			llm.NewTransport(says(text), llm.WithStage("model")),
			llm.NewFallback([]llm.Candidate{{Name: "model", URL: w.p.URL, Base: says(text)}}),
		} {
			resp, err := w.ask(rt, forms["completions"])
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(got) != text {
				t.Errorf("%q, %v", got, err)
			}
			hop := w.r.Last(t, "model")
			if _, delivered := hop.Seconds(budgetattr.FirstOutputTimeKey); delivered || hop.Status().Code.String() != "Error" {
				t.Errorf("recorded as %v, %v", hop.Status(), hop.Attributes())
			}
		}
	})
}

// A provider that is dead to a request without a stream must not use up the time of the others either.
func TestIssueFallbackOfAWholeAnswer(t *testing.T) {
	for name, script := range map[string][]budgettest.Act{"silent": {budgettest.Freeze()}, "frozen after headers": {budgettest.Headers(), budgettest.Freeze()},
		"reset": {budgettest.Headers(), budgettest.Reset()}} {
		t.Run(name, func(t *testing.T) {
			in(t, budget.Policy{Default: 10 * time.Second}, func(w *world) {
				w.p.Answer(script...)
				b := budgettest.NewProvider(w.T, budgettest.InMemory())
				rt := llm.NewFallback([]llm.Candidate{{Name: "a", URL: w.p.URL, Base: w.p.Transport()}, {Name: "b", URL: b.URL, Base: b.Transport(), Meets: "the same elsewhere"}})
				req, _ := http.NewRequestWithContext(w.ctx, http.MethodPost, w.p.URL+forms["completions"], strings.NewReader(`{"model":"big"}`))
				start := time.Now()
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !strings.Contains(string(got), "w3") || time.Since(start) > 5010*ms {
					t.Errorf("%q, %v after %v", got, err, time.Since(start))
				}
				budgettest.Decided(t, w.r, "b", budgetattr.DecisionFallback)
				budgettest.Quiet(t, w.p, 0)
			})
		})
	}
}

// However an answer is cut, and with every kind of line end, its tokens are the same.
func TestIssueLineEndsAndCuts(t *testing.T) {
	in(t, budget.Policy{Default: time.Minute}, func(w *world) {
		lines := ": hello\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"grüße 世界\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("ü", 1<<20) +
			"\"},\"finish_reason\":\"stop\"}],\"usage\":{\"completion_tokens\":2}}\n\ndata: [DONE]\n\n"
		for _, end := range []string{"\n", "\r\n", "\r"} {
			text := strings.ReplaceAll(lines, "\n", end)
			resp, err := w.ask(llm.NewTransport(canned{body: func() io.Reader { return iotest.HalfReader(strings.NewReader(text)) }}, llm.WithStage("model")), forms["completions"])
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(got) != text {
				t.Errorf("%q: %v", end, err)
			}
			if hop := w.r.Last(t, "model"); hop.Int("gen_ai.usage.output_tokens") != 2 {
				t.Errorf("%q: %v", end, hop.Attributes())
			}
		}
	})
}

// A client that leaves while a candidate is waited for gets no further candidate, and the provider sees it.
func TestIssueClientLeavesBeforeTheFirstTokenOfAFallback(t *testing.T) {
	for name, policy := range map[string]llm.CancelPolicy{"abort": llm.Abort(), "drain": llm.DrainFor(time.Second)} {
		t.Run(name, func(t *testing.T) {
			in(t, budget.Policy{Default: time.Minute}, func(w *world) {
				w.p.Answer(budgettest.Headers(), budgettest.Freeze())
				time.AfterFunc(500*ms, w.leave)
				_, err := w.ask(llm.NewFallback([]llm.Candidate{{Name: "a", URL: w.p.URL, Base: w.p.Transport()},
					{Name: "b", URL: w.p.URL, Base: w.p.Transport(), Meets: "x"}}, llm.WithCancel(policy)), forms["messages"])
				var e *llm.FallbackError
				if !errors.As(err, &e) || e.Reason != llm.StopCancelled || w.p.Stats().Requests != 1 {
					t.Errorf("%v, %d requests", err, w.p.Stats().Requests)
				}
				budgettest.Quiet(t, w.p, 0)
			})
		})
	}
}

// Clients stop reading at the end mark. The provider, which is about to end its answer, is not to be taken for one that was
// cut, and the connection is used again.
func TestIssueClosingAfterTheEndMarkCutsNobody(t *testing.T) {
	in(t, budget.Policy{Default: time.Hour}, func(w *world) {
		w.p.Answer(budgettest.Tokens(3, 0))
		rt := llm.NewTransport(w.p.Transport(), llm.WithStage("chat"), llm.WithHTTP(budgethttp.WithStage(func(*http.Request) string { return "wire" })))
		for range 2 {
			resp, err := w.ask(rt, forms["completions"])
			if err != nil {
				w.Fatal(err)
			}
			for lines := bufio.NewScanner(resp.Body); lines.Scan() && lines.Text() != "data: [DONE]"; {
			}
			resp.Body.Close()
		}
		for _, stage := range []string{"chat", "wire"} {
			for _, s := range w.r.Stage(stage) {
				if cause := s.Text(budgetattr.CancelCauseKey); cause != "" {
					w.Errorf("%s was cancelled by %s", stage, cause)
				}
			}
		}
		if n := w.p.Stats().Dials; n != 1 {
			w.Errorf("%d connections for two answers, one after the other", n)
		}
	})
}

// held answers with a stream that stays open after its text and knows nothing of the request's context.
type held string

func (h held) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := says("").RoundTrip(req)
	r, w := io.Pipe()
	go func() { _, _ = io.WriteString(w, string(h)) }()
	resp.Body = r
	return resp, err
}

// A provider that holds its stream open after the end mark, or after an error, and that only a close ends: the client's
// close did not return, the next candidate waited, and what was waited for counted as the answer's time.
func TestIssueStreamHeldOpenAfterItsEnd(t *testing.T) {
	const whole = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"
	in(t, budget.Policy{Default: time.Hour}, func(w *world) {
		resp, err := w.ask(llm.NewTransport(held(whole), llm.WithStage("model")), forms["completions"])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, len(whole))); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		resp.Body.Close()
		if d := time.Since(began); d > 50*ms {
			t.Errorf("closed after %v", d)
		}
		if d, ok := w.r.Last(t, "model").Seconds(budgetattr.CompleteTimeKey); !ok || d != 0 {
			t.Errorf("complete after %v, %v", d, ok)
		}

		began = time.Now()
		resp, err = w.ask(llm.NewFallback([]llm.Candidate{
			{Name: "a", URL: w.p.URL, Base: held("event: error\ndata: {\"type\":\"error\"}\n\n")},
			{Name: "b", URL: w.p.URL, Base: says(whole), Meets: "the same elsewhere"},
		}), forms["completions"])
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("the next candidate was asked after %v", d)
		}
		_, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
	})
}

// A drain ended with the request's context alone: one that only a close ends was drained for ever.
func TestIssueDrainOfAStreamThatOnlyACloseEnds(t *testing.T) {
	for name, policy := range map[string]llm.CancelPolicy{"for a time": llm.DrainFor(time.Second), "to the end": llm.DrainFully()} {
		t.Run(name, func(t *testing.T) {
			in(t, budget.Policy{Default: time.Hour}, func(w *world) {
				const part = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
				resp, err := w.ask(llm.NewTransport(held(part), llm.WithStage("model"), llm.WithIdle(time.Second), llm.WithCancel(policy)), forms["completions"])
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(resp.Body, make([]byte, len(part))); err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				time.Sleep(2 * time.Second)
				w.r.Last(t, "model")
			})
		})
	}
}
