package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
)

const (
	connectWait = 5 * time.Second
	closeWait   = 20 * time.Second
)

// Settings are everything that can be said to `laxity demo`.
type Settings struct {
	OTLP     string // address of an OTLP gRPC receiver
	Listen   string // address of the edge and its control endpoint
	Rates    map[Fault]float64
	FaultLog string // file that gets one line of JSON for each fault that took effect; empty for none
	Load     Load
	Backfill int  // days of sample history to send first
	NoLoad   bool // only the history
	// ReportGrows is Config.ReportGrows.
	ReportGrows time.Duration
	Quiet       bool // print no line for each fault
}

// Run sends the sample history, plays the services until the load ends or the context does, and says what was sent. It
// is an error if spans were lost.
func Run(ctx context.Context, s Settings, out io.Writer) (err error) {
	if err := s.Load.Validate(); err != nil {
		return err
	}
	if err := reachable(ctx, s.OTLP); err != nil {
		return err
	}
	p := &printer{out: out, quiet: s.Quiet}
	if s.Backfill > 0 {
		if err := sendHistory(ctx, s, p); err != nil {
			return err
		}
	}
	if s.NoLoad {
		return nil
	}
	log, err := openFaultLog(s.FaultLog)
	if err != nil {
		return err
	}
	faults := NewInjector(s.Rates, log, p.effect)
	defer func() { err = errors.Join(err, faults.Err(), log.Close()) }()
	d, err := Start(ctx, Config{Spans: newClient(s.OTLP), Faults: faults, Listen: s.Listen, ReportGrows: s.ReportGrows})
	if err != nil {
		return err
	}
	p.printf("sample services: edge on %s, spans to %s, marked %s=true\n", d.URL(), s.OTLP, SampleAttribute)
	p.printf("faults: %s\n", describeRates(s.Rates))
	answers, loading := d.Load(ctx, s.Load)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
	defer cancel()
	counts, err := d.Close(closing)
	p.printf("requests: %s\nspans: %s\n", answers, counts)
	return errors.Join(loading, err, counts.Lost())
}

func newClient(address string) otlptrace.Client {
	return otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(address), otlptracegrpc.WithInsecure())
}

// reachable tells early that nobody takes the spans.
func reachable(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("no OTLP receiver on %s (%w); start `laxity up` first, or name another receiver with --otlp-grpc", address, err)
	}
	return conn.Close()
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func openFaultLog(path string) (io.WriteCloser, error) {
	if path == "" {
		return nopCloser{io.Discard}, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("fault log: %w", err)
	}
	return file, nil
}

// printer writes whole lines from several goroutines.
type printer struct {
	mu    sync.Mutex
	out   io.Writer
	quiet bool
}

func (p *printer) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format, args...)
}

func (p *printer) effect(e Effect) {
	if !p.quiet {
		p.printf("%s  %-15s by %-9s  laxity trace %s\n", e.Time.Format(time.TimeOnly), e.Fault, e.Service, e.TraceID)
	}
}

func describeRates(rates map[Fault]float64) string {
	var parts []string
	for _, f := range Faults() {
		if rates[f] > 0 {
			parts = append(parts, fmt.Sprintf("%s %.3g %%", f, rates[f]*100))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// String lists the answers by status.
func (a Answers) String() string {
	total := 0
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(a)) {
		total += a[status]
		name := strconv.Itoa(status)
		if status == 0 {
			name = "no answer"
		}
		parts = append(parts, fmt.Sprintf("%s: %d", name, a[status]))
	}
	return fmt.Sprintf("%d (%s)", total, strings.Join(parts, ", "))
}
