package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// mainVariable makes the test binary behave as the product, and so every process that it supervises.
const mainVariable = "LAXITY_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// soak multiplies the work of the long proofs.
func soak(check, long int) int {
	if os.Getenv("LAXITY_SOAK") != "" {
		return long
	}
	return check
}

// process is the product, run in a process of its own.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
	err error
}

// anyPorts keep a part that a test starts off the default ports, where another test or installation may listen.
var anyPorts = func() []string {
	var env []string
	for _, flag := range []string{"LISTEN", "OTLP_GRPC", "OTLP_HTTP", "ENGINE_LISTEN", "METRICS_LISTEN", "WORKER_METRICS_LISTEN", "EDGE_LISTEN"} {
		env = append(env, envPrefix+flag+"=127.0.0.1:0")
	}
	return env
}()

// launch runs a command line until the test ends.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), mainVariable+"=1")
	if slices.Contains([]string{"up", "collector", "worker", "api"}, args[0]) {
		p.cmd.Env = append(p.cmd.Env, anyPorts...)
	}
	p.cmd.Dir = t.TempDir()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = writer, writer
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer reader.Close()
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			p.mu.Lock()
			p.out.Write(append(lines.Bytes(), '\n'))
			p.mu.Unlock()
		}
	}()
	go func() {
		p.err = p.cmd.Wait()
		select { // what it said last is still on its way; a child of it that lives on keeps the pipe open
		case <-read:
		case <-time.After(5 * time.Second):
		}
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(60 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.done
			t.Errorf("the process did not end on SIGTERM:\n%s", p.output())
		}
		if t.Failed() {
			t.Logf("output of laxity %s:\n%s", strings.Join(args, " "), tail(p.output(), 8000))
		}
	})
	return p
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// find waits for a line and returns the last match of the pattern's group.
func (p *process) find(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var found string
	eventually(t, 90*time.Second, func() error {
		all := re.FindAllStringSubmatch(p.output(), -1)
		if len(all) > 0 {
			found = all[len(all)-1][1]
			return nil
		}
		select {
		case <-p.done:
			t.Fatalf("the process ended: %v\n%s", p.err, p.output())
		default:
		}
		return fmt.Errorf("no line matches %q:\n%s", pattern, p.output())
	})
	return found
}

// kill ends a supervised part at once; it reports whether there was one.
func (p *process) kill(t *testing.T, part string) bool {
	t.Helper()
	pid, err := strconv.Atoi(p.find(t, `process started" process=`+part+` pid=(\d+)`))
	if err != nil {
		t.Fatal(err)
	}
	return syscall.Kill(pid, syscall.SIGKILL) == nil
}

// eventually asks until there is no error.
func eventually(t *testing.T, limit time.Duration, ask func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
