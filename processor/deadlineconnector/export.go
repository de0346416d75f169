package deadlineconnector

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"

	"github.com/laxity-dev/laxity/processor/deadlineconnector/internal/metadata"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// chunk is how many points one export request carries: the memory of an export does not grow with the number of series.
const chunk = 1000

// overflowLabel marks the series that take what max_series has no place for, as OpenTelemetry names it.
const overflowLabel = "otel.metric.overflow"

// export sends every live series, or with deltas those that changed, in requests of bounded size. Last is the one at the end.
func (m *meter) export(ctx context.Context, last bool) {
	e := exporter{m: m, at: m.clock.now(), last: last}
	if m.config.SeriesExpiration > 0 {
		e.before = e.at - int64(m.config.SeriesExpiration)
	}
	evicted := m.forget(e.at)
	expired := e.shard(ctx, &m.rest)
	for i := range m.shards {
		expired += e.shard(ctx, &m.shards[i])
	}
	e.send(ctx)
	m.own.ConnectorDeadlineSeries.Record(ctx, m.limit.used.Load())
	m.own.ConnectorDeadlineExpiredSeries.Add(ctx, expired)
	m.own.ConnectorDeadlineOverflow.Add(ctx, m.spills.Swap(0))
	m.own.ConnectorDeadlineEvictedSkeletons.Add(ctx, evicted)
}

// shard exports the series of a shard, and returns how many have expired. While a request is on its way the lock is free.
func (e *exporter) shard(ctx context.Context, s *shard) (expired int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.table, e.since = s.table, s.since
	s.since = e.at
	for i := 0; i < len(s.order); {
		g := s.order[i]
		s.expire(g, e.before)
		if len(g.points) == 0 && s != &e.m.rest {
			s.remove(i)
			continue
		}
		e.group(g)
		i++
		if e.points >= chunk {
			s.mu.Unlock()
			e.send(ctx)
			s.mu.Lock()
		}
	}
	expired, s.expired = s.expired, 0
	return expired
}

// exporter builds one request after the other.
type exporter struct {
	m       *meter
	at      int64
	before  int64  // what did not change since then expires
	table   *table // of the shard that is exported
	since   int64  // when it was exported before
	last    bool   // none comes after this one
	points  int
	metrics pmetric.Metrics
	slice   pmetric.MetricSlice
	by      [metricCount]pmetric.Metric
	begun   [metricCount]bool
	buckets []uint64
}

func (e *exporter) send(ctx context.Context) {
	if e.points == 0 {
		return
	}
	if err := e.m.next.ConsumeMetrics(ctx, e.metrics); err != nil {
		e.m.logger.Error("metrics could not be handed on", zap.Int("points", e.points), zap.Error(err))
	}
	e.points, e.begun = 0, [metricCount]bool{}
}

// metric returns the metric of the request under way.
func (e *exporter) metric(id metricID) pmetric.Metric {
	if e.points == 0 {
		e.metrics = pmetric.NewMetrics()
		rm := e.metrics.ResourceMetrics().AppendEmpty()
		e.m.resource.CopyTo(rm.Resource())
		sm := rm.ScopeMetrics().AppendEmpty()
		sm.Scope().SetName(metadata.ScopeName)
		e.slice = sm.Metrics()
	}
	if e.begun[id] {
		return e.by[id]
	}
	e.begun[id] = true
	d := &e.m.described[id]
	metric := e.slice.AppendEmpty()
	metric.SetName(d.Name)
	metric.SetUnit(d.Unit)
	metric.SetDescription(d.Meaning)
	temporality := e.m.config.Temporality.pdata()
	switch {
	case kinds[id] == kindHistogram && e.m.config.Exponential.Enabled:
		metric.SetEmptyExponentialHistogram().SetAggregationTemporality(temporality)
	case kinds[id] == kindHistogram:
		metric.SetEmptyHistogram().SetAggregationTemporality(temporality)
	case d.Instrument == budgetattr.Gauge:
		metric.SetEmptySum().SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	default:
		sum := metric.SetEmptySum()
		sum.SetIsMonotonic(true)
		sum.SetAggregationTemporality(temporality)
	}
	e.by[id] = metric
	return metric
}

