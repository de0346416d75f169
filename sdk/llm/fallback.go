package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/step"
)

// Candidate is one provider of a [Fallback]. All of them must speak the form that the client speaks; another form is a
// fallback of package step.
type Candidate struct {
	// Name is the stage of its calls.
	Name string
	// URL is its base address, as a client would be configured with it. That of the first candidate is the one that the
	// client has.
	URL string
	// Header replaces headers of the request, for example Authorization.
	Header http.Header
	// Model replaces the model that the client asks for; empty keeps it.
	Model string
	// Meets says why the candidate meets the feature's needs. All but the first must say it: no model is exchanged
	// silently.
	Meets string
	// Slice is the time to its first token. Zero means an equal share of what the budget leaves.
	Slice time.Duration
	// Base is the transport to it; nil means http.DefaultTransport.
	Base http.RoundTripper
}

// Fallback is an http.RoundTripper that takes the next candidate as long as nothing of an answer was delivered. One
// deadline covers them all: each has a slice of it until its first token, and the last one all that is left. It is safe for
// concurrent use.
type Fallback struct {
	candidates []candidate
	cfg        config
}

type candidate struct {
	Candidate
	url       *url.URL
	transport *Transport
}

// NewFallback returns a fallback over the candidates in their order. It panics if there is none, or if one does not say
// where it is or how it meets the needs: they are declared at start-up.
func NewFallback(candidates []Candidate, opts ...Option) *Fallback {
	f := &Fallback{cfg: newConfig(opts)}
	if len(candidates) == 0 {
		panic("a fallback needs a candidate")
	}
	for i, c := range candidates {
		u, err := url.Parse(c.URL)
		switch {
		case err != nil || u.Host == "":
			panic(fmt.Sprintf("candidate %q: %q is no address", c.Name, c.URL))
		case i > 0 && c.Meets == "":
			panic(fmt.Sprintf("candidate %q does not declare how it meets the feature's needs", c.Name))
		}
		t := NewTransport(c.Base, opts...)
		if c.Name != "" {
			t.cfg.stage = c.Name
		}
		f.candidates = append(f.candidates, candidate{Candidate: c, url: u, transport: t})
	}
	return f
}

// RoundTrip implements http.RoundTripper. If no candidate answers, the error is a [*FallbackError] that tells why each did
// not and what ended the search.
func (f *Fallback) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("body of the request: %w", err)
		}
	}
	failed := &FallbackError{Reason: StopCandidates}
	for i := range f.candidates {
		if req.Context().Err() != nil {
			failed.Reason = StopCancelled
			break
		}
		c, began := &f.candidates[i], time.Now()
		resp, err := f.try(req, body, i)
		if err == nil {
			if i > 0 {
				if en := budget.FromContext(req.Context()); en != nil {
					en.Degrade(f.candidates[0].Name)
				}
			}
			return resp, nil
		}
		failed.Tried = append(failed.Tried, Failure{Name: c.Name, Elapsed: time.Since(began), Err: err})
		if e, ok := errors.AsType[*budget.ExhaustedError](err); ok && e.Refused {
			failed.Reason = StopBudget
			break
		}
	}
	if req.Context().Err() != nil {
		failed.Reason = StopCancelled
		if cause, ok := budget.CauseOf(req.Context()); ok && errors.Is(budget.CauseError(cause), budget.ErrExhausted) {
			failed.Reason = StopBudget
		}
	}
	return nil, failed
}

// try asks one candidate and returns its answer once something of it is there.
func (f *Fallback) try(req *http.Request, body []byte, i int) (*http.Response, error) {
	c := &f.candidates[i]
	out, err := f.request(req, body, c)
	if err != nil {
		return nil, err
	}
	last := i == len(f.candidates)-1
	t := *c.transport
	t.cfg.first = f.slice(req, i)
	if whole := !peek(out).Stream; whole && !last && (c.Slice > 0 || t.cfg.first != f.cfg.first) {
		t.cfg.hop = append(slices.Clone(t.cfg.hop), budget.WithCap(t.cfg.first))
	}
	resp, call, err := t.roundTrip(out)
	if err != nil {
		return nil, err
	}
	if i > 0 {
		call.hop.Decide(budgetattr.DecisionFallback)
	}
	if err := step.CheckStatus(resp); err != nil {
		if last || callersFault(resp.StatusCode) {
			return resp, nil
		}
		resp.Body.Close()
		return nil, err
	}
	return call.await(resp, last)
}

// slice is the time to the first token of a candidate. While there is budget the last one is not cut.
func (f *Fallback) slice(req *http.Request, i int) time.Duration {
	c := &f.candidates[i]
	allowed, _ := budget.Fits(req.Context(), 0, f.cfg.hop...)
	rest := len(f.candidates) - i
	switch {
	case !allowed.Bounded && c.Slice > 0:
		return c.Slice
	case !allowed.Bounded:
		return f.cfg.first
	case rest == 1:
		return 0
	case c.Slice > 0:
		return c.Slice
	}
	return max(allowed.Amount/time.Duration(rest), 1)
}

// callersFault reports whether any candidate would answer the same.
func callersFault(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// request returns the request as the candidate wants it.
func (f *Fallback) request(req *http.Request, body []byte, c *candidate) (*http.Request, error) {
	out := req.Clone(req.Context())
	from := strings.TrimSuffix(f.candidates[0].url.Path, "/")
	out.URL.Scheme, out.URL.Host, out.Host = c.url.Scheme, c.url.Host, c.url.Host
	out.URL.Path = strings.TrimSuffix(c.url.Path, "/") + "/" + strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, from), "/")
	out.URL.RawPath = ""
	for k, v := range c.Header {
		out.Header[http.CanonicalHeaderKey(k)] = v
	}
	if c.Model != "" {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(body, &fields); err != nil {
			return nil, fmt.Errorf("model of candidate %s: %w", c.Name, err)
		}
		fields["model"], _ = json.Marshal(c.Model)
		body, _ = json.Marshal(fields)
	}
	out.ContentLength = int64(len(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Body, _ = out.GetBody()
	return out, nil
}

// await reads until the first token is there, or the whole answer of who asked for no stream, and gives back an answer
// that begins with what was read. After the last candidate nothing is better than what came.
func (c *call) await(resp *http.Response, last bool) (*http.Response, error) {
	if c.reader == nil && last {
		return resp, nil
	}
	var head bytes.Buffer
	buffer := make([]byte, 4<<10)
	for {
		n, err := resp.Body.Read(buffer)
		head.Write(buffer[:n])
		c.mu.Lock()
		t := &c.tally
		delivered := t.tokens > 0 || c.reader == nil && err == io.EOF
		failed := !delivered && (t.failed || err == io.EOF && !t.complete)
		complete, reported := t.complete, t.failed
		c.mu.Unlock()
		switch {
		case failed && !last:
			resp.Body.Close()
			if reported {
				return nil, ErrProvider
			}
			return nil, io.ErrUnexpectedEOF
		case delivered || complete || err == io.EOF:
			resp.Body = &begunBody{ReadCloser: resp.Body, head: &head, err: err}
			return resp, nil
		case err != nil:
			resp.Body.Close()
			return nil, err
		}
	}
}

// begunBody is a body of which a part was read.
type begunBody struct {
	io.ReadCloser
	head *bytes.Buffer
	err  error // that followed the head
}

func (b *begunBody) Read(p []byte) (int, error) {
	if b.head.Len() > 0 {
		return b.head.Read(p)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}
