package budgethttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

// At the edge: grant, clamp, record, cancel when the client leaves.
func ExampleNewMiddleware() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		left, _ := budget.Remaining(r.Context())
		fmt.Fprintln(w, "more than two seconds:", left > 2*time.Second)
	})
	server := httptest.NewServer(budgethttp.NewMiddleware(budget.Policy{Default: 2 * time.Second, Max: 8 * time.Second})(mux))
	defer server.Close()

	for _, asked := range []string{"", "5000", "3600000", "0"} {
		req, _ := http.NewRequest("GET", server.URL+"/hello", nil)
		if asked != "" {
			req.Header.Set(budgetattr.HeaderTimeout, asked)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Printf("%q: %d %s", asked, resp.StatusCode, body)
	}
	// Output:
	// "": 200 more than two seconds: false
	// "5000": 200 more than two seconds: true
	// "3600000": 200 more than two seconds: true
	// "0": 504 Gateway Timeout
}

// Anywhere below: plain contexts. The transport checks, shrinks, carries, and measures phases.
func ExampleNewTransport() {
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	client := &http.Client{Transport: budgethttp.NewTransport(nil, budgethttp.WithPeer("slow"))}

	front := budgethttp.NewMiddleware(budget.Policy{Default: 100 * time.Millisecond, Reserve: 50 * time.Millisecond})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			req, _ := http.NewRequestWithContext(r.Context(), "GET", slow.URL, nil)
			_, err := client.Do(req)
			if e, ok := errors.AsType[*budget.ExhaustedError](err); ok {
				fmt.Fprintln(w, "time ran out in", e.Phase, "and there is time to say so:", e.Remaining > 0)
			}
		}))
	w := httptest.NewRecorder()
	front.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Print(w.Body)
	// Output: time ran out in first_byte and there is time to say so: true
}
