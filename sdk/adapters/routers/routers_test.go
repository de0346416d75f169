// Package routers_test shows the middleware under routers other than net/http's. What is between the snippet marks stands
// in docs/migrate.md.
package routers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
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

// Whatever Go the guide shows is compiled and run in a test, and whatever it names exists.
func TestGuideShowsWhatIsTested(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, file := range []string{"routers_test.go", "../../budgetgrpc/guide_test.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?s)\t// snippet \w+\n(.*?)\t// end snippet\n`).FindAllStringSubmatch(string(source), -1) {
			tested[strings.TrimPrefix(strings.ReplaceAll("\n"+m[1], "\n\t", "\n"), "\n")] = true
		}
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	for _, b := range blocks {
		if !tested[b[1]] {
			t.Errorf("no test has this snippet:\n%s", b[1])
		}
	}
	if len(blocks) != len(tested) {
		t.Errorf("%d snippets in the guide, %d in tests", len(blocks), len(tested))
	}
	for _, m := range regexp.MustCompile(`\b(budget\w*)\.([A-Z]\w*)`).FindAllStringSubmatch(string(guide), -1) {
		if !exported(t, m[1])[m[2]] {
			t.Errorf("the guide names %s, which does not exist", m[0])
		}
	}
}

// exported returns what a package of the sdk declares for others, without methods.
func exported(t *testing.T, name string) map[string]bool {
	t.Helper()
	dir := "../../" + name
	if name == "budgetpgx" {
		dir = "../" + name
	}
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("package %s: %v", name, err)
	}
	names := map[string]bool{}
	for _, f := range files {
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names[d.Name.Name] = names[d.Name.Name] || d.Recv == nil
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names[spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							names[n.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}
