package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// A worker lets those that take spans in go first, with all of its threads; --nice 0 leaves it as it is.
func TestIssueAWorkerLetsArrivalsGoFirst(t *testing.T) {
	own, err := niceness(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want int
	}{{nil, min(own+10, 19)}, {[]string{"--nice", "0"}, own}, {[]string{"--nice", "15"}, min(own+15, 19)}} {
		p := launch(t, append([]string{"worker", "--clickhouse", "http://127.0.0.1:1/laxity"}, c.args...)...)
		p.find(t, "laxity worker: (http.*)")
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.cmd.Process.Pid))
			if err != nil || len(threads) < 2 {
				t.Fatalf("%d threads, %v", len(threads), err)
			}
			others := 0
			for _, thread := range threads {
				id, err := strconv.Atoi(filepath.Base(thread))
				if err != nil {
					t.Fatal(err)
				}
				if n, err := niceness(id); err == nil && n != c.want { // it may have ended

					others++
				}
			}
			if others == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("worker %v: %d threads of %d have another niceness than %d", c.args, others, len(threads), c.want)
			}
		}
	}
}
