package deadlineconnector

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const scopeName = "github.com/laxity-dev/laxity/processor/deadlineconnector"

// counters are what the connector tells about itself.
type counters struct {
	seen, overflow, expired, evicted metric.Int64Counter
	series                           metric.Int64Gauge
	counted, duplicate, wrong, old   metric.MeasurementOption
}

func newCounters(provider metric.MeterProvider) (c counters, err error) {
	meter := provider.Meter(scopeName)
	for _, m := range []struct {
		counter                 *metric.Int64Counter
		name, unit, description string
	}{
		{&c.seen, "otelcol_connector_deadline_spans", "{span}", "Spans with budget facts, by result: counted, duplicate, old for those beyond max_age, and beside these invalid_interval for those that end before they start."},
		{&c.overflow, "otelcol_connector_deadline_overflow", "{observation}", "Observations counted in overflow series because max_series was reached."},
		{&c.evicted, "otelcol_connector_deadline_evicted_skeletons", "{span}", "Skeletons that made room for newer ones before their caller came."},
		{&c.expired, "otelcol_connector_deadline_expired_series", "{series}", "Series removed after series_expiration without a new span."},
	} {
		if *m.counter, err = meter.Int64Counter(m.name, metric.WithUnit(m.unit), metric.WithDescription(m.description)); err != nil {
			return c, err
		}
	}
	result := func(name string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(attribute.String("result", name)))
	}
	c.counted, c.duplicate, c.wrong, c.old = result("counted"), result("duplicate"), result("invalid_interval"), result("old")
	c.series, err = meter.Int64Gauge("otelcol_connector_deadline_series", metric.WithUnit("{series}"), metric.WithDescription("Series in memory."))
	return c, err
}

func (c *counters) spans(ctx context.Context, counted, duplicate int64, b *batch) {
	for _, r := range [...]struct {
		n      int64
		result metric.MeasurementOption
	}{{counted, c.counted}, {duplicate, c.duplicate}, {b.invalid, c.wrong}, {b.old, c.old}} {
		if r.n > 0 {
			c.seen.Add(ctx, r.n, r.result)
		}
	}
}
