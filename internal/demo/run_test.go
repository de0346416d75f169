package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// receiver is an OTLP receiver that keeps what it gets.
type receiver struct {
	coltracepb.UnimplementedTraceServiceServer
	memory
	address string
}

func (r *receiver) Export(ctx context.Context, req *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	return &coltracepb.ExportTraceServiceResponse{}, r.UploadTraces(ctx, req.ResourceSpans)
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{address: listener.Addr().String()}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(32 << 20))
	coltracepb.RegisterTraceServiceServer(server, r)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return r
}

func TestRunSendsEverySpanItCounts(t *testing.T) {
	r := startReceiver(t)
	log := filepath.Join(t.TempDir(), "faults.jsonl")
	settings := Settings{
		OTLP: r.address, Rates: map[Fault]float64{RenewedClock: 0.5}, FaultLog: log, Backfill: 2,
		Load: Load{Requests: 20, Concurrency: 20, Seed: 1},
	}
	var out bytes.Buffer
	if err := Run(t.Context(), settings, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	arrived := countSpans(r.spans)
	var history, live Counts
	for line := range strings.Lines(out.String()) {
		_, _ = fmt.Sscanf(line, "history: 2 days, spans: %d made, %d sent", &history.Made, &history.Sent)
		_, _ = fmt.Sscanf(line, "spans: %d made, %d sent", &live.Made, &live.Sent)
	}
	if history.Sent == 0 || live.Sent == 0 || arrived != history.Sent+live.Sent || history.Made != history.Sent || live.Made != live.Sent {
		t.Errorf("%d spans arrived, the demo said\n%s", arrived, &out)
	}
	for _, rs := range r.spans {
		marked := false
		for _, kv := range rs.Resource.Attributes {
			marked = marked || kv.Key == SampleAttribute && kv.Value.GetBoolValue()
		}
		if !marked {
			t.Fatalf("spans of %v do not say that they are samples", rs.Resource.Attributes)
		}
	}
	file, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		var e Effect
		if err := json.Unmarshal(line, &e); err != nil || e.Fault != RenewedClock || e.TraceID == "" || e.Service != "retrieval" {
			t.Errorf("line of the fault log: %s: %v", line, err)
		}
	}
	if len(file) == 0 {
		t.Error("the fault log is empty")
	}
}

func TestRunSaysThatNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	err = Run(t.Context(), Settings{OTLP: address, Load: Load{Concurrency: 1}}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "start `laxity up`") {
		t.Errorf("without a receiver: %v", err)
	}
}

func TestRunEndsWithItsContextAndSendsAll(t *testing.T) {
	r := startReceiver(t)
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	var out bytes.Buffer
	if err := Run(ctx, Settings{OTLP: r.address, Load: Load{Rate: 20, Concurrency: 10}}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if got := countSpans(r.spans); got == 0 || !strings.Contains(out.String(), fmt.Sprintf("%d made, %d sent, 0 failed, 0 dropped", got, got)) {
		t.Errorf("%d spans arrived, the demo said\n%s", got, &out)
	}
}

func TestFaultsAreSwitchedWhileRunning(t *testing.T) {
	d, err := Start(t.Context(), Config{Spans: &memory{}, Timing: Timing{Work: 0.1, Limits: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close(context.WithoutCancel(t.Context()))
	remote := Remote(d.URL())
	if _, err := remote.Set(t.Context(), RenewedClock, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(t.Context(), Load{Requests: 3, Concurrency: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Set(t.Context(), RenewedClock, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(t.Context(), Load{Requests: 3, Concurrency: 1}); err != nil {
		t.Fatal(err)
	}
	states, err := remote.Faults(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		if want := map[bool]int64{true: 3}[s.Name == RenewedClock]; s.TookEffect != want || s.Rate != 0 {
			t.Errorf("%s took effect %d times, now at rate %v; want %d, 0", s.Name, s.TookEffect, s.Rate, want)
		}
	}
	if _, err := remote.Set(t.Context(), "no_such_fault", 1); err == nil || !strings.Contains(err.Error(), "renewed_clock") {
		t.Errorf("an unknown fault: %v", err)
	}
	if _, err := remote.Set(t.Context(), Freeze, 2); err == nil {
		t.Error("a rate of 2 was accepted")
	}
}
