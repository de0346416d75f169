package budgethttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

// Each test here is a fault reported in public against another project, turned into what is right.

// envoy 13196, kubernetes 117313: retries send the time the first attempt had. Each sends what is left.
func TestEachAttemptSendsWhatIsLeft(t *testing.T) {
	var mu sync.Mutex
	var sent, attempts []int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ms, _ := strconv.Atoi(r.Header.Get(budgetattr.HeaderTimeout))
		n, _ := strconv.Atoi(r.Header.Get(budgetattr.HeaderAttempt))
		mu.Lock()
		sent, attempts = append(sent, ms), append(attempts, n)
		mu.Unlock()
		<-r.Context().Done()
	}))
	defer s.Close()
	client := &http.Client{Transport: budgethttp.NewTransport(&http.Transport{})}
	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: 1250 * time.Millisecond}).Start(t.Context(), budget.Arrival{Attempt: 2})
	counter := budget.NewAttempts(ctx, 0)
	for range 3 {
		try, _, _ := counter.Begin(ctx, "step")
		hopCtx, hop, err := budget.StartHop(try, "try", budget.WithCap(500*time.Millisecond))
		if err != nil {
			break
		}
		req, _ := http.NewRequestWithContext(hopCtx, "GET", s.URL, nil)
		_, err = client.Do(req)
		hop.End(err)
	}
	entry.End(nil)
	mu.Lock()
	defer mu.Unlock()
	if len(sent) != 3 || sent[0] > 500 || sent[1] > 500 || sent[2] > 250 || attempts[0] != 2 || attempts[2] != 4 {
		t.Errorf("sent %v, attempts %v", sent, attempts)
	}
}

// openai-node and others retry silently inside. Their requests are seen, counted and refused beyond the allowance.
func TestT27_SilentRetriesOfAClientLibrary(t *testing.T) {
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer s.Close()
	r := newRecorder()
	client := &http.Client{Transport: budgethttp.NewTransport(&http.Transport{})}
	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: 10 * time.Second}, budget.WithTracerProvider(r.provider)).Start(t.Context(), budget.Arrival{})
	counter := budget.NewAttempts(ctx, 3)
	try, _, _ := counter.Begin(ctx, "step")
	var err error
	for range 6 { // the library
		req, _ := http.NewRequestWithContext(try, "GET", s.URL, nil)
		var resp *http.Response
		if resp, err = client.Do(req); err != nil {
			break
		}
		resp.Body.Close()
	}
	if !errors.Is(err, budget.ErrAttempts) || calls != 3 || counter.Total() != 3 {
		t.Errorf("err %v, %d calls, %d counted", err, calls, counter.Total())
	}
	entry.End(err)
	layers := map[any]int{}
	for _, s := range r.Ended() {
		if l := attrs(s)[budgetattr.AttemptLayerKey]; l != nil {
			layers[l]++
		}
	}
	if layers["step"] != 1 || layers[budget.LayerSDK] != 2 {
		t.Errorf("layers %v", layers)
	}
}

// failsafe-go 123: a context that is cancelled before the body was read, and shows no deadline inside.
func TestDeadlineIsVisibleInsideAndLivesUntilTheBodyEnds(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
	}))
	defer s.Close()
	var inner context.Context
	client := &http.Client{Transport: budgethttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		inner = r.Context()
		return http.DefaultTransport.RoundTrip(r)
	}), budgethttp.WithHop(budget.WithCap(5*time.Second)))}
	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: 10 * time.Second}).Start(t.Context(), budget.Arrival{})
	defer entry.End(nil)
	req, _ := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := inner.Deadline(); !ok || time.Until(d) > 5*time.Second || inner.Err() != nil {
		t.Errorf("deadline %v %v, %v", d, ok, inner.Err())
	}
	if b, err := io.ReadAll(resp.Body); err != nil || len(b) != 1<<20 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	resp.Body.Close()
	if inner.Err() == nil {
		t.Error("the context outlives the body")
	}
}

