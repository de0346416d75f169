package budgethttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

// Each test here is a fault that was found in the transport.

// A stream handed its callee the whole request's time, not its own.
func TestIssueStreamHandsDownItsOwnTime(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get(budgetattr.HeaderTimeout))
	}))
	defer s.Close()
	edge := budget.NewEdge(budget.Policy{Default: time.Hour, Target: budgetattr.TargetFirstOutput})
	ctx, entry, _ := edge.Start(t.Context(), budget.Arrival{})
	defer entry.End(nil)
	req, _ := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	client := &http.Client{Transport: budgethttp.NewTransport(nil, budgethttp.WithHop(budget.WithStream(), budget.WithCap(time.Minute)))}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var ms int
	if _, err := fmt.Fscan(resp.Body, &ms); err != nil || ms > 60_000 {
		t.Errorf("%d ms, %v", ms, err)
	}
}

// A refused connection was recorded as a timeout of the phase it failed in.
func TestIssueFailureThatIsNoTimeoutHasNoTimeoutPhase(t *testing.T) {
	r := newRecorder()
	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: time.Minute}, budget.WithTracerProvider(r.provider)).Start(t.Context(), budget.Arrival{})
	defer entry.End(nil)
	gone := httptest.NewServer(nil)
	gone.Close()
	req, _ := http.NewRequestWithContext(ctx, "GET", gone.URL, nil)
	if _, err := budgethttp.NewTransport(nil).RoundTrip(req); err == nil {
		t.Fatal("no error")
	}
	if phase, ok := attrs(r.wait(t, "GET"))[budgetattr.TimeoutPhaseKey]; ok {
		t.Errorf("timeout in phase %v", phase)
	}
}
