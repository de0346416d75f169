package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A worker lets those that take spans in go first, with all of its threads; --nice 0 leaves it as it is.
func TestIssueAWorkerLetsArrivalsGoFirst(t *testing.T) {
	own := niceness(t, "/proc/self/stat")
	for _, c := range []struct {
		args []string
		want int
	}{{nil, max(own, 10)}, {[]string{"--nice", "0"}, own}, {[]string{"--nice", "15"}, max(own, 15)}} {
		p := launch(t, append([]string{"worker", "--clickhouse", "http://127.0.0.1:1/laxity"}, c.args...)...)
		p.find(t, "laxity worker: (http.*)")
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
			if err != nil || len(threads) < 2 {
				t.Fatalf("%d threads, %v", len(threads), err)
			}
			others := 0
			for _, thread := range threads {
				if niceness(t, thread) != c.want {
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

// niceness is the 19th field.
func niceness(t *testing.T, stat string) (n int) {
	t.Helper()
	text, err := os.ReadFile(stat)
	if os.IsNotExist(err) { // a thread that has ended
		return n
	}
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	_, _ = fmt.Sscan(fields[16], &n)
	return n
}
