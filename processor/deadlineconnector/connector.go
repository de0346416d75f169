package deadlineconnector

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
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

// shards is how many parts the series are in, each with a lock of its own, so that requests are counted side by side.
const shards = 1 << shardBits

const shardBits = 3

type shard struct {
	mu sync.Mutex
	*table
}

func shardOf(hash uint64) int { return int(hash >> (64 - shardBits)) }

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

	limit  limit
	shards [shards]shard
	// rest takes what the limit leaves no series for, all in one place.
	rest   shard
	spills atomic.Int64 // observations in it since the last export
	turn   atomic.Uint32

	bones     sync.Mutex
	skeletons *skeletons // nil if they are off

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
	began := m.clock.now()
	m.limit.max = int64(config.MaxSeries)
	for i := range m.shards {
		m.shards[i].table = newTable(&m.limit, &m.bounds, began)
	}
	m.rest.table = newTable(&limit{max: math.MaxInt64}, &m.bounds, began)
	m.rest.at(&place{}, 0)
	if config.Exponential.Enabled {
		m.rest.most = config.Exponential.MaxSize
		for i := range m.shards {
			m.shards[i].most = config.Exponential.MaxSize
		}
	}
	for id := range m.bounds {
		m.bounds[id] = config.Buckets
	}
	m.bounds[mUsedRatio] = config.RatioBuckets
	if config.Skeletons.Enabled {
		m.skeletons = newSkeletons(config.Skeletons.MemoryMiB<<20, &m.ids)
	}
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
			m.export(context.Background(), false)
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
	m.export(ctx, true)
	m.own.Shutdown()
	return nil
}

// ConsumeTraces counts the spans. It never refuses any.
func (m *meter) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	b, _ := m.batches.Get().(*batch)
	if b == nil {
		b = newBatch(&m.ids, m.skeletons != nil)
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
		r.clockHash = m.ids.mix(m.ids.service(r.clock), 1, 0) // a clock named as its service must not cancel it out
	}
	return r
}
