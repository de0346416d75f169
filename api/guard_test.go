package api

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// unopened is a store that has no engine behind it: opening does not connect.
func unopened(t *testing.T) *storage.DB {
	t.Helper()
	db, err := storage.Open(storage.Config{DSN: "http://127.0.0.1:1/laxity"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func bare(t *testing.T, change func(*Config)) *Server {
	t.Helper()
	return newServer(t, &storagetest.Store{}, func(c *Config) {
		c.Store = unopened(t)
		if change != nil {
			change(c)
		}
	})
}

// ask sends one request with headers; the header Host names the host.
func ask(t *testing.T, server *Server, method, target string, headers ...string) *http.Response {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	request.Host = "127.0.0.1:8484"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
			continue
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, request)
	return recorder.Result()
}

func problemOf(t *testing.T, response *http.Response) problem {
	t.Helper()
	var p problem
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil {
		t.Fatalf("%s: %v", response.Status, err)
	}
	if got := response.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q", got)
	}
	if p.Status != response.StatusCode || p.Advice == "" || p.Title == "" || !strings.HasPrefix(p.Type, "urn:laxity:problem:") {
		t.Errorf("incomplete problem: %+v", p)
	}
	return p
}

func TestForeignPagesAreRefused(t *testing.T) {
	server := bare(t, func(c *Config) { c.AllowedHosts = []string{"laxity.internal"} })
	for _, c := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"address", nil, http.StatusOK},
		{"IPv6 address", []string{"Host", "[::1]:8484"}, http.StatusOK},
		{"localhost", []string{"Host", "localhost:8484"}, http.StatusOK},
		{"allowed name", []string{"Host", "Laxity.Internal"}, http.StatusOK},
		{"own origin", []string{"Host", "localhost:8484", "Origin", "http://localhost:8484"}, http.StatusOK},
		{"rebound name", []string{"Host", "evil.example:8484"}, http.StatusForbidden},
		{"name that begins well", []string{"Host", "127.0.0.1.evil.example"}, http.StatusForbidden},
		{"foreign origin", []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"opaque origin", []string{"Origin", "null"}, http.StatusForbidden},
	} {
		for _, target := range []string{"/", "/api/v1/openapi.yaml"} {
			response := ask(t, server, http.MethodGet, target, c.headers...)
			if response.StatusCode != c.want {
				t.Errorf("%s %s: %d, want %d", c.name, target, response.StatusCode, c.want)
			}
			if c.want == http.StatusForbidden {
				problemOf(t, response)
			}
		}
	}
}

func TestTokenIsRequired(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	server := bare(t, func(c *Config) { c.Token = token })
	for _, c := range []struct {
		header string
		want   int
	}{
		{"", http.StatusUnauthorized}, {"Bearer wrong", http.StatusUnauthorized}, {"Basic " + token, http.StatusUnauthorized},
		{"Bearer " + token[1:], http.StatusUnauthorized}, {"Bearer ", http.StatusUnauthorized},
		{"Bearer " + token, http.StatusOK}, {"bearer " + token, http.StatusOK},
	} {
		response := ask(t, server, http.MethodGet, "/api/v1/openapi.yaml", "Host", "laxity.example", "Authorization", c.header)
		if response.StatusCode != c.want {
			t.Errorf("%q: %d, want %d", c.header, response.StatusCode, c.want)
		}
		if c.want == http.StatusUnauthorized {
			problemOf(t, response)
			if response.Header.Get("WWW-Authenticate") == "" {
				t.Error("no WWW-Authenticate")
			}
		}
	}
	if response := ask(t, server, http.MethodGet, "/traces", "Host", "laxity.example"); response.StatusCode != http.StatusOK {
		t.Errorf("the page itself holds no data and needs no token: %d", response.StatusCode)
	}
}

