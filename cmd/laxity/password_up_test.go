package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A password shuts strangers out of the engine, and the parts of up stay in.
func TestIssueUpWithAPasswordReachesItsOwnEngine(t *testing.T) {
	t.Setenv(envPrefix+"USER", "keeper")
	t.Setenv(envPrefix+"PASSWORD", "p@ss:/?#%word")
	s := startUp(t, t.TempDir())
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
}
