package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A password shuts strangers out of the engine, and the parts of up stay in. The address of a webhook comes to its part whole.
func TestIssueUpWithAPasswordReachesItsOwnEngine(t *testing.T) {
	t.Setenv(envPrefix+"USER", "keeper")
	t.Setenv(envPrefix+"PASSWORD", "p@ss:/?#%word")
	told := make(chan string, 9)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.URL.Path }))
	t.Cleanup(hook.Close)
	s := startUp(t, t.TempDir(), "--alert-webhook", `"`+hook.URL+`/a,secret"`)
	if err := newOTLPClient(t, s.grpc).once(t.Context(), makeRequest(0, 100)); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, func() error {
		out, err := command(t, "report", "margin", "--api", s.page, "--since", "3660d", "-o", "csv")
		if err == nil && !strings.Contains(out, ",100,0,1,-0.05,-0.05,-0.05,") {
			err = fmt.Errorf("margins: %s", out)
		}
		return err
	})
	response, err := http.Post(s.clickhouse, "text/plain", strings.NewReader("SELECT 1"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode == http.StatusOK {
		t.Error("the engine answers a stranger")
	}
	if response, err = http.Post(s.page+"/api/v1/alerts/BudgetMissedFast/test", "application/json", nil); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	select {
	case path := <-told:
		if path != "/a,secret" {
			t.Errorf("the test of an alert came to %s", path)
		}
	case <-time.After(time.Minute):
		t.Errorf("the test of an alert is answered with %s, and the webhook is not told", response.Status)
	}
}
