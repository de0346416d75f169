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

// export sends every live series, or with deltas those that changed, in requests of bounded size.
func (m *meter) export(ctx context.Context) {
	now := m.clock.now()
	e := exporter{m: m, at: now}
	m.mu.Lock()
	var evicted int64
	if m.skeletons != nil {
		m.forget(now)
		evicted, m.skeletons.evicted = m.skeletons.evicted, 0
	}
	since := m.since
	m.since = now
	e.since = since
	before := int64(0)
	if m.config.SeriesExpiration > 0 {
		before = now - int64(m.config.SeriesExpiration)
	}
	e.group(&m.series.overflow)
	for i := 0; i < len(m.series.order); {
		g := m.series.order[i]
		m.series.expire(g, before)
		if len(g.points) == 0 {
			m.series.remove(i)
			continue
		}
		e.group(g)
		i++
		if e.points >= chunk {
			m.mu.Unlock()
			e.send(ctx)
			m.mu.Lock()
		}
	}
	series, expired, spilled := m.series.series, m.series.expired, m.series.spilled
	m.series.expired, m.series.spilled = 0, 0
	m.mu.Unlock()
	e.send(ctx)
	m.own.ConnectorDeadlineSeries.Record(ctx, int64(series))
	m.own.ConnectorDeadlineExpiredSeries.Add(ctx, expired)
	m.own.ConnectorDeadlineOverflow.Add(ctx, spilled)
	m.own.ConnectorDeadlineEvictedSkeletons.Add(ctx, evicted)
}

// exporter builds one request after the other.
type exporter struct {
	m         *meter
	at, since int64
	points    int
	metrics   pmetric.Metrics
	slice     pmetric.MetricSlice
	by        [metricCount]pmetric.Metric
	begun     [metricCount]bool
	buckets   []uint64
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
	for i := range g.points {
		p := &g.points[i]
		if delta && !p.fresh && p.metric != mStillRunning {
			continue
		}
		if p.start >= e.at { // it began while this export was on its way
			continue
		}
		metric := e.metric(p.metric)
		e.points++
		start := p.start
		if delta && p.metric != mStillRunning {
			start = e.since
		}
		if kinds[p.metric] == kindHistogram {
			e.histogram(metric.Histogram().DataPoints().AppendEmpty(), g, p, start)
		} else {
			e.number(metric.Sum().DataPoints().AppendEmpty(), g, p, start)
		}
		p.fresh = false
		if p.example != nil {
			p.example.fresh = false
		}
		if delta && p.metric != mStillRunning {
			e.m.series.clear(g, p)
		}
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
	if e.hasExemplar(p) {
		p.example.write(dp.Exemplars().AppendEmpty())
	}
}

func (e *exporter) histogram(dp pmetric.HistogramDataPoint, g *group, p *point, start int64) {
	dp.SetStartTimestamp(pcommon.Timestamp(start))
	dp.SetTimestamp(pcommon.Timestamp(e.at))
	dp.SetCount(p.count)
	dp.SetSum(p.sum)
	bounds := e.m.bounds[p.metric]
	dp.ExplicitBounds().FromRaw(bounds)
	if e.buckets = e.m.series.bucketsOf(g, p, e.buckets[:0]); len(e.buckets) > 0 {
		dp.BucketCounts().FromRaw(e.buckets)
	} else {
		dp.BucketCounts().EnsureCapacity(len(bounds) + 1)
		dp.BucketCounts().Append(p.count)
		for range bounds {
			dp.BucketCounts().Append(0)
		}
	}
	e.label(dp.Attributes(), g, p)
	if e.hasExemplar(p) {
		p.example.write(dp.Exemplars().AppendEmpty())
	}
}

// hasExemplar: a cumulative point shows its latest miss again and again, a delta point only what is new.
func (e *exporter) hasExemplar(p *point) bool {
	return p.example != nil && (p.example.fresh || e.m.config.Temporality == Cumulative)
}

func (x *exemplar) write(to pmetric.Exemplar) {
	to.SetTimestamp(pcommon.Timestamp(x.at))
	to.SetTraceID(x.trace)
	to.SetSpanID(x.span)
	to.SetDoubleValue(x.value)
}

func (e *exporter) label(attrs pcommon.Map, g *group, p *point) {
	if g == &e.m.series.overflow {
		attrs.PutBool(overflowLabel, true)
		return
	}
	attrs.EnsureCapacity(4)
	attrs.PutStr(budgetattr.LabelService, g.place.service)
	put := func(key, value string) {
		if value != "" {
			attrs.PutStr(key, value)
		}
	}
	put(budgetattr.LabelRoute, g.place.route)
	put(budgetattr.LabelStage, g.place.stage)
	put(budgetattr.LabelPeer, g.place.peer)
	if label := e.m.described[p.metric].Label; label != "" {
		put(label, e.m.series.labels.all[p.label])
	}
}
