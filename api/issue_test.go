package api

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// A statement drawn from hops alone used to look as if it knew everything.
func TestIssueStatementSaysWhatIsMissingWithoutRawSpans(t *testing.T) {
	store := storagetest.Open(t)
	late := lateAnswer()
	store.InsertHops(t, late.spans...)
	server := newServer(t, store, nil)
	for _, resource := range []string{"/statement", "/incident?format=md"} {
		response, body := get(t, server, "/api/v1/traces/"+late.trace.String()+resource)
		if response.StatusCode != http.StatusOK || !strings.Contains(string(body), "the raw spans are gone or were never kept") {
			t.Errorf("%s: %s\n%s", resource, response.Status, body)
		}
	}
	store.InsertRaw(t, late.spans...)
	if _, body := get(t, server, "/api/v1/traces/"+late.trace.String()+"/statement"); strings.Contains(string(body), `"missing"`) {
		t.Errorf("with raw spans: %s", body)
	}
}

// Two weeks compared with the same hours a week earlier used to share one of them.
func TestIssueWindowsOfAComparisonDoNotOverlap(t *testing.T) {
	to := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for days, want := range map[time.Duration]time.Duration{1: 7, 7: 7, 8: 14, 14: 14, 15: 21} {
		const day = 24 * time.Hour
		w := storage.Window{From: to.Add(-days * day), To: to}
		if before := readParams("", "before_from").before(w, to); !before.To.Equal(to.Add(-want*day)) || !before.From.Equal(w.From.Add(-want*day)) {
			t.Errorf("%d days are compared with %v", days, before)
		}
	}
}

// Names longer than rows keep them could be found in no way: neither whole nor as reports show them.
func TestIssueNamesLongerThanRowsKeepThem(t *testing.T) {
	store := storagetest.Open(t)
	name, route := "billing-"+strings.Repeat("ä", 200), "/"+strings.Repeat("r", 400)
	s := newStory(1, 0)
	s.add(0, name, "POST", span.KindServer, 0, 2*time.Second, span.Attributes{"http.route": route, budgetattr.BudgetReceivedKey: 1.0})
	other := newStory(2, 0)
	other.add(0, "shop", "POST", span.KindServer, 0, 2*time.Second, span.Attributes{"http.route": "/", budgetattr.BudgetReceivedKey: 1.0})
	store.Insert(t, append(s.spans, other.spans...)...)
	judge(t, store)
	server := newServer(t, store, nil)
	both := func(n string) []string { return []string{n, hop.Name(n)} }
	for _, path := range []string{"/api/v1/traces", "/api/v1/reports/margin", "/api/v1/reports/findings"} {
		for _, given := range both(name) {
			if _, body := get(t, server, path+"?"+url.Values{"service": {given}}.Encode()); !strings.Contains(string(body), "billing-ä") || strings.Contains(string(body), "shop") {
				t.Errorf("%s: only %s: %s", path, given, body)
			}
			if path == "/api/v1/reports/margin" {
				continue // leaves nothing out
			}
			if _, body := get(t, server, path+"?"+url.Values{"not.service": {given}}.Encode()); strings.Contains(string(body), "billing-ä") || !strings.Contains(string(body), "shop") {
				t.Errorf("%s: without %s: %s", path, given, body)
			}
		}
		for _, given := range both(route) {
			if _, body := get(t, server, path+"?"+url.Values{"route": {given}}.Encode()); !strings.Contains(string(body), "billing-ä") {
				t.Errorf("%s: %s: %s", path, given, body)
			}
		}
	}
	if response, body := get(t, server, "/api/v1/traces?service="+strings.Repeat("x", 5000)); response.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "4096 bytes") {
		t.Errorf("%s: %s", response.Status, body)
	}
}
