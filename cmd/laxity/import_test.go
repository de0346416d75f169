package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/laxity-dev/laxity/internal/tracefile"
)

// receiver is an OTLP server that keeps what it gets and answers as the test wants.
type receiver struct {
	collectorpb.UnimplementedTraceServiceServer
	answer func(call int, r *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error)

	mu       sync.Mutex
	calls    int
	ids      map[string]int
	largest  int
	metadata metadata.MD
}

func (r *receiver) Export(ctx context.Context, request *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	r.metadata, _ = metadata.FromIncomingContext(ctx)
	r.largest = max(r.largest, proto.Size(request))
	if r.answer != nil {
		if response, err := r.answer(r.calls, request); response != nil || err != nil {
			return response, err
		}
	}
	for _, rs := range request.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, sp := range ss.Spans {
				r.ids[fmt.Sprintf("%x/%x", sp.TraceId, sp.SpanId)]++
			}
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func startReceiver(t *testing.T, r *receiver) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.ids = map[string]int{}
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, r)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func samplePath(name string) string {
	return filepath.Join("..", "..", "internal", "tracefile", "testdata", "traces", filepath.FromSlash(name))
}

func runImportTest(t *testing.T, flags importFlags, files ...string) (out, notes string, err error) {
	t.Helper()
	if flags.output == "" {
		flags.output = "text"
	}
	if flags.retryFor == 0 {
		flags.retryFor = 10 * time.Second
	}
	var o, n bytes.Buffer
	err = runImport(t.Context(), &o, &n, files, flags)
	return o.String(), n.String(), err
}

func TestImportSendsEverySpanOnceUnderTheSameIDs(t *testing.T) {
	r := &receiver{}
	address := startReceiver(t, r)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for round := 1; round <= 2; round++ {
		out, _, err := runImportTest(t, importFlags{address: address, tokenFile: token}, samplePath(""), samplePath("zipkin-shapes/skew.json"))
		if err != nil {
			t.Fatal(err, out)
		}
		for _, want := range []string{"Imported 289 spans in 36 traces from 14 files", "trainticket-zipkin1/cancel-2.json: Zipkin v1 JSON, 23 spans in 1 trace (10 records of two services became two each)",
			"laxity report margin --from 1970-01-01T00:00:00Z --to 2026-02-27T"} {
			if !strings.Contains(out, want) {
				t.Errorf("round %d: want %q in:\n%s", round, want, out)
			}
		}
		for id, n := range r.ids {
			if n%round != 0 {
				t.Errorf("round %d: span %s came %d times", round, id, n)
			}
		}
	}
	// traces.pb and traces.jsonl hold the same 19 spans, skew.json was named twice.
	if len(r.ids) != 285-19 {
		t.Errorf("%d different spans", len(r.ids))
	}
	if got := r.metadata.Get("authorization"); len(got) != 1 || got[0] != "Bearer secret" {
		t.Errorf("authorization %v", got)
	}
}

