package deadlineconnector

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/processor/deadlineconnector/internal/metadata"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// meter is the connector.
type meter struct {
	config    *Config
	next      consumer.Metrics
	logger    *zap.Logger
	resource  pcommon.Resource
	described [metricCount]budgetattr.Metric
	bounds    [metricCount][]float64
	ids       identifier
	clock     clock
	batches   sync.Pool
	own       *metadata.TelemetryBuilder

	window *window // nil if none is remembered

	mu     sync.Mutex
	series *table
	// skeletons is nil if they are off.
	skeletons *skeletons
	// since is the time of the export before, from which new series count.
	since int64

	stop, stopped chan struct{}
}

func newMeter(set connector.Settings, config *Config, next consumer.Metrics) (*meter, error) {
	own, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	m := &meter{
		config: config, next: next, logger: set.Logger, resource: identify(set.Resource), described: describe(),
		ids: newIdentifier(), clock: newClock(), own: own, window: newWindow(config.DedupSpans),
	}
	for id := range m.bounds {
		m.bounds[id] = config.Buckets
	}
	m.bounds[mUsedRatio] = config.RatioBuckets
	if config.Skeletons.Enabled {
		m.skeletons = newSkeletons(config.Skeletons.MemoryMiB << 20)
	}
	m.since = m.clock.now()
	m.series = newTable(config.MaxSeries, &m.bounds, m.since)
	return m, nil
}

// identify returns the resource of the metrics: the collector itself, so that no two collectors write one series.
func identify(own pcommon.Resource) pcommon.Resource {
	r := pcommon.NewResource()
	if own != (pcommon.Resource{}) {
		own.CopyTo(r)
	}
	if v, ok := r.Attributes().Get("service.instance.id"); !ok || v.AsString() == "" {
		r.Attributes().PutStr("service.instance.id", uuid.NewString())
	}
	return r
}

// Capabilities says that spans are only read.
func (m *meter) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// Start begins to export.
func (m *meter) Start(context.Context, component.Host) error {
	m.stop, m.stopped = make(chan struct{}), make(chan struct{})
	go m.run()
	return nil
}

func (m *meter) run() {
	defer close(m.stopped)
	ticker := time.NewTicker(m.config.FlushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.export(context.Background())
		case <-m.stop:
			return
		}
	}
}

// Shutdown exports what has been counted since the last export and stops.
func (m *meter) Shutdown(ctx context.Context) error {
	if m.stop == nil {
		return nil
	}
	close(m.stop)
	<-m.stopped
	m.stop = nil
	m.export(ctx)
	m.own.Shutdown()
	return nil
}

// ConsumeTraces counts the spans. It never refuses any.
func (m *meter) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	b, _ := m.batches.Get().(*batch)
	if b == nil {
		b = &batch{ids: &m.ids, skeletons: m.skeletons != nil}
	}
	defer func() {
		b.reset()
		m.batches.Put(b)
	}()
	if m.config.MaxAge > 0 {
		b.oldest = m.clock.now() - int64(m.config.MaxAge)
	}
	for _, rs := range td.ResourceSpans().All() {
		r := m.read(rs.Resource(), b)
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				b.observe(s, &r)
			}
		}
	}
	m.count(ctx, b)
	return nil
}

// read reads what the spans of one resource have in common.
func (m *meter) read(in pcommon.Resource, b *batch) (r resource) {
	attrs := in.Attributes()
	if v, ok := attrs.Get("service.name"); ok {
		r.service = text(v.AsString())
	}
	r.hash = m.ids.service(r.service)
	if b.skeletons {
		s := span.Span{Service: r.service, Resource: span.Attributes{}}
		for _, key := range [...]string{"service.instance.id", "host.id", "host.name", "process.pid"} {
			if v, ok := attrs.Get(key); ok {
				s.Resource[key] = v.AsString()
			}
		}
		r.clock = text(verdict.ClockOf(&s))
	}
	return r
}

// count adds what a batch says to the series.
func (m *meter) count(ctx context.Context, b *batch) {
	var counted, twice int64
	defer func() { m.tell(ctx, counted, twice, b) }()
	if len(b.notes) == 0 {
		return
	}
	// What is looked up far apart in memory is looked up first, for all, so that the waits for it overlap.
	if m.window != nil {
		m.window.mark(b.notes)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range b.observations {
		o := &b.observations[i]
		if o.group = m.series.groups[o.hash]; o.group != nil && len(o.group.points) > 0 {
			o.first = o.group.points[0].metric
		}
	}
	now := m.clock.now()
	for i := range b.notes {
		n := &b.notes[i]
		if n.again {
			twice++
			continue
		}
		if n.to > n.from {
			counted++
		}
		for j := n.from; j < n.to; j++ {
			o := &b.observations[j]
			g := o.group
			if g == nil {
				g = m.series.at(o.place, o.hash)
			}
			for k := o.from; k < o.to; k++ {
				m.add(g, &b.values[k], n.n, n, now)
			}
		}
		if n.bone != none {
			m.find(b, n, now)
		}
	}
}

// add counts one value, and keeps the span as the example of a miss.
func (m *meter) add(g *group, v *value, times uint64, n *note, now int64) {
	p := m.series.add(g, v, times, now, m.since)
	if v.miss && m.config.Exemplars {
		if p.example == nil {
			p.example = &exemplar{}
		}
		*p.example = exemplar{n.trace, n.span, v.amount, now, true}
	}
}
