package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
)

// stack is a running 'laxity up'.
type stack struct {
	*process
	page, clickhouse, grpc, http, metrics, data string
}

func startUp(t *testing.T, data string, more ...string) *stack {
	t.Helper()
	any := "127.0.0.1:0"
	s := &stack{process: launch(t, append([]string{"up", "--data", data, "--listen", any, "--otlp-grpc", any, "--otlp-http", any,
		"--engine-listen", any, "--metrics-listen", any, "--worker-metrics-listen", any}, more...)...), data: data}
	s.page = s.find(t, `(?m)^page +(\S+)`)
	s.metrics = s.find(t, `(?m)^metrics +(\S+)`)
	s.clickhouse = s.find(t, `(?m)^ClickHouse +(\S+)`)
	s.grpc = s.find(t, `(?m)^OTLP +(\S+) \(gRPC\)`)
	s.http = s.find(t, `(?m)^OTLP .* (http://\S+) \(HTTP\)`)
	return s
}

// exact checks that every span of so many traces is stored, and every hop once.
func (s *stack) exact(t *testing.T, traces int) {
	t.Helper()
	expect(t, s.clickhouse, "SELECT uniqExact(TraceId, SpanId) FROM otel_traces", strconv.Itoa(traces*spansPerTrace))
	expect(t, s.clickhouse, "SELECT count() FROM hops FINAL", strconv.Itoa(traces*hopsPerTrace))
	expect(t, s.clickhouse, "SELECT uniqExact(trace_id, span_id) FROM hops", strconv.Itoa(traces*hopsPerTrace))
}

// answers checks that page, API and command line show the hundred late requests.
func (s *stack) answers(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{"/": "<!doctype html>", "/api/v1/health": `"otlp_grpc":"` + s.grpc + `"`} {
		response, err := http.Get(s.page + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(strings.ToLower(string(body)), want) {
			t.Errorf("%s: %s %v %s", path, response.Status, err, body)
		}
	}
	out, err := command(t, "doctor", "--api", s.page, "--metrics-listen", strings.TrimSuffix(strings.TrimPrefix(s.metrics, "http://"), "/metrics"))
	out = strings.ReplaceAll(out, "warn  versions", "") // the test is another build
	if err != nil || strings.Contains(out, "warn") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	out, err = command(t, "report", "margin", "--api", s.page, "--since", "3660d", "-o", "csv")
	if err != nil || !strings.Contains(out, ",100,0,1,-0.05,-0.05,-0.05,") {
		t.Errorf("report margin: %v\n%s", err, out)
	}
}

func TestUpTakesSpansAndKeepsThemOverAStart(t *testing.T) {
	data := t.TempDir()
	first := startUp(t, data)
	send := newOTLPClient(t, first.grpc)
	if err := send.once(t.Context(), makeRequest(0, 100)); err != nil {
		t.Fatal(err)
	}
	first.exact(t, 100)
	expect(t, first.clickhouse, "SELECT countIf(late AND margin_ns = -50000000 AND outcome = 'done' AND inferred) FROM hops FINAL", "100")
	first.answers(t)
	if err := first.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-first.done
	if first.err != nil {
		t.Fatalf("after an interrupt: %v", first.err)
	}
	began := time.Now()
	second := startUp(t, data)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the second start took %s", took)
	}
	second.exact(t, 100)
}

func TestUpEndsWithoutItsParent(t *testing.T) {
	data := t.TempDir()
	first := startUp(t, data)
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.done
	// The engine that lost its parent ends and frees the directory.
	startUp(t, data)
}

// Every acknowledged span is stored and every hop counts once while parts are killed at random points.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	s := startUp(t, t.TempDir())
	const perRequest = 40
	kills := soak(20, 200)
	var (
		next, acknowledged atomic.Int64
		senders            sync.WaitGroup
		stop               = make(chan struct{})
		failed             = make(chan error, 2)
	)
	for range 2 {
		send := newOTLPClient(t, s.grpc)
		senders.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				first := int(next.Add(perRequest)) - perRequest
				if err := send.untilAcknowledged(t.Context(), makeRequest(first, perRequest)); err != nil {
					failed <- err
					return
				}
				acknowledged.Add(perRequest)
				time.Sleep(time.Millisecond) // leave the processors to the parts under test
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	killed := map[string]int{}
	for n := 0; n < kills; {
		time.Sleep(time.Duration(100+random.IntN(900)) * time.Millisecond)
		part := []string{"collector", "engine"}[random.IntN(2)]
		if s.kill(t, part) {
			killed[part]++
			n++
		}
	}
	close(stop)
	senders.Wait()
	select {
	case err := <-failed:
		t.Fatalf("a request was never acknowledged: %v", err)
	default:
	}
	t.Logf("killed %v, acknowledged %d spans", killed, acknowledged.Load()*spansPerTrace)
	s.exact(t, int(acknowledged.Load()))
}