// echo 1804, gin-contrib/timeout 40: at the boundary two answers, or a race for one. Exactly one is whole.
func TestExactlyOneAnswerAtTheBoundary(t *testing.T) {
	s := serve(t, newRecorder(), budget.Policy{Default: 20 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		deadline, _ := r.Context().Deadline()
		time.Sleep(time.Until(deadline))
		w.Header().Set("Content-Type", "text/answer")
		w.Header().Set("X-Mine", "yes")
		_, _ = io.WriteString(w, "the answer")
	})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range scale(25, 1000) {
				resp, err := http.Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				mine := resp.StatusCode == http.StatusOK && string(body) == "the answer" && resp.Header.Get("X-Mine") == "yes"
				ours := resp.StatusCode == http.StatusGatewayTimeout && string(body) == "Gateway Timeout\n" && resp.Header.Get("X-Mine") == ""
				if err != nil || !mine && !ours {
					t.Errorf("%d %q %v %v", resp.StatusCode, body, resp.Header, err)
				}
			}
		})
	}
	wg.Wait()
}

// TokenHub 106, nicolerenee/infra 2078: a limit for the whole request kills a stream that is alive. The budget is about the
// first output; then the stream goes on.
func TestStreamIsNotCutOnceItsFirstOutputIsOut(t *testing.T) {
	r := newRecorder()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 10 {
			time.Sleep(50 * time.Millisecond)
			_, _ = io.WriteString(w, "data: token\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer model.Close()
	client := &http.Client{Transport: budgethttp.NewTransport(&http.Transport{}, budgethttp.WithHop(budget.WithStream()))}
	s := serve(t, r, budget.Policy{Default: 200 * time.Millisecond, Target: budgetattr.TargetFirstOutput}, func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), "GET", model.URL, nil)
		resp, err := client.Do(req)
		if err != nil {
			w.WriteHeader(budgethttp.Status(err))
			return
		}
		defer resp.Body.Close()
		buf := make([]byte, 64)
		for {
			n, err := resp.Body.Read(buf)
			_, _ = w.Write(buf[:n])
			_ = http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
		}
	})
	if resp, body := get(t, s.URL); resp.StatusCode != http.StatusOK || strings.Count(body, "token") != 10 {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	a := attrs(r.wait(t, "GET"))
	var entry map[string]any
	for _, s := range r.Ended() {
		if m := attrs(s); m[budgetattr.OutcomeKey] != nil {
			entry = m
		}
	}
	if entry[budgetattr.OutcomeKey] != "done" || entry[budgetattr.MarginAtKey] != "first_output" || entry[budgetattr.LateKey] != false {
		t.Errorf("entry %v, hop %v", entry, a)
	}
}

// otel-go-contrib 9375: a client that left is booked as the server's failure.
func TestClientThatLeftIsNoFailure(t *testing.T) {
	r := newRecorder()
	entered := make(chan struct{})
	s := serve(t, r, budget.Policy{Default: 10 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		w.WriteHeader(http.StatusInternalServerError) // what frameworks do with the error
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-entered; leave() }()
	req, _ := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
	span := r.wait(t, "GET")
	if a := attrs(span); a[budgetattr.OutcomeKey] != "cancelled" || a[budgetattr.CancelCauseKey] != "client_disconnect" || span.Status().Code.String() == "Error" {
		t.Errorf("%v %v", span.Status(), a)
	}
}

// A redirect is no retry.
func TestRedirectsAreNoAttempts(t *testing.T) {
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.Path+r.Header.Get(budgetattr.HeaderAttempt))
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "/b", http.StatusFound)
		}
	}))
	defer s.Close()
	client := &http.Client{Transport: budgethttp.NewTransport(&http.Transport{})}
	counter := budget.NewAttempts(t.Context(), 1)
	try, _, _ := counter.Begin(t.Context(), "step")
	req, _ := http.NewRequestWithContext(try, "GET", s.URL+"/a", nil)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if strings.Join(seen, " ") != "/a1 /b1" || counter.Total() != 1 {
		t.Errorf("%v, %d counted", seen, counter.Total())
	}
}
