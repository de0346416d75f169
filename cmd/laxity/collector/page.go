package collector

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// page is the one Prometheus page of the collector: what it tells about itself, and the metrics of the pipelines that end here.
type page struct {
	mu     sync.Mutex
	own    prometheus.Gatherer // the collector's own metrics, nil without them
	series map[string]*pageSeries
	descs  map[string]*prometheus.Desc
	names  map[string]string // by the metric's name and unit
}

func newPage() *page {
	return &page{series: map[string]*pageSeries{}, descs: map[string]*prometheus.Desc{}, names: map[string]string{}}
}

// pageConfig of the exporter that feeds the page.
type pageConfig struct {
	// Endpoint is the host:port of the page.
	Endpoint string `mapstructure:"endpoint"`
	// Expiration removes a series that is not exported any more. 1m.
	Expiration time.Duration `mapstructure:"expiration"`
}

// Validate says what is wrong with the configuration.
func (c *pageConfig) Validate() error {
	if _, _, err := net.SplitHostPort(c.Endpoint); err != nil {
		return fmt.Errorf("endpoint %q: want host:port", c.Endpoint)
	}
	if c.Expiration <= 0 {
		return fmt.Errorf("expiration is %s; it must be positive", c.Expiration)
	}
	return nil
}

// factory returns the factory of the exporter that feeds the page and serves it.
func (p *page) factory() exporter.Factory {
	return exporter.NewFactory(
		component.MustNewType("metrics_page"),
		func() component.Config { return &pageConfig{Endpoint: "127.0.0.1:9464", Expiration: time.Minute} },
		exporter.WithMetrics(func(_ context.Context, _ exporter.Settings, cfg component.Config) (exporter.Metrics, error) {
			return &pageExporter{page: p, config: cfg.(*pageConfig)}, nil
		}, component.StabilityLevelBeta),
	)
}

// pageExporter serves the page between Start and Shutdown.
type pageExporter struct {
	page   *page
	config *pageConfig
	server *http.Server
	served chan error
}

// Capabilities says that metrics are only read.
func (*pageExporter) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// Start begins to serve.
func (e *pageExporter) Start(ctx context.Context, _ component.Host) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", e.config.Endpoint)
	if err != nil {
		return fmt.Errorf("metrics page: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(e.page.gatherer(), promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError}))
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	e.served = make(chan error, 1)
	go func() { e.served <- e.server.Serve(listener) }()
	return nil
}

// Shutdown stops serving.
func (e *pageExporter) Shutdown(ctx context.Context) error {
	if e.server == nil {
		return nil
	}
	err := e.server.Shutdown(ctx)
	if served := <-e.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	e.server = nil
	return err
}

// gatherer gathers both parts of the page.
func (p *page) gatherer() prometheus.Gatherer {
	registry := prometheus.NewRegistry()
	registry.MustRegister(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own == nil {
		return registry
	}
	return prometheus.Gatherers{p.own, registry}
}

// pageSeries is the latest point of one series.
type pageSeries struct {
	desc     *prometheus.Desc
	values   []string
	kind     prometheus.ValueType // 0 is a histogram
	value    float64
	count    uint64
	bounds   []float64
	buckets  []uint64
	exemplar *prometheus.Exemplar
	start    time.Time
	at       time.Time
}

// errDelta says what a page of Prometheus cannot show.
var errDelta = errors.New("a Prometheus page shows cumulative points only; set the temporality of what feeds it to cumulative")

// ConsumeMetrics keeps the points for the next reader.
func (e *pageExporter) ConsumeMetrics(_ context.Context, md pmetric.Metrics) error {
	p := e.page
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	var errs error
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				errs = errors.Join(errs, p.keep(m, now))
			}
		}
	}
	for key, s := range p.series {
		if now.Sub(s.at) > e.config.Expiration {
			delete(p.series, key)
		}
	}
	if errs != nil {
		return consumererror.NewPermanent(errs)
	}
	return nil
}

// keep takes the points of one metric. The caller holds the lock.
func (p *page) keep(m pmetric.Metric, now time.Time) error {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return p.numbers(m, m.Gauge().DataPoints(), otlptranslator.MetricTypeGauge, prometheus.GaugeValue, now)
	case pmetric.MetricTypeSum:
		s := m.Sum()
		if s.AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
			return fmt.Errorf("%s: %w", m.Name(), errDelta)
		}
		if s.IsMonotonic() {
			return p.numbers(m, s.DataPoints(), otlptranslator.MetricTypeMonotonicCounter, prometheus.CounterValue, now)
		}
		return p.numbers(m, s.DataPoints(), otlptranslator.MetricTypeNonMonotonicCounter, prometheus.GaugeValue, now)
	case pmetric.MetricTypeHistogram:
		if m.Histogram().AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
			return fmt.Errorf("%s: %w", m.Name(), errDelta)
		}
		return p.histograms(m, now)
	}
	return fmt.Errorf("%s: a %s is not shown on a Prometheus page", m.Name(), m.Type())
}

