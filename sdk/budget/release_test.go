package budget_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// What one operation holds is given back when its hop is cancelled: a sub-process, a semaphore slot, a lease, a file. The
// work knows nothing but its context, and the clean-up budget for what must be done after the end.
func TestT42_CancellationReleasesWhatTheWorkHolds(t *testing.T) {
	r := newRecorder()
	base, leave := context.WithCancel(t.Context())
	ctx, entry, err := edge(r, budget.Policy{Default: time.Minute}).Start(base, budget.Arrival{Name: "in", ParentCause: budgetattr.CauseClientDisconnect})
	if err != nil {
		t.Fatal(err)
	}
	slots := make(chan struct{}, 1)
	var mu sync.Mutex
	leases := map[string]bool{}
	file := filepath.Join(t.TempDir(), "work")
	var process *os.Process
	started := make(chan struct{})
	go func() {
		<-started
		leave()
	}()
	start := time.Now()
	err = budget.Run(ctx, "work", func(ctx context.Context) error {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-slots }()
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return err
		}
		mu.Lock()
		leases["lease"] = true
		mu.Unlock()
		defer func() {
			fresh, done := budget.Cleanup(ctx)
			defer done()
			if fresh.Err() == nil { // a call of the lease's service would need a live context
				mu.Lock()
				delete(leases, "lease")
				mu.Unlock()
				_ = os.Remove(file)
			}
		}()
		cmd := exec.CommandContext(ctx, "sleep", "60")
		cmd.WaitDelay = time.Second
		if err := cmd.Start(); err != nil {
			return err
		}
		process = cmd.Process
		close(started)
		return cmd.Wait()
	})
	if !errors.Is(err, context.Canceled) || time.Since(start) > 20*time.Second {
		t.Errorf("err %v after %v", err, time.Since(start))
	}
	if len(slots) != 0 || len(leases) != 0 {
		t.Errorf("slots %d, leases %v", len(slots), leases)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if err := process.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the process still runs: %v", err)
	}
	entry.End(err)
	want(t, r.span(t, "work"), map[string]any{budgetattr.CancelCauseKey: "client_disconnect", budgetattr.CancelConfirmedKey: true})
	want(t, r.span(t, "in"), map[string]any{budgetattr.OpenChildrenKey: 0, budgetattr.CleanupBudgetKey: time.Second})
}
