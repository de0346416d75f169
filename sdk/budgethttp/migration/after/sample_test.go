// Package sample_test is the same system under one budget for each request.
package sample_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

// Services behind the edge take what is left for them.
var inside = budgethttp.NewMiddleware(budget.Policy{Default: 8 * time.Second, Max: 8 * time.Second, Trust: budget.TrustInternal})

// The model answers slowly.
func modelService() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /generate", func(w http.ResponseWriter, r *http.Request) {
		question, _ := io.ReadAll(r.Body)
		select {
		case <-time.After(20 * time.Millisecond):
			fmt.Fprintf(w, "answer to %s", question)
		case <-r.Context().Done():
		}
	})
	return inside(mux)
}

// The retrieval service finds documents.
func retrievalService() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Millisecond)
		_ = json.NewEncoder(w).Encode([]string{"one", "two"})
	})
	return inside(mux)
}

type edge struct {
	retrieval, model string
	client           *http.Client
}

// The edge asks both and answers.
func edgeService(retrieval, model string) http.Handler {
	e := &edge{
		retrieval: retrieval, model: model,
		client: &http.Client{Transport: budgethttp.NewTransport(nil)},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ask", e.ask)
	return budgethttp.NewMiddleware(budget.Policy{Default: 8 * time.Second, Max: 15 * time.Second, Reserve: 100 * time.Millisecond})(mux)
}

func (e *edge) ask(w http.ResponseWriter, r *http.Request) {
	documents := e.documents(r.Context())
	req, err := http.NewRequestWithContext(r.Context(), "POST", e.model+"/generate", strings.NewReader(r.URL.Query().Get("q")))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	resp, err := e.client.Do(req)
	if err != nil {
		http.Error(w, err.Error(), budgethttp.Status(err))
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		http.Error(w, "the model answered "+resp.Status, resp.StatusCode)
		return
	}
	answer, _ := io.ReadAll(resp.Body)
	fmt.Fprintf(w, "%s, from %d documents", answer, len(documents))
}

// documents may be missing; the answer is poorer without them.
func (e *edge) documents(ctx context.Context) (documents []string) {
	ctx, hop, err := budget.StartHop(ctx, "documents", budget.WithCap(2*time.Second), budget.WithReserve(5*time.Second), budget.WithOptional())
	if err != nil {
		return nil
	}
	defer func() { hop.End(err) }()
	req, err := http.NewRequestWithContext(ctx, "GET", e.retrieval+"/search", nil)
	if err != nil {
		return nil
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	_ = json.NewDecoder(resp.Body).Decode(&documents)
	return documents
}

func TestSample(t *testing.T) {
	model, retrieval := httptest.NewServer(modelService()), httptest.NewServer(retrievalService())
	defer model.Close()
	defer retrieval.Close()
	front := httptest.NewServer(edgeService(retrieval.URL, model.URL))
	defer front.Close()
	resp, err := http.Get(front.URL + "/ask?q=life")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "answer to life, from 2 documents" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
}

// Budgets for three services cost fewer than forty changed lines.
func TestMigrationIsSmall(t *testing.T) {
	before, after := source(t, "../before/sample_test.go"), source(t, "sample_test.go")
	seen := map[string]int{}
	for _, l := range before {
		seen[l]++
	}
	changed := 0
	for _, l := range after {
		if seen[l]--; seen[l] < 0 {
			changed++
		}
	}
	if changed == 0 || changed >= 40 {
		t.Errorf("%d lines added or changed", changed)
	}
	guide, err := os.ReadFile("../../../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprintf("%d lines added or changed", changed); !strings.Contains(string(guide), said) {
		t.Errorf("%s, which docs/migrate.md does not say", said)
	}
}

// source returns the lines of the sample, without this measurement.
func source(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	code, _, _ := strings.Cut(string(text), "\n// Budgets for three services cost")
	return strings.Split(code, "\n")
}