func TestPage(t *testing.T) {
	server := bare(t, nil)
	for _, c := range []struct {
		method, target string
		status         int
		content, cache string
	}{
		{"GET", "/", 200, "text/html", "no-cache"},
		{"GET", "/index.html", 200, "text/html", "no-cache"},
		{"GET", "/traces/0123", 200, "text/html", "no-cache"},
		{"HEAD", "/traces/0123", 200, "text/html", "no-cache"},
		{"GET", "/assets/app-1.js", 200, "text/javascript", "public, max-age=31536000, immutable"},
		{"GET", "/assets/app-0.js", 404, "application/problem+json", ""},
		{"GET", "/assets/../index.html", 200, "text/html", "no-cache"},
		{"GET", "/../../etc/passwd", 200, "text/html", "no-cache"},
		{"POST", "/traces", 404, "application/problem+json", ""},
		{"GET", "/api/v2/traces", 404, "application/problem+json", ""},
		{"GET", "/api", 404, "application/problem+json", ""},
		{"POST", "/api/v1/traces", 405, "application/problem+json", "no-store"},
	} {
		response := ask(t, server, c.method, c.target)
		if response.StatusCode != c.status || !strings.HasPrefix(response.Header.Get("Content-Type"), c.content) {
			t.Errorf("%s %s: %d %s", c.method, c.target, response.StatusCode, response.Header.Get("Content-Type"))
		}
		if got := response.Header.Get("Cache-Control"); got != c.cache && c.cache != "no-store" {
			t.Errorf("%s %s: cache %q, want %q", c.method, c.target, got, c.cache)
		}
		for name := range securityHeaders {
			if response.Header.Get(name) == "" {
				t.Errorf("%s %s: no %s", c.method, c.target, name)
			}
		}
	}
	if response := ask(t, bare(t, func(c *Config) { c.Web = nil }), "GET", "/"); response.StatusCode != 404 {
		t.Errorf("without a page: %d", response.StatusCode)
	}
}

func TestLongAnswersAreCompressed(t *testing.T) {
	response := ask(t, bare(t, nil), http.MethodGet, "/api/v1/openapi.yaml", "Accept-Encoding", "gzip")
	if response.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("encoding %q", response.Header.Get("Content-Encoding"))
	}
	reader, err := gzip.NewReader(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(reader); err != nil || string(body) != string(openapi) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

func TestBadQuestionsAreExplained(t *testing.T) {
	server := bare(t, nil)
	for target, parameter := range map[string]string{
		"/api/v1/traces?sevice=a":                                      "sevice",
		"/api/v1/traces?service=a&service=b":                           "service",
		"/api/v1/traces?service=%ff":                                   "service",
		"/api/v1/traces?service=" + strings.Repeat("x", longestName+1): "service",
		"/api/v1/traces?rule=slow":                                     "rule",
		"/api/v1/traces?outcome=ok":                                    "outcome",
		"/api/v1/traces?class=bad":                                     "class",
		"/api/v1/traces?cause=timeout":                                 "cause",
		"/api/v1/traces?phase=dial":                                    "phase",
		"/api/v1/traces?late=yes":                                      "late",
		"/api/v1/traces?margin_lt=NaN":                                 "margin_lt",
		"/api/v1/traces?margin_gt=1e300":                               "margin_gt",
		"/api/v1/traces?limit=0":                                       "limit",
		"/api/v1/traces?limit=1001":                                    "limit",
		"/api/v1/traces?cursor=abc":                                    "cursor",
		"/api/v1/traces?from=yesterday":                                "from",
		"/api/v1/traces?from=now&to=now-1h":                            "from",
		"/api/v1/traces?from=now-99999d":                               "from",
		"/api/v1/traces?to=2500-01-01T00:00:00Z":                       "to",
		"/api/v1/traces/xyz":                                           "id",
		"/api/v1/traces/00000000000000000000000000000000":              "id",
		"/api/v1/traces/0123456789abcdef/statement?entry=1":            "entry",
		"/api/v1/traces/0123456789abcdef/incident?format=pdf":          "format",
		"/api/v1/reports/margin?stage=a":                               "stage",
		"/api/v1/services?route=a":                                     "route",
		"/api/v1/health?x=1":                                           "x",
		"/api/v1/traces?from=%":                                        "query",
		"/api/v1/traces?late=true;x=1":                                 "query",
	} {
		response := ask(t, server, http.MethodGet, target)
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", target, response.StatusCode)
			continue
		}
		if p := problemOf(t, response); p.Parameter != parameter {
			t.Errorf("%s blames %q: %s", target, p.Parameter, p.Detail)
		}
	}
}

func TestAnEngineThatIsDownIsExplained(t *testing.T) {
	server := bare(t, nil)
	for _, target := range []string{"/api/v1/traces", "/api/v1/reports/margin", "/api/v1/services", "/api/v1/traces/0123456789abcdef"} {
		response := ask(t, server, http.MethodGet, target)
		if p := problemOf(t, response); p.Type != kind("engine-unreachable") || p.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: %+v", target, p)
		}
	}
	response := ask(t, server, http.MethodGet, "/api/v1/health")
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), `"status":"fail"`) {
		t.Errorf("health: %d %s, %v", response.StatusCode, body, err)
	}
	follows(t, loadContract(t), "Health", body)
}
