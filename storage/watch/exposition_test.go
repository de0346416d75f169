package watch_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/internal/promrule"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/processor/deadlineconnector"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// scrape is the time between two scrapes, which is that between two exports of the connector.
const scrape = 15 * time.Second

// needed are the metrics that rules and counts are made from.
func needed() map[string]string {
	names := map[string]string{}
	for _, m := range budgetattr.Metrics() {
		switch m.Name {
		case budgetattr.MetricRequests, budgetattr.MetricLate, budgetattr.MetricExhausted, budgetattr.MetricDegraded, budgetattr.MetricRefused,
			budgetattr.MetricCancellations, budgetattr.MetricPostCancelTime:
			names[m.Name] = m.PrometheusName()
		}
	}
	return names
}

// exposition is what Prometheus scrapes in the day, as OpenMetrics with times. The connector runs with its defaults in a time of its
// own; ahead is how far the day of the data is ahead of that.
type exposition struct {
	text  strings.Builder
	names map[string]string
	ahead time.Duration
}

func (x *exposition) sample(name string, attrs pcommon.Map, le string, at pcommon.Timestamp, value float64) {
	labels := `job="` + promrule.JobCollector + `",instance="c"`
	for key, v := range attrs.All() {
		labels += "," + key + "=" + strconv.Quote(v.AsString())
	}
	if le != "" {
		labels += `,le="` + le + `"`
	}
	fmt.Fprintf(&x.text, "%s{%s} %g %.3f\n", name, labels, value, float64(at.AsTime().Add(x.ahead).UnixMilli())/1000)
}

// take writes one export down.
func (x *exposition) take(_ context.Context, md pmetric.Metrics) error {
	for _, m := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
		name := x.names[m.Name()]
		switch {
		case name == "":
		case m.Type() == pmetric.MetricTypeSum:
			for _, p := range m.Sum().DataPoints().All() {
				x.sample(name, p.Attributes(), "", p.Timestamp(), float64(p.IntValue()))
			}
		default:
			for _, p := range m.Histogram().DataPoints().All() {
				x.sample(name+"_count", p.Attributes(), "", p.Timestamp(), float64(p.Count()))
				sum := uint64(0)
				for i, bound := range p.ExplicitBounds().All() {
					sum += p.BucketCounts().At(i)
					if limit := time.Duration(math.Round(bound * 1e9)); limit == slo.StopWithin || limit == slo.Tolerance {
						x.sample(name+"_bucket", p.Attributes(), strconv.FormatFloat(bound, 'g', -1, 64), p.Timestamp(), float64(sum))
					}
				}
			}
		}
	}
	return nil
}

// traces makes a request to the collector of one span, earlier by ahead.
func traces(s *span.Span, ahead time.Duration) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", s.Service)
	out := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	out.SetTraceID(pcommon.TraceID(s.Trace))
	out.SetSpanID(pcommon.SpanID(s.ID))
	out.SetName(s.Name)
	out.SetKind(ptrace.SpanKind(s.Kind))
	out.SetStartTimestamp(pcommon.Timestamp(s.Start - int64(ahead)))
	out.SetEndTimestamp(pcommon.Timestamp(s.End - int64(ahead)))
	_ = out.Attributes().FromRaw(s.Attrs)
	return td
}

// expose sends each span to the connector when it ends, some of them twice.
func expose(t *testing.T, spans []span.Span) *exposition {
	t.Helper()
	x := &exposition{names: needed()}
	// Whether a series is new is judged by whether Prometheus was there before; it was for longer than any window.
	for at := midnight.Add(-74 * time.Hour); at.Before(midnight.Add(25 * time.Hour)); at = at.Add(time.Minute) {
		fmt.Fprintf(&x.text, "up{job=%q,instance=\"c\"} 1 %d\n", promrule.JobCollector, at.Unix())
	}
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span.Span) int { return cmp.Compare(a.End, b.End) })
	synctest.Test(t, func(t *testing.T) {
		x.ahead = time.Until(midnight)
		time.Sleep(7 * time.Second) // scrapes come at no whole minute
		sink, err := consumer.NewMetrics(x.take)
		if err != nil {
			t.Fatal(err)
		}
		f := deadlineconnector.NewFactory()
		c, err := f.CreateTracesToMetrics(t.Context(), connectortest.NewNopSettings(f.Type()), f.CreateDefaultConfig(), sink)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(t.Context(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		for i := range spans {
			time.Sleep(time.Until(time.Unix(0, spans[i].End).Add(-x.ahead)))
			for range 1 + i%50/49 {
				if err := c.ConsumeTraces(t.Context(), traces(&spans[i], x.ahead)); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Until(midnight.Add(24*time.Hour + 2*time.Minute - x.ahead)))
		if err := c.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	x.text.WriteString("# EOF\n")
	return x
}
