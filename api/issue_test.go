package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

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
