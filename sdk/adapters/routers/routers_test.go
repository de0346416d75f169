// Package routers_test shows the middleware under routers other than net/http's. What is between the snippet marks stands
// in docs/migrate.md.
package routers_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

var policy = budget.Policy{Default: 2 * time.Second, Max: 8 * time.Second}

func withGin(opts ...budgethttp.Option) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	// snippet gin
	router := gin.New()
	router.Use(func(c *gin.Context) {
		if entry := budget.FromContext(c.Request.Context()); entry != nil {
			entry.SetRoute(c.FullPath())
		}
	})
	router.GET("/items/:id", func(c *gin.Context) {
		left, _ := budget.Remaining(c.Request.Context())
		c.String(http.StatusOK, "%v left", left > 0)
	})
	handler := budgethttp.NewMiddleware(policy, opts...)(router)
	// end snippet
	return handler
}

func withChi(opts ...budgethttp.Option) http.Handler {
	// snippet chi
	router := chi.NewRouter()
	router.Use(budgethttp.NewMiddleware(policy, append(opts, budgethttp.WithRoute(func(r *http.Request) string {
		return chi.RouteContext(r.Context()).RoutePattern()
	}))...))
	router.Get("/items/{id}", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := budget.Remaining(r.Context()); ok {
			_, _ = w.Write([]byte("true left"))
		}
	})
	// end snippet
	return router
}

func TestRouters(t *testing.T) {
	for route, build := range map[string]func(...budgethttp.Option) http.Handler{"/items/:id": withGin, "/items/{id}": withChi} {
		sr := tracetest.NewSpanRecorder()
		h := build(budgethttp.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(sr))))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/items/7", nil))
		if w.Code != http.StatusOK || w.Body.String() != "true left" {
			t.Errorf("%s: %d %q", route, w.Code, w.Body)
		}
		if s := sr.Ended(); len(s) != 1 || s[0].Name() != "GET "+route {
			t.Errorf("%s: spans %v", route, s)
		}
	}
}

// What the guide shows is what is tested here.
func TestGuideShowsTheseSnippets(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("routers_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gin", "chi"} {
		_, rest, _ := strings.Cut(string(source), "\t// snippet "+name+"\n")
		code, _, ok := strings.Cut(rest, "\t// end snippet\n")
		if !ok {
			t.Fatalf("no snippet %s", name)
		}
		var b strings.Builder
		for line := range strings.Lines(code) {
			b.WriteString(strings.TrimPrefix(line, "\t"))
		}
		if !strings.Contains(string(guide), "```go\n"+b.String()+"```") {
			t.Errorf("docs/migrate.md does not show the snippet %s:\n%s", name, b.String())
		}
	}
}
