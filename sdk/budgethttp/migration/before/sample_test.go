// Package sample_test is a small system of three services as one finds them: a timeout for each call, each chosen alone.
package sample_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

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
	return http.TimeoutHandler(mux, 30*time.Second, "model timeout")
}

// The retrieval service finds documents.
func retrievalService() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Millisecond)
		_ = json.NewEncoder(w).Encode([]string{"one", "two"})
	})
	return http.TimeoutHandler(mux, 10*time.Second, "retrieval timeout")
}

type edge struct {
	retrieval, model string
	search           *http.Client
	generate         *http.Client
}

// The edge asks both and answers.
func edgeService(retrieval, model string) http.Handler {
	e := &edge{
		retrieval: retrieval, model: model,
		search:   &http.Client{Timeout: 3 * time.Second},
		generate: &http.Client{Timeout: 20 * time.Second},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ask", e.ask)
	return http.TimeoutHandler(mux, 15*time.Second, "edge timeout")
}

func (e *edge) ask(w http.ResponseWriter, r *http.Request) {
	documents := e.documents(r.Context())
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", e.model+"/generate", strings.NewReader(r.URL.Query().Get("q")))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	resp, err := e.generate.Do(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
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
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", e.retrieval+"/search", nil)
	if err != nil {
		return nil
	}
	resp, err := e.search.Do(req)
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