// A million spans (fewer in check) while ClickHouse is away for a while; memory stays under its limit.
func TestManySpansWhileTheEngineIsAway(t *testing.T) {
	const (
		limit      = 512
		perRequest = 200
	)
	s := startUp(t, t.TempDir(), "--memory-limit", strconv.Itoa(limit))
	traces := soak(30_000, 200_000)
	away := time.Duration(soak(3, 60)) * time.Second
	pid := s.find(t, `process started" process=collector pid=(\d+)`)
	var (
		senders, watch sync.WaitGroup
		next           atomic.Int64
		peak           int
		stop           = make(chan struct{})
		failed         = make(chan error, 2)
	)
	watch.Go(func() {
		for {
			peak = max(peak, anonymousMiB(pid))
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	for range 2 {
		send := newOTLPClient(t, s.grpc)
		senders.Go(func() {
			for {
				first := int(next.Add(perRequest)) - perRequest
				if first >= traces {
					return
				}
				if err := send.untilAcknowledged(t.Context(), makeRequest(first, perRequest)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for until := time.Now().Add(away); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		s.kill(t, "engine")
	}
	senders.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	s.exact(t, traces)
	close(stop)
	watch.Wait()
	t.Logf("the collector took at most %d MiB", peak)
	if peak > limit*5/4 {
		t.Errorf("the collector took %d MiB under a limit of %d", peak, limit)
	}
}

// anonymousMiB returns the memory of a process that is not a file's: the queues are mapped files.
func anonymousMiB(pid string) int {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0 // gone
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kib int
	_, _ = fmt.Sscan(rest, &kib)
	return kib / 1024
}

func TestUpOnAnotherClickHouse(t *testing.T) {
	engine := enginetest.Start(t)
	anyPort := "127.0.0.1:0"
	p := launch(t, "up", "--data", t.TempDir(), "--clickhouse", engine.DSN("laxity"), "--listen", anyPort, "--otlp-grpc", anyPort,
		"--otlp-http", anyPort, "--metrics-listen", anyPort)
	send := newOTLPClient(t, p.find(t, `(?m)^OTLP +(\S+) \(gRPC\)`))
	if err := send.untilAcknowledged(t.Context(), makeRequest(0, 10)); err != nil {
		t.Fatal(err)
	}
	expect(t, engine.URL, "SELECT count() FROM hops FINAL", strconv.Itoa(10*hopsPerTrace))
	if strings.Contains(p.output(), "process=engine") {
		t.Error("an engine was started beside the named ClickHouse")
	}
}

func TestUpRefusesAnInterruptedSchemaWithAdvice(t *testing.T) {
	engine := enginetest.Start(t)
	dsn := engine.DSN("laxity")
	if code := run(t.Context(), []string{"migrate", "--clickhouse", dsn, "--to", "3"}); code != exitOK {
		t.Fatalf("migrate: exit code %d", code)
	}
	if _, err := engine.Query(fmt.Sprintf("INSERT INTO laxity.schema_migrations VALUES (4, 1, %d)", time.Now().UnixNano())); err != nil {
		t.Fatal(err)
	}
	p := launch(t, "up", "--data", t.TempDir(), "--clickhouse", dsn, "--listen", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0",
		"--otlp-http", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	<-p.done
	if out := p.output(); p.cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(out, "laxity migrate --repair") {
		t.Errorf("exit code %d:\n%s", p.cmd.ProcessState.ExitCode(), out)
	}
	if code := run(t.Context(), []string{"migrate", "--clickhouse", dsn, "--repair"}); code != exitOK {
		t.Errorf("repair: exit code %d", code)
	}
}