func (p *page) numbers(m pmetric.Metric, points pmetric.NumberDataPointSlice, as otlptranslator.MetricType, kind prometheus.ValueType, now time.Time) error {
	for _, dp := range points.All() {
		s, err := p.at(m, as, dp.Attributes())
		if err != nil {
			return err
		}
		s.kind, s.value = kind, dp.DoubleValue()
		if dp.ValueType() == pmetric.NumberDataPointValueTypeInt {
			s.value = float64(dp.IntValue())
		}
		s.start, s.at, s.exemplar = dp.StartTimestamp().AsTime(), now, latest(dp.Exemplars())
	}
	return nil
}

func (p *page) histograms(m pmetric.Metric, now time.Time) error {
	for _, dp := range m.Histogram().DataPoints().All() {
		s, err := p.at(m, otlptranslator.MetricTypeHistogram, dp.Attributes())
		if err != nil {
			return err
		}
		s.value, s.count = dp.Sum(), dp.Count()
		if dp.ExplicitBounds().Len() != len(s.bounds) || len(s.bounds) == 0 {
			s.bounds = dp.ExplicitBounds().AsRaw()
		}
		s.buckets = s.buckets[:0]
		for _, n := range dp.BucketCounts().All() {
			s.buckets = append(s.buckets, n)
		}
		s.start, s.at, s.exemplar = dp.StartTimestamp().AsTime(), now, latest(dp.Exemplars())
	}
	return nil
}

// latest turns the newest exemplar into one of Prometheus.
func latest(all pmetric.ExemplarSlice) *prometheus.Exemplar {
	var best *prometheus.Exemplar
	for _, e := range all.All() {
		at := e.Timestamp().AsTime()
		if e.TraceID().IsEmpty() || best != nil && at.Before(best.Timestamp) {
			continue
		}
		value := e.DoubleValue()
		if e.ValueType() == pmetric.ExemplarValueTypeInt {
			value = float64(e.IntValue())
		}
		best = &prometheus.Exemplar{Value: value, Timestamp: at, Labels: prometheus.Labels{"trace_id": e.TraceID().String(), "span_id": e.SpanID().String()}}
	}
	return best
}

// at returns the series of a point. The caller holds the lock.
func (p *page) at(m pmetric.Metric, as otlptranslator.MetricType, attrs pcommon.Map) (*pageSeries, error) {
	pairs := make([][2]string, 0, attrs.Len())
	for key, v := range attrs.All() {
		pairs = append(pairs, [2]string{key, v.AsString()})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	shape := m.Name() + "\x00" + m.Unit()
	key := shape
	for _, pair := range pairs {
		shape += "\x00" + pair[0]
		key += "\x00" + pair[0] + "\x00" + pair[1]
	}
	if s, ok := p.series[key]; ok {
		return s, nil
	}
	desc, ok := p.descs[shape]
	if !ok {
		var err error
		if desc, err = describe(m, as, pairs); err != nil {
			return nil, err
		}
		p.descs[shape] = desc
	}
	s := &pageSeries{desc: desc}
	for _, pair := range pairs {
		s.values = append(s.values, pair[1])
	}
	p.series[key] = s
	return s, nil
}

// describe names a metric and its labels as Prometheus does.
func describe(m pmetric.Metric, as otlptranslator.MetricType, pairs [][2]string) (*prometheus.Desc, error) {
	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	name, err := namer.Build(otlptranslator.Metric{Name: m.Name(), Unit: m.Unit(), Type: as})
	if err != nil {
		return nil, fmt.Errorf("name of %s: %w", m.Name(), err)
	}
	labels := make([]string, len(pairs))
	for i, pair := range pairs {
		if labels[i], err = (&otlptranslator.LabelNamer{}).Build(pair[0]); err != nil {
			return nil, fmt.Errorf("label %s of %s: %w", pair[0], m.Name(), err)
		}
	}
	return prometheus.NewDesc(name, m.Description(), labels, nil), nil
}

// Describe sends nothing: which series there are is not known before.
func (p *page) Describe(chan<- *prometheus.Desc) {}

// Collect sends every series.
func (p *page) Collect(to chan<- prometheus.Metric) {
	p.mu.Lock()
	all := make([]prometheus.Metric, 0, len(p.series))
	for _, s := range p.series {
		all = append(all, s.metric())
	}
	p.mu.Unlock()
	for _, m := range all {
		to <- m
	}
}

func (s *pageSeries) metric() prometheus.Metric {
	var m prometheus.Metric
	var err error
	switch s.kind {
	case prometheus.GaugeValue:
		m, err = prometheus.NewConstMetric(s.desc, s.kind, s.value, s.values...)
	case prometheus.CounterValue:
		m, err = prometheus.NewConstMetricWithCreatedTimestamp(s.desc, s.kind, s.value, s.start, s.values...)
	default:
		buckets := make(map[float64]uint64, len(s.bounds))
		sum := uint64(0)
		for i, bound := range s.bounds {
			sum += s.buckets[i]
			buckets[bound] = sum
		}
		m, err = prometheus.NewConstHistogramWithCreatedTimestamp(s.desc, s.count, s.value, buckets, s.start, s.values...)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(s.desc, err)
	}
	if s.exemplar != nil && s.kind != prometheus.GaugeValue {
		if with, err := prometheus.NewMetricWithExemplars(m, *s.exemplar); err == nil {
			return with
		}
	}
	return m
}
