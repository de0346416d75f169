// Package enginetest gives tests a real ClickHouse engine in a process of its own.
package enginetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/listen"
)

// Options of an engine under test; the zero value takes the defaults of engine.Config.
type Options struct {
	Listen      string // 127.0.0.1:0 by default
	Data        string
	User        string
	Password    string
	MaxQueries  int
	MaxWaiting  int
	MaxMemory   int64 // bytes
	Grace       time.Duration
	ServerFlags []string
}

// Engine is a running engine. Its methods are safe for concurrent use, except Kill, Restart and Close.
type Engine struct {
	URL     string // http://127.0.0.1:PORT
	Address string // 127.0.0.1:PORT
	Dir     string // data directory

	options Options
	process *exec.Cmd
	stdin   io.Closer
	stderr  *bytes.Buffer
	ended   chan struct{}
	err     error // how the process ended; valid once ended is closed
}

// Start runs an engine on a free port over a temporary directory, until the test ends.
func Start(t testing.TB, options ...Options) *Engine {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if o.Data == "" {
		o.Data = t.TempDir()
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Kill() })
	return e
}

// New is Start for a TestMain: the caller names the directory and calls Close or Kill.
func New(o Options) (*Engine, error) {
	if o.Data == "" {
		return nil, errors.New("enginetest: no data directory")
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	// The port stays the engine's own while it is down: tests start it again at the same address.
	var err error
	if o.Listen, err = listen.FreePort("listen", o.Listen); err != nil {
		return nil, fmt.Errorf("enginetest: %w", err)
	}
	e := &Engine{Dir: o.Data, options: o}
	return e, e.launch()
}

// DSN is the address of a database for clickhouse-go, over HTTP with LZ4.
func (e *Engine) DSN(database string) string {
	login := ""
	if e.options.Password != "" {
		login = e.options.User + ":" + e.options.Password + "@"
	}
	return "http://" + login + e.Address + "/" + database + "?compress=lz4"
}

var databases atomic.Int64

// NewDatabase makes an empty database of a new name and drops it when the test ends.
func (e *Engine) NewDatabase(t testing.TB) string {
	t.Helper()
	name := "test_" + strconv.FormatInt(databases.Add(1), 10)
	if _, err := e.Query("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = e.Query("DROP DATABASE " + name) })
	return name
}

// Query sends one statement and returns the text of its result.
func (e *Engine) Query(sql string) (string, error) {
	request, err := http.NewRequest(http.MethodPost, e.URL, strings.NewReader(sql))
	if err != nil {
		return "", fmt.Errorf("enginetest: %w", err)
	}
	if e.options.Password != "" {
		request.SetBasicAuth(e.options.User, e.options.Password)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("enginetest: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("enginetest: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("enginetest: %s: %s", response.Status, body)
	}
	return string(body), nil
}

// Pid of the engine's process.
func (e *Engine) Pid() int { return e.process.Process.Pid }

// Log is what the process wrote to its standard error. The process must have ended.
func (e *Engine) Log() string {
	<-e.ended
	return e.stderr.String()
}

// Kill ends the process at once, as kill -9 does.
func (e *Engine) Kill() {
	_ = e.process.Process.Kill()
	<-e.ended
}

// Close ends the process as an operator would and returns what it says.
func (e *Engine) Close() error {
	if err := e.process.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("enginetest: %w", err)
	}
	select {
	case <-e.ended:
	case <-time.After(30 * time.Second):
		e.Kill()
		return errors.New("enginetest: the engine does not end on SIGTERM")
	}
	if e.err != nil {
		return fmt.Errorf("enginetest: %w: %s", e.err, e.stderr)
	}
	return nil
}

// Restart starts a process again over the same directory on the same port. The one before must have ended.
func (e *Engine) Restart() error {
	<-e.ended
	e.options.Listen = e.Address
	return e.launch()
}

func (e *Engine) launch() error {
	host, err := buildHost()
	if err != nil {
		return err
	}
	o := e.options
	args := []string{
		"-listen", o.Listen, "-data", o.Data, "-user", o.User, "-password", o.Password, "-max-queries", strconv.Itoa(o.MaxQueries),
		"-max-waiting", strconv.Itoa(o.MaxWaiting), "-max-memory", strconv.FormatInt(o.MaxMemory, 10), "-grace", o.Grace.String(),
	}
	for _, f := range o.ServerFlags {
		args = append(args, "-server-flag", f)
	}
	e.process = exec.Command(host, args...)
	e.stderr = new(bytes.Buffer)
	e.process.Stderr = e.stderr
	if e.stdin, err = e.process.StdinPipe(); err != nil {
		return fmt.Errorf("enginetest: %w", err)
	}
	stdout, err := e.process.StdoutPipe()
	if err != nil {
		return fmt.Errorf("enginetest: %w", err)
	}
	if err := e.process.Start(); err != nil {
		return fmt.Errorf("enginetest: %w", err)
	}
	line, readErr := bufio.NewReader(stdout).ReadString('\n')
	e.ended = make(chan struct{})
	go func(process *exec.Cmd, ended chan struct{}) {
		_, _ = io.Copy(io.Discard, stdout)
		e.err = process.Wait()
		close(ended)
	}(e.process, e.ended)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening ")
	if readErr != nil || !ok {
		e.Kill()
		return fmt.Errorf("enginetest: the engine does not start: %s", strings.TrimSpace(e.stderr.String()))
	}
	e.Address, e.URL = address, "http://"+address
	return nil
}

// buildHost builds the host program once in a process; the go command skips what is already built.
var buildHost = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("enginetest: %w", err)
	}
	// Checkouts differ, so each has its own.
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/laxity-dev/laxity").Output()
	if err != nil {
		return "", fmt.Errorf("enginetest: find the module: %w", err)
	}
	dir := filepath.Join(cache, "laxity", "enginetest", strings.ReplaceAll(strings.Trim(strings.TrimSpace(string(module)), "/"), "/", "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("enginetest: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("enginetest: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("enginetest: %w", err)
	}
	// Built beside and renamed: a host that runs cannot be written to.
	host := filepath.Join(dir, "host")
	build := exec.Command("go", "build", "-o", host+".new", "github.com/laxity-dev/laxity/engine/enginetest/host")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("enginetest: build the host: %w\n%s", err, out)
	}
	if err := os.Rename(host+".new", host); err != nil {
		return "", fmt.Errorf("enginetest: %w", err)
	}
	return host, nil
})
