package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// result of one measurement: spans a second, microseconds of processor time for each span, and which share of the earlier traces
// the worker judged meanwhile.
type result struct {
	rate, collectorCPU, engineCPU, workerCPU, judged, peakMiB float64
}

// contribYAML is the collector of the comparison: the same receiver, limiter, queue and batches as the built-in pipeline.
const contribYAML = `
extensions:
  file_storage/queue: {directory: %[1]q, create_directory: true, timeout: 10s}
receivers:
  otlp:
    protocols:
      grpc: {endpoint: %[2]q, max_recv_msg_size_mib: 64}
processors:
  memory_limiter: {check_interval: 200ms, limit_mib: 1024, spike_limit_mib: 204}
exporters:
  clickhouse:
    endpoint: http://%[3]s/laxity
    database: laxity
    create_schema: false
    async_insert: false
    timeout: 120s
    connection_params: {max_partitions_per_insert_block: "0", session_timezone: UTC}
    retry_on_failure: {initial_interval: 1s, max_interval: 5s, max_elapsed_time: 0}
    sending_queue:
      sizer: items
      queue_size: 5000000
      num_consumers: 2
      storage: file_storage/queue
      batch: {sizer: items, flush_timeout: 500ms, min_size: 20000, max_size: 50000}
service:
  extensions: [file_storage/queue]
  telemetry:
    logs: {level: warn}
    metrics: {level: none}
  pipelines:
    traces:
      receivers: [otlp]
      processors: [memory_limiter]
      exporters: [clickhouse]
`

// measure sends every request through one way into an empty database.
func measure(ctx context.Context, binary, dir, contrib string, m mode, requests, earlier [][]byte, traces int) (result, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	s, err := startStack(ctx, binary, dir, contrib, m.args)
	if err != nil {
		return result{}, err
	}
	defer s.stop()
	already := 0
	if earlier != nil {
		if err := s.ingest(ctx, m, earlier, traces, 0); err != nil {
			return result{}, err
		}
		already = traces
	}
	if m.worker {
		if err := s.age(ctx); err != nil {
			return result{}, err
		}
		if err := s.startWorker(ctx); err != nil {
			return result{}, err
		}
	}
	e, c := s.engine, s.collector
	engineBefore, collectorBefore, workerBefore := e.cpu(), c.cpu(), s.worker.cpu()
	began := time.Now()
	if err := s.ingest(ctx, m, requests, traces, already); err != nil {
		return result{}, err
	}
	spans := float64(traces * spansPerTrace)
	lasted := time.Since(began)
	judged, err := s.judged(ctx)
	if err != nil {
		return result{}, err
	}
	return result{
		rate:         spans / lasted.Seconds(),
		collectorCPU: (c.cpu() - collectorBefore).Seconds() * 1e6 / spans,
		engineCPU:    (e.cpu() - engineBefore).Seconds() * 1e6 / spans,
		workerCPU:    (s.worker.cpu() - workerBefore).Seconds() * 1e6 / spans,
		judged:       float64(judged) / float64(max(traces, 1)),
		peakMiB:      c.peakMiB(),
	}, nil
}

// judge measures the worker on spans that are there, while nothing arrives.
func judge(ctx context.Context, binary, dir, contrib string, m mode, requests [][]byte, traces int) (result, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	s, err := startStack(ctx, binary, dir, contrib, m.args)
	if err != nil {
		return result{}, err
	}
	defer s.stop()
	if err := s.ingest(ctx, m, requests, traces, 0); err != nil {
		return result{}, err
	}
	if err := until(ctx, s.merged); err != nil {
		return result{}, err
	}
	if err := s.age(ctx); err != nil {
		return result{}, err
	}
	engineBefore, began := s.engine.cpu(), time.Now()
	if err := s.startWorker(ctx); err != nil {
		return result{}, err
	}
	err = until(ctx, func() error {
		judged, err := s.judged(ctx)
		if err == nil && judged < traces {
			err = fmt.Errorf("%d traces of %d judged", judged, traces)
		}
		return err
	})
	spans := float64(traces * spansPerTrace)
	return result{
		rate:      spans / time.Since(began).Seconds(),
		engineCPU: (s.engine.cpu() - engineBefore).Seconds() * 1e6 / spans,
		workerCPU: s.worker.cpu().Seconds() * 1e6 / spans,
	}, err
}

// merged is an error while the engine merges what was inserted.
func (s *stack) merged() error {
	before := s.engine.cpu()
	time.Sleep(500 * time.Millisecond)
	if busy := s.engine.cpu() - before; busy > 50*time.Millisecond {
		return fmt.Errorf("the engine still merges: %s in half a second", busy)
	}
	return nil
}

// judged is how many traces the worker has judged; each of them has an account.
func (s *stack) judged(ctx context.Context) (int, error) {
	if s.worker == nil {
		return 0, nil
	}
	text, err := query(ctx, s.address, "SELECT uniqExact(trace_id) FROM accounts")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// ingest sends requests and waits until all rows of their traces, beside those of earlier traces, can be read.
func (s *stack) ingest(ctx context.Context, m mode, requests [][]byte, traces, earlier int) error {
	if err := send(ctx, s.conn, requests); err != nil {
		return err
	}
	counts := map[string]int{m.count: m.spans(traces + earlier)}
	if m.args == nil { // both tables are written: the slower one counts
		counts[countHops] = (traces + earlier) * hopsPerTrace
	}
	for sql, want := range counts {
		if err := until(ctx, func() error {
			got, err := query(ctx, s.address, sql)
			if err == nil && got != strconv.Itoa(want) {
				err = fmt.Errorf("%s rows of %d", got, want)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// send sends all requests over a few streams, each again until it is acknowledged.
func send(ctx context.Context, conn *grpc.ClientConn, requests [][]byte) error {
	var (
		next  atomic.Int64
		group sync.WaitGroup
		errs  = make(chan error, 4)
	)
	for range cap(errs) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(requests) {
					return
				}
				if err := until(ctx, func() error { return export(ctx, conn, requests[i]) }); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func export(ctx context.Context, conn *grpc.ClientConn, request []byte) error {
	var answer []byte
	return conn.Invoke(ctx, "/opentelemetry.proto.collector.trace.v1.TraceService/Export", &request, &answer, grpc.ForceCodecV2(raw{}))
}

// raw passes bytes that are encoded already.
type raw struct{}

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (raw) Name() string { return "proto" }

// until asks again until there is no error, for two minutes at most.
func until(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func query(ctx context.Context, engine, sql string) (string, error) {
	database := "laxity"
	if sql == "SELECT 1" {
		database = "default"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+engine+"/?database="+database, strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return strings.TrimSpace(string(body)), err
}

// process is one part under measurement.
type process struct{ cmd *exec.Cmd }

func start(ctx context.Context, binary string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd}, nil
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// cpu is the processor time so far, of all threads, in units of a hundredth of a second.
func (p *process) cpu() time.Duration {
	if p == nil {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (p *process) peakMiB() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	_, _ = fmt.Sscan(rest, &kib)
	return kib / 1024
}
