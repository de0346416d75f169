package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/laxity-dev/laxity/processor/deadlineconnector"
)

// result of one measurement: spans a second, microseconds of processor time for each span, and the peak of resident memory
// over what the process had before the connector.
type result struct {
	Rate, CPU, PeakMiB float64
	LabelSets, Series  int
}

// settings of each way. The dimensions are the same: service, route, stage, peer, outcome and decision; so are exports, one a second, and
// histograms of 16 bounds. Everything else is as it comes.
var settings = map[string]struct {
	factory connector.Factory
	config  map[string]any
}{
	"spanmetrics": {spanmetricsconnector.NewFactory(), map[string]any{
		"dimensions": []any{
			map[string]any{"name": "http.route"}, map[string]any{"name": "deadline.stage"}, map[string]any{"name": "peer.service"},
			map[string]any{"name": "deadline.outcome"}, map[string]any{"name": "deadline.decision"},
		},
		"exclude_dimensions":     []any{"span.name", "span.kind", "status.code"},
		"histogram":              map[string]any{"unit": "s"},
		"metrics_flush_interval": "1s",
	}},
	"deadline": {deadlineconnector.NewFactory(), map[string]any{
		"flush_interval": "1s", "max_series": 1_000_000, "skeletons": map[string]any{"enabled": false},
	}},
	"deadline, skeletons on": {deadlineconnector.NewFactory(), map[string]any{
		"flush_interval": "1s", "max_series": 1_000_000,
	}},
}

// counter is where the metrics go: it counts the points of the largest export.
type counter struct{ series, labels atomic.Int64 }

func (*counter) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (c *counter) ConsumeMetrics(_ context.Context, md pmetric.Metrics) error {
	c.series.Add(int64(md.DataPointCount()))
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				// One histogram of each span tells the label sets.
				switch name := m.Name(); {
				case strings.HasSuffix(name, "duration"), name == "deadline.margin", name == "deadline.remaining.admission":
					c.labels.Add(int64(m.Histogram().DataPoints().Len()))
				}
			}
		}
	}
	return nil
}

func measure(ctx context.Context, way string, spans int, profile string) (result, error) {
	s, ok := settings[way]
	if !ok {
		return result{}, fmt.Errorf("way %q is not known", way)
	}
	const senders = 2
	runtime.GOMAXPROCS(senders)
	inputs := make([]*input, senders)
	for i := range inputs {
		inputs[i] = newInput(i, senders)
	}
	config := s.factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(s.config).Unmarshal(config); err != nil {
		return result{}, err
	}
	sink := &counter{}
	debug.FreeOSMemory()
	before, err := status("VmRSS:")
	if err != nil {
		return result{}, err
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return result{}, fmt.Errorf("peak of memory: %w", err)
	}
	c, err := s.factory.CreateTracesToMetrics(ctx, connectortest.NewNopSettings(s.factory.Type()), config, sink)
	if err != nil {
		return result{}, err
	}
	if err := c.Start(ctx, componenttest.NewNopHost()); err != nil {
		return result{}, err
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return result{}, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return result{}, err
		}
		defer pprof.StopCPUProfile()
	}
	var group sync.WaitGroup
	var sent atomic.Int64
	errs := make([]error, senders)
	used, began := processor(), time.Now()
	for i, in := range inputs {
		group.Go(func() {
			for sent.Load() < int64(spans) && ctx.Err() == nil && errs[i] == nil {
				td := in.next()
				errs[i] = c.ConsumeTraces(ctx, td)
				sent.Add(int64(td.SpanCount()))
			}
		})
	}
	group.Wait()
	took, cpu := time.Since(began), processor()-used
	// What is exported after this is every series once more, or nothing: the largest export is what counts.
	time.Sleep(1100 * time.Millisecond)
	sink.series.Store(0)
	sink.labels.Store(0)
	time.Sleep(time.Second)
	series, labels := sink.series.Load(), sink.labels.Load()
	peak, err := status("VmHWM:")
	if err := errors.Join(append(errs, err, ctx.Err(), c.Shutdown(ctx))...); err != nil {
		return result{}, err
	}
	n := float64(sent.Load())
	return result{Rate: n / took.Seconds(), CPU: cpu.Seconds() * 1e6 / n, PeakMiB: (peak - before) / 1024, Series: int(series), LabelSets: int(labels)}, nil
}

// processor is the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// status reads a line of this process' status, in KiB.
func status(line string) (float64, error) {
	all, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("memory of this process: %w", err)
	}
	_, rest, _ := strings.Cut(string(all), line)
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0, fmt.Errorf("memory of this process: %w", err)
	}
	return kib, nil
}

// fresh gives a span a trace of its own.
func fresh(n uint64) (id pcommon.TraceID) {
	for i := range 8 {
		id[i], id[15-i] = byte(n>>(8*i)), byte(n>>(8*i))
	}
	return id
}