func TestImportReportsRefusals(t *testing.T) {
	address := startReceiver(t, &receiver{})
	file := filepath.Join(t.TempDir(), "spans.jsonl")
	good := `{"traceId":"1","id":"%d","name":"z","timestamp":5,"duration":7,"localEndpoint":{"serviceName":"zs"}}` + "\n"
	content := fmt.Sprintf(good, 1) + "{\"traceId\n" + fmt.Sprintf(good, 2) + `{"traceId":"1","id":"3"}` + "\n" + `{"resourceLogs":[]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := runImportTest(t, importFlags{address: address}, file)
	if !errors.Is(err, errReported) {
		t.Errorf("error %v, want the exit code 1", err)
	}
	want := file + `: Zipkin v2 JSON, 2 spans in 1 trace, 1 record of logs and metrics passed over, 2 refused:
  line 2, byte 100: the line ends inside a text
  line 4, byte 210: no start time

Imported 2 spans in 1 trace from 1 file in `
	if !strings.HasPrefix(out, want) {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}

	out, _, err = runImportTest(t, importFlags{address: address, output: "json"}, file)
	var report importReport
	if jsonErr := json.Unmarshal([]byte(out), &report); jsonErr != nil || !errors.Is(err, errReported) {
		t.Fatal(jsonErr, err, out)
	}
	if report.Spans != 2 || report.Refused != 2 || report.Files[0].Refusals[1] != (importRefusal{Line: 4, Offset: 210, Reason: "no start time"}) {
		t.Errorf("%s", out)
	}
}

func TestImportOfWhatIsNoTrace(t *testing.T) {
	address := startReceiver(t, &receiver{})
	dir := t.TempDir()
	note := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(note, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, err := runImportTest(t, importFlags{address: address}, note); !errors.Is(err, errReported) || !strings.Contains(out, "no traces in a known format") {
		t.Errorf("named: %v\n%s", err, out)
	}
	if out, _, err := runImportTest(t, importFlags{address: address}, dir); err != nil || !strings.Contains(out, "passed over") {
		t.Errorf("in a folder: %v\n%s", err, out)
	}
	for _, missing := range []string{filepath.Join(dir, "nothing.json"), filepath.Join(dir, "*.json")} {
		if _, _, err := runImportTest(t, importFlags{address: address}, missing); err == nil {
			t.Errorf("%s: no error", missing)
		}
	}
}

func TestImportTriesAgain(t *testing.T) {
	busy, err := status.New(codes.ResourceExhausted, "queue is full").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{answer: func(call int, _ *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
		switch {
		case call <= 2:
			return nil, status.Error(codes.Unavailable, "starting")
		case call <= 4:
			return nil, busy.Err()
		}
		return nil, nil
	}}
	address := startReceiver(t, r)
	_, notes, err := runImportTest(t, importFlags{address: address}, samplePath("zipkin-shapes/skew.json"))
	if err != nil || len(r.ids) != 4 || r.calls != 5 || strings.Count(notes, "waiting for") != 1 {
		t.Errorf("%v after %d calls, %d spans; %s", err, r.calls, len(r.ids), notes)
	}
}

func TestImportGivesUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, _, err = runImportTest(t, importFlags{address: address, retryFor: time.Nanosecond}, samplePath("zipkin-shapes/skew.json"))
	if err == nil || !strings.Contains(err.Error(), "laxity up") {
		t.Errorf("got %v", err)
	}
	denied := startReceiver(t, &receiver{answer: func(int, *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
		return nil, status.Error(codes.Unauthenticated, "no token")
	}})
	_, _, err = runImportTest(t, importFlags{address: denied}, samplePath("zipkin-shapes/skew.json"))
	if err == nil || !strings.Contains(err.Error(), "--token-file") {
		t.Errorf("got %v", err)
	}
}

func TestImportReportsWhatTheReceiverRejects(t *testing.T) {
	address := startReceiver(t, &receiver{answer: func(int, *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
		return &collectorpb.ExportTraceServiceResponse{PartialSuccess: &collectorpb.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "too old"}}, nil
	}})
	out, _, err := runImportTest(t, importFlags{address: address}, samplePath("zipkin-shapes/skew.json"))
	if !errors.Is(err, errReported) || !strings.Contains(out, "3 spans rejected by the receiver: too old") || !strings.Contains(out, "Imported 1 span in") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A receiver may take less than we send at once; only a span that fits in no message is lost, and said to be.
func TestImportCutsMessages(t *testing.T) {
	const limit = 20 << 10
	r := &receiver{}
	r.answer = func(_ int, request *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
		if size := proto.Size(request); size > limit {
			return nil, status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", size, limit)
		}
		return nil, nil
	}
	address := startReceiver(t, r)
	large := filepath.Join(t.TempDir(), "large.json")
	text := `[{"traceId":"1","id":"1","name":"` + strings.Repeat("x", 2*limit) + `","timestamp":5},{"traceId":"1","id":"2","name":"z","timestamp":5}]`
	if err := os.WriteFile(large, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := runImportTest(t, importFlags{address: address}, samplePath("dsb-social-jaeger/traces-first3.json.gz"), large)
	if !errors.Is(err, errReported) || len(r.ids) != 100 || !strings.Contains(out, "larger than a message may be") {
		t.Errorf("%v, %d spans\n%s", err, len(r.ids), out)
	}
}

func TestCutMessagesKeepsEverySpan(t *testing.T) {
	file, err := tracefile.ReadFile(samplePath("dsb-social-jaeger/traces-first3.json.gz"), tracefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 1000, 5000, 1 << 20} {
		total := 0
		seen := map[*tracepb.Span]bool{}
		for _, message := range cutMessages(file.Resources, size) {
			n := countSpans(message)
			total += n
			if got := proto.Size(&collectorpb.ExportTraceServiceRequest{ResourceSpans: message}); got > size && n > 1 {
				t.Errorf("a message of %d bytes and %d spans, at most %d bytes wanted", got, n, size)
			}
			for _, rs := range message {
				for _, ss := range rs.ScopeSpans {
					for _, sp := range ss.Spans {
						seen[sp] = true
					}
				}
			}
		}
		if total != file.Spans || len(seen) != file.Spans {
			t.Errorf("size %d: %d spans, %d different, of %d", size, total, len(seen), file.Spans)
		}
	}
}
