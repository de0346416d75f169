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
	own       counters

	mu     sync.Mutex
	series *table
	window *window
	// since is the time of the export before, from which new series count.
	since int64

	stop, stopped chan struct{}
}

func newMeter(set connector.Settings, config *Config, next consumer.Metrics) (*meter, error) {
	own, err := newCounters(set.MeterProvider)
	if err != nil {
		return nil, err
	}
	m := &meter{
		config: config, next: next, logger: set.Logger, resource: identify(set.Resource), described: describe(),
		ids: newIdentifier(), clock: clock{time.Now()}, own: own, window: newWindow(config.DedupSpans),
	}
	for id := range m.bounds {
		m.bounds[id] = config.Buckets
	}
	m.bounds[mUsedRatio] = config.RatioBuckets
	m.series = newTable(config.MaxSeries, &m.bounds)
	m.since = m.clock.now()
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
	return nil
}

// ConsumeTraces counts the spans. It never refuses any.
func (m *meter) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	b, _ := m.batches.Get().(*batch)
	if b == nil {
		b = &batch{}
	}
	defer func() {
		b.reset()
		m.batches.Put(b)
	}()
	if m.config.MaxAge > 0 {
		b.oldest = m.clock.now() - int64(m.config.MaxAge)
	}
	for _, rs := range td.ResourceSpans().All() {
		service := ""
		if v, ok := rs.Resource().Attributes().Get("service.name"); ok {
			service = text(v.AsString())
		}
		hash := m.ids.service(service)
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				key := m.ids.span(s.TraceID(), s.SpanID())
				b.observe(s, service, m.ids.identity(key, hash, s.Kind()))
			}
		}
	}
	m.count(ctx, b)
	return nil
}

// count adds what a batch says to the series.
func (m *meter) count(ctx context.Context, b *batch) {
	var counted, twice int64
	defer func() { m.own.spans(ctx, counted, twice, b) }()
	if len(b.observations) == 0 {
		return
	}
	var last uint64
	again := false
	m.mu.Lock()
	now := m.clock.now()
	for i := range b.observations {
		o := &b.observations[i]
		// One span may be two observations, the one after the other.
		if i == 0 || o.identity != last {
			if last, again = o.identity, m.window.seen(o.identity); again {
				twice++
			} else {
				counted++
			}
		}
		if again {
			continue
		}
		g := m.series.at(o.place)
		for _, v := range b.values[o.from:o.to] {
			p := m.series.add(g, v, o.n, now, m.since)
			if v.miss && m.config.Exemplars {
				if p.exemplar == nil {
					p.exemplar = &exemplar{}
				}
				*p.exemplar = exemplar{o.trace, o.span, v.amount, now, true}
			}
		}
	}
	m.mu.Unlock()
}
