package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage/storagetest"
	"github.com/laxity-dev/laxity/storage/worker"
)

// A contract that is written from live data is kept by them; one that promises more is broken, and a file that is wrong or data
// that do not suffice never pass.
func TestContract(t *testing.T) {
	store := storagetest.Open(t)
	var spans []span.Span
	for n := range byte(200) {
		start := time.Now().Add(-time.Duration(n+1) * time.Minute).UnixNano()
		lasts := 400 * time.Millisecond
		if n%10 == 0 {
			lasts = 1200 * time.Millisecond
		}
		entry := span.Span{
			Trace: span.TraceID{7, 15: n + 1}, ID: span.ID{7, n + 1, 7: 1}, Service: "shop", Name: "POST /buy", Kind: span.KindServer,
			Start: start, End: start + int64(lasts), Attrs: span.Attributes{"http.route": "/buy", budgetattr.BudgetReceivedKey: 1.0},
			Resource: span.Attributes{"service.name": "shop"},
		}
		call := entry
		call.ID, call.Parent, call.Name, call.Kind, call.End = span.ID{7, n + 1, 7: 2}, entry.ID, "SELECT", span.KindClient, start+int64(lasts/2)
		call.Attrs = span.Attributes{budgetattr.StageKey: "load", "peer.service": "store", budgetattr.AllowanceKey: 0.5, budgetattr.DecisionKey: "run"}
		spans = append(spans, entry, call)
	}
	store.Insert(t, spans...)
	w, err := worker.New(worker.Config{Store: store.DB})
	if err == nil {
		err = w.PassNow(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	handler, err := newAPI(apiFlags{}, "", store.DB, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if out, err := command(t, "contract", "init", "/buy", "--service", "shop", "--api", server.URL, "-o", file); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	check := func(more ...string) (string, error) {
		return command(t, append([]string{"contract", "check", file, "--api", server.URL}, more...)...)
	}
	out, err := check()
	if err != nil || !strings.Contains(out, "shop /buy\n") || !strings.Contains(out, "200 requests") || !strings.Contains(out, " 0 violated, 0 unknown") ||
		!strings.Contains(out, "load spend_p95") || !strings.Contains(out, "orphan_per_request") {
		data, _ := os.ReadFile(file)
		t.Errorf("drafted: %v\n%s\n%s", err, data, out)
	}
	for line := range strings.Lines(out) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("longer than 80 columns: %s", line)
		}
	}
	if _, err := command(t, "contract", "init", "/buy", "--service", "shop", "--api", server.URL, "-o", file); err == nil {
		t.Error("an existing file was replaced")
	}

	write := func(text string) {
		if err := os.WriteFile(file, []byte("version: 1\nservice: shop\nroute: /buy\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("missed_ratio: 5%\nmargin: {p05: 0s}\nstages:\n- {stage: load, peer: store, spend_p95: 100ms}\n")
	out, err = check()
	if !errors.Is(err, errReported) || !strings.Contains(out, "0 kept, 3 violated, 0 unknown") || !strings.Contains(out, "95 % sure: between 6.") ||
		!strings.Contains(out, "at most 5.00%        10.00%      200") {
		t.Errorf("broken: %v\n%s", err, out)
	}
	out, err = check("-o", "json")
	var told struct {
		Status    string
		Contracts []struct{ Results []struct{ Status string } }
	}
	if jsonErr := json.Unmarshal([]byte(out), &told); !errors.Is(err, errReported) || jsonErr != nil || told.Status != "violated" || len(told.Contracts[0].Results) != 3 {
		t.Errorf("as JSON: %v, %v\n%s", err, jsonErr, out)
	}
	write("missed_ratio: 20%\nmin_requests: 1000\n")
	if out, err := check(); !errors.Is(err, errReported) || !strings.Contains(out, "200 seen, 1000 needed") {
		t.Errorf("too few: %v\n%s", err, out)
	}
	if out, err := check("--allow-unknown"); err != nil {
		t.Errorf("too few, allowed: %v\n%s", err, out)
	}
	var usage *usageError
	write("missed_ratio: 20%\nbudgt: 1s\n")
	if _, err := check(); !errors.As(err, &usage) || !strings.Contains(err.Error(), `shop.yaml:5: there is no key "budgt"`) {
		t.Errorf("a misspelt key: %v", err)
	}
	for _, args := range [][]string{{"check"}, {"check", file, "-o", "xml"}, {"check", file + ".gone"}, {"init"}, {"init", "/buy"}, {"sign"}} {
		if _, err := command(t, append([]string{"contract"}, args...)...); !errors.As(err, &usage) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := command(t, "contract", "init", "/none", "--service", "shop", "--api", server.URL); err == nil || !strings.Contains(err.Error(), "look further back") {
		t.Errorf("a route without requests: %v", err)
	}
}
