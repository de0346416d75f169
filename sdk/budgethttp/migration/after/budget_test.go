package sample_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// recorded sees the spans of the process; what was made before, like inside, follows the first provider that is installed.
var recorded = sync.OnceValue(func() *tracetest.SpanRecorder {
	r := tracetest.NewSpanRecorder()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r)))
	return r
})

// What those lines bring: each service receives no more than is left, and a service that hangs is cut at the budget of the
// request, not at a timeout of its own call, and told so.
func TestBudgetsArriveAndCut(t *testing.T) {
	recorder := recorded()
	recorder.Reset()
	model, retrieval := httptest.NewServer(modelService()), httptest.NewServer(retrievalService())
	defer retrieval.Close()
	front := httptest.NewServer(edgeService(retrieval.URL, model.URL))
	if status, _ := ask(t, front.URL, ""); status != http.StatusOK {
		t.Errorf("%d", status)
	}
	front.Close()
	model.Close()
	edge, search, generate := value(t, recorder, "GET /ask"), value(t, recorder, "GET /search"), value(t, recorder, "POST /generate")
	if edge != 8 || search <= 0 || search > 2 || generate <= 0 || generate >= 7.9 {
		t.Errorf("received: %v at the edge, %v by retrieval, %v by the model; want 8, at most 2, less than 7.9", edge, search, generate)
	}

	recorder.Reset()
	left, told := make(chan string, 1), make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		left <- r.Header.Get(budgetattr.HeaderTimeout)
		<-r.Context().Done()
		close(told)
	}))
	defer hanging.Close()
	front = httptest.NewServer(edgeService(retrieval.URL, hanging.URL))
	status, took := ask(t, front.URL, "600")
	if status != http.StatusGatewayTimeout || took < 400*time.Millisecond || took > 8*time.Second {
		t.Errorf("%d after %v, want 504 after about half a second", status, took)
	}
	<-told
	front.Close()
	if ms, err := strconv.Atoi(<-left); err != nil || ms <= 0 || ms > 500 {
		t.Errorf("the model was told that %d ms are left (%v)", ms, err)
	}
	if got := value(t, recorder, "GET /ask"); got != .6 {
		t.Errorf("the edge received %v", got)
	}
	phases := map[string]bool{}
	for _, s := range recorder.Ended() {
		for _, kv := range s.Attributes() {
			if s.SpanKind() == trace.SpanKindClient && string(kv.Key) == budgetattr.TimeoutPhaseKey {
				phases[kv.Value.AsString()] = true
			}
		}
	}
	if !phases[string(budgetattr.PhaseFirstByte)] {
		t.Errorf("the call timed out in phases %v", phases)
	}
}

// ask sends a question with what is left for it in milliseconds.
func ask(t *testing.T, url, left string) (status int, took time.Duration) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/ask?q=life", nil)
	if err != nil {
		t.Fatal(err)
	}
	if left != "" {
		req.Header.Set(budgetattr.HeaderTimeout, left)
	}
	start := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, time.Since(start)
}

// value returns the budget that the entry of a route received, or −1.
func value(t *testing.T, recorder *tracetest.SpanRecorder, name string) float64 {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		for _, s := range recorder.Ended() {
			for _, kv := range s.Attributes() {
				if s.Name() == name && string(kv.Key) == budgetattr.BudgetReceivedKey {
					return kv.Value.AsFloat64()
				}
			}
		}
	}
	return -1
}
