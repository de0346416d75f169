package llm_test

import (
	"net/http"
	"time"

	"github.com/laxity-dev/laxity/sdk/llm"
)

// The official clients take an http.Client: option.WithHTTPClient(client).
func ExampleNewTransport() {
	client := &http.Client{Transport: llm.NewTransport(nil,
		llm.WithFirstToken(10*time.Second),
		llm.WithProgress(30*time.Second), // heartbeats are no progress
		llm.WithCancel(llm.DrainFor(200*time.Millisecond)),
	)}
	_ = client
	// Output:
}

func ExampleNewFallback() {
	client := &http.Client{Transport: llm.NewFallback([]llm.Candidate{
		{Name: "primary", URL: "https://api.openai.com/v1"},
		{Name: "secondary", URL: "https://models.example/v1", Model: "small", Header: http.Header{"Authorization": {"Bearer other-key"}},
			Meets: "short answers are allowed by the product"},
	}, llm.WithProgress(30*time.Second))}
	_ = client
	// Output:
}
