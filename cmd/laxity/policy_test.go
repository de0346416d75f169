package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
)

const someAdvice = `{"window": {"from": "2026-03-01T00:00:00Z", "to": "2026-03-08T00:00:00Z", "bucket_s": null}, "false_timeout_rate": 0.001,
"rows": [
 {"service": "shop", "stage": "load", "peer": "store", "enough": true,
  "advised": {"cap_s": 0.84, "observed_limit_s": 0.42, "reserve_s": 0.05, "min_useful_s": 0.12},
  "reasons": {"cap": "twice", "observed_limit": "cuts 0.1 %", "reserve": "", "min_useful": "half"}},
 {"service": "shop", "stage": "rare", "peer": "", "enough": false, "advised": {}, "reasons": {}}],
"routes": [{"service": "shop", "route": "/buy", "safe_budget_s": 1.2, "reason": "all but 0.1 %"}], "next": null}`

// The file that is written is the file the sdk loads; a dry run says what would change and writes nothing; what was not asked about
// stays.
func TestPolicyWritesWhatTheSDKLoads(t *testing.T) {
	answer := someAdvice
	var query atomic.Pointer[url.Values]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.Query()
		query.Store(&asked)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "policy.json")
	args := []string{"policy", "--api", server.URL, "-o", file}
	out, err := command(t, append(args, "--dry-run")...)
	if err != nil || !strings.Contains(out, "new") || !strings.Contains(out, "1 more dependencies have too few calls") {
		t.Errorf("dry run: %s, %v", out, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a dry run wrote the file")
	}
	if out, err := command(t, args...); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	limits, err := budget.LoadLimits(file, "shop")
	if err != nil {
		t.Fatal(err)
	}
	got, found := limits.Lookup("load", "store")
	if observed, set := got.Observed.Get(); !found || !set || observed != 420*time.Millisecond || got.Reserve != 50*time.Millisecond || got.MinUseful != 120*time.Millisecond {
		t.Errorf("%+v, %v", got, found)
	}
	if out, err := command(t, append(args, "--dry-run")...); err != nil || strings.Count(out, "same") != 4 {
		t.Errorf("nothing changed: %s, %v", out, err)
	}
	answer = strings.NewReplacer(`"service": "shop", "stage": "load"`, `"service": "other", "stage": "load"`, "0.42", "0.9").Replace(someAdvice)
	if out, err := command(t, append(args, "--service", "other")...); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	for service, want := range map[string]time.Duration{"shop": 420 * time.Millisecond, "other": 900 * time.Millisecond} {
		limits, err := budget.LoadLimits(file, service)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := limits.Lookup("load", "store"); got.Observed != budget.LimitOf(want) {
			t.Errorf("%s: %+v", service, got)
		}
	}
	answer = strings.ReplaceAll(someAdvice, "/buy", "/sell")
	if out, err := command(t, append(args, "--not", "service=other", "--not", "route=/buy")...); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{`"other"`, `"/buy"`, `"/sell"`} {
		if !strings.Contains(string(written), kept) {
			t.Errorf("%s, which was left out or asked about, is not in the file: %s", kept, written)
		}
	}
	if asked := query.Load(); asked == nil || !slices.Equal((*asked)["not.service"], []string{"other"}) {
		t.Errorf("asked %v", asked)
	}
	if out, err := command(t, append(args, "--dry-run")...); err != nil || !strings.Contains(out, "no longer measured: left out") {
		t.Errorf("a dependency that is gone: %s, %v", out, err)
	}
	if err := os.WriteFile(file, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t, args...); err == nil || !strings.Contains(err.Error(), "choose another file") {
		t.Errorf("over a file that is no policy: %v", err)
	}
	answer = strings.ReplaceAll(someAdvice, `"enough": true`, `"enough": false`)
	if _, err := command(t, args...); err == nil || !strings.Contains(err.Error(), "look further back") {
		t.Errorf("without advice: %v", err)
	}
	if _, err := command(t, append(args, "--false-timeout-rate", "2")...); err == nil {
		t.Error("a rate of 2 was taken")
	}
}