// group appends the points of a group. The caller holds the lock.
func (e *exporter) group(g *group) {
	delta := e.m.config.Temporality == Delta
	miss := 0 // the metrics that have points
	for i := range g.points {
		p := &g.points[i]
		if delta && !p.fresh && p.metric != mStillRunning {
			continue
		}
		miss |= 1 << p.metric
		if p.start >= e.at { // it began while this export was on its way
			continue
		}
		metric := e.metric(p.metric)
		e.points++
		start := p.start
		if delta && p.metric != mStillRunning {
			start = e.since
		}
		if !p.begun && !delta && !e.last && p.metric != mStillRunning {
			p.begun = true
			e.point(metric, g, &point{metric: p.metric, label: p.label}, start)
			continue
		}
		e.point(metric, g, p, start)
		p.fresh = false
		if p.example != 0 {
			g.rare.examples[p.example-1].fresh = false
		}
		if delta && p.metric != mStillRunning {
			e.table.clear(g, p)
		}
	}
	if g.misses == 0 || g.misses >= e.at || delta && g.misses != e.since {
		return
	}
	for _, m := range missMetrics {
		if miss&(1<<m) == 0 {
			e.points++
			e.number(e.metric(m).Sum().DataPoints().AppendEmpty(), g, &point{metric: m}, g.misses)
		}
	}
}

func (e *exporter) point(to pmetric.Metric, g *group, p *point, start int64) {
	switch {
	case kinds[p.metric] != kindHistogram:
		e.number(to.Sum().DataPoints().AppendEmpty(), g, p, start)
	case e.m.config.Exponential.Enabled:
		e.exponential(to.ExponentialHistogram().DataPoints().AppendEmpty(), g, p, start)
	default:
		e.histogram(to.Histogram().DataPoints().AppendEmpty(), g, p, start)
	}
}

func (e *exporter) number(dp pmetric.NumberDataPoint, g *group, p *point, start int64) {
	dp.SetStartTimestamp(pcommon.Timestamp(start))
	dp.SetTimestamp(pcommon.Timestamp(e.at))
	switch {
	case kinds[p.metric] == kindFloat:
		dp.SetDoubleValue(p.sum)
	case p.metric == mStillRunning:
		dp.SetIntValue(int64(p.sum))
	default:
		dp.SetIntValue(int64(p.count))
	}
	e.label(dp.Attributes(), g, p)
	if x := e.exemplar(g, p); x != nil {
		x.write(dp.Exemplars().AppendEmpty())
	}
}

func (e *exporter) histogram(dp pmetric.HistogramDataPoint, g *group, p *point, start int64) {
	dp.SetStartTimestamp(pcommon.Timestamp(start))
	dp.SetTimestamp(pcommon.Timestamp(e.at))
	dp.SetCount(p.count)
	dp.SetSum(p.sum)
	bounds := e.m.bounds[p.metric]
	dp.ExplicitBounds().FromRaw(bounds)
	if e.buckets = e.table.bucketsOf(g, p, e.buckets[:0]); len(e.buckets) > 0 {
		dp.BucketCounts().FromRaw(e.buckets)
	} else {
		dp.BucketCounts().EnsureCapacity(len(bounds) + 1)
		dp.BucketCounts().Append(p.count)
		for range bounds {
			dp.BucketCounts().Append(0)
		}
	}
	e.label(dp.Attributes(), g, p)
	if x := e.exemplar(g, p); x != nil {
		x.write(dp.Exemplars().AppendEmpty())
	}
}

func (e *exporter) exponential(dp pmetric.ExponentialHistogramDataPoint, g *group, p *point, start int64) {
	dp.SetStartTimestamp(pcommon.Timestamp(start))
	dp.SetTimestamp(pcommon.Timestamp(e.at))
	dp.SetCount(p.count)
	dp.SetSum(p.sum)
	if p.buckets != 0 {
		g.exponential(p).write(dp)
	}
	e.label(dp.Attributes(), g, p)
	if x := e.exemplar(g, p); x != nil {
		x.write(dp.Exemplars().AppendEmpty())
	}
}

// exemplar: a cumulative point shows its latest miss again and again, a delta point only what is new.
func (e *exporter) exemplar(g *group, p *point) *exemplar {
	if p.example == 0 {
		return nil
	}
	if x := &g.rare.examples[p.example-1]; x.fresh || e.m.config.Temporality == Cumulative {
		return x
	}
	return nil
}

func (x *exemplar) write(to pmetric.Exemplar) {
	to.SetTimestamp(pcommon.Timestamp(x.at))
	to.SetTraceID(x.trace)
	to.SetSpanID(x.span)
	to.SetDoubleValue(x.value)
}

func (e *exporter) label(attrs pcommon.Map, g *group, p *point) {
	if e.table == e.m.rest.table {
		attrs.PutBool(overflowLabel, true)
		return
	}
	attrs.EnsureCapacity(4)
	attrs.PutStr(budgetattr.LabelService, g.service.Value())
	put := func(key, value string) {
		if value != "" {
			attrs.PutStr(key, value)
		}
	}
	put(budgetattr.LabelRoute, g.route.Value())
	put(budgetattr.LabelStage, g.stage.Value())
	put(budgetattr.LabelPeer, g.peer.Value())
	if label := e.m.described[p.metric].Label; label != "" {
		put(label, e.table.labels.all[p.label])
	}
}
