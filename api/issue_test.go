package api

import (
	"net/http"
	"strings"
	"testing"

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
