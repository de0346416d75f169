package deadlineconnector

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

const second = 1_000_000_000

// rig is a connector with a sink, exporting only when it is told to.
type rig struct {
	*meter
	t    *testing.T
	sink *consumertest.MetricsSink
	next uint64
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	config := NewFactory().CreateDefaultConfig().(*Config)
	config.FlushInterval = time.Hour
	config.SeriesExpiration = 24 * time.Hour
	config.MaxAge = 0
	if change != nil {
		change(config)
	}
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, sink: &consumertest.MetricsSink{}}
	f := NewFactory()
	c, err := f.CreateTracesToMetrics(t.Context(), connectortest.NewNopSettings(f.Type()), config, r.sink)
	if err != nil {
		t.Fatal(err)
	}
	r.meter = c.(*meter)
	if err := c.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// add makes a span of a service that lasts from a to b seconds, with ids of its own.
func (r *rig) add(td ptrace.Traces, service string, kind ptrace.SpanKind, a, b float64, attrs map[string]any) ptrace.Span {
	r.t.Helper()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", service)
	s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	r.next++
	var id pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], r.next)
	s.SetTraceID(pcommon.TraceID{1, 2, 3})
	s.SetSpanID(id)
	s.SetParentSpanID(pcommon.SpanID{0xff})
	s.SetKind(kind)
	s.SetName("span")
	s.SetStartTimestamp(pcommon.Timestamp(1_700_000_000*second + int64(a*second)))
	s.SetEndTimestamp(pcommon.Timestamp(1_700_000_000*second + int64(b*second)))
	if err := s.Attributes().FromRaw(attrs); err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) send(td ptrace.Traces) {
	r.t.Helper()
	if err := r.ConsumeTraces(r.t.Context(), td); err != nil {
		r.t.Fatal(err)
	}
}

// entry sends one request with a budget that lasted so long.
func (r *rig) entry(service, route string, budget, lasted float64) ptrace.Span {
	r.t.Helper()
	td := ptrace.NewTraces()
	s := r.add(td, service, ptrace.SpanKindServer, 0, lasted, map[string]any{budgetattr.BudgetReceivedKey: budget, "http.route": route})
	r.send(td)
	return s
}

// flush exports as at the end, also what is new, and returns what was exported by it.
func (r *rig) flush() points { return r.exported(true) }

func (r *rig) exported(last bool) points {
	r.t.Helper()
	r.sink.Reset()
	r.export(r.t.Context(), last)
	return read(r.sink.AllMetrics())
}

// seen is one exported point: number is the value of a counter or the count of a histogram.
type seen struct {
	number, sum float64
	buckets     []uint64
	start, at   pcommon.Timestamp
	exemplars   pmetric.ExemplarSlice
	temporality pmetric.AggregationTemporality
	resource    pcommon.Map
}

// points by the metric's name and labels, as deadline.late{route=/a,service=s}.
type points map[string]seen

func read(all []pmetric.Metrics) points {
	out := points{}
	for _, md := range all {
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					switch m.Type() {
					case pmetric.MetricTypeSum:
						for _, dp := range m.Sum().DataPoints().All() {
							v := dp.DoubleValue()
							if dp.ValueType() == pmetric.NumberDataPointValueTypeInt {
								v = float64(dp.IntValue())
							}
							out[key(m, dp.Attributes())] = seen{number: v, start: dp.StartTimestamp(), at: dp.Timestamp(), exemplars: dp.Exemplars(),
								temporality: m.Sum().AggregationTemporality(), resource: rm.Resource().Attributes()}
						}
					case pmetric.MetricTypeHistogram:
						for _, dp := range m.Histogram().DataPoints().All() {
							out[key(m, dp.Attributes())] = seen{number: float64(dp.Count()), sum: dp.Sum(), buckets: dp.BucketCounts().AsRaw(), start: dp.StartTimestamp(),
								at: dp.Timestamp(), exemplars: dp.Exemplars(), temporality: m.Histogram().AggregationTemporality(), resource: rm.Resource().Attributes()}
						}
					}
				}
			}
		}
	}
	return out
}

func key(m pmetric.Metric, attrs pcommon.Map) string {
	var labels []string
	for k, v := range attrs.All() {
		labels = append(labels, k+"="+v.AsString())
	}
	slices.Sort(labels)
	return m.Name() + "{" + strings.Join(labels, ",") + "}"
}

func (p points) want(t *testing.T, name string, number float64) {
	t.Helper()
	got, ok := p[name]
	if !ok {
		t.Errorf("%s is missing among %d points", name, len(p))
	} else if got.number != number {
		t.Errorf("%s is %g, want %g", name, got.number, number)
	}
}

// total adds up every series of a metric.
func (p points) total(metric string) (sum float64) {
	for name, s := range p {
		if strings.HasPrefix(name, metric+"{") {
			sum += s.number
		}
	}
	return sum
}

func TestOneAnswerInTimeAndOneLate(t *testing.T) {
	r := newRig(t, nil)
	r.entry("shop", "/pay", 1, 0.75)
	late := r.entry("shop", "/pay", 1, 1.5)
	got := r.flush()
	for name, want := range map[string]float64{
		"deadline.requests{outcome=done,route=/pay,service=shop}": 2,
		"deadline.late{route=/pay,service=shop}":                  1,
		"deadline.exhausted{route=/pay,service=shop}":             0,
		"deadline.margin{route=/pay,service=shop}":                2,
		"deadline.overrun{route=/pay,service=shop}":               2,
		"deadline.used.ratio{route=/pay,service=shop}":            2,
	} {
		got.want(t, name, want)
	}
	if s := got["deadline.margin{route=/pay,service=shop}"]; s.sum != 0.25 {
		t.Errorf("sum of margins %g", s.sum)
	}
	overrun := got["deadline.overrun{route=/pay,service=shop}"]
	if overrun.sum != 0.5 || overrun.exemplars.Len() != 1 || overrun.exemplars.At(0).SpanID() != late.SpanID() {
		t.Errorf("sum of overruns %g, %d exemplars", overrun.sum, overrun.exemplars.Len())
	}
}

// everything is a span with every fact that a metric is about.
func (r *rig) everything() {
	td := ptrace.NewTraces()
	r.add(td, "shop", ptrace.SpanKindServer, 0, 2, map[string]any{
		budgetattr.BudgetReceivedKey: 1.0, budgetattr.OutcomeKey: "done", "http.route": "/pay", budgetattr.LocalBeforeFirstCallKey: 0.2,
		budgetattr.LateResultsKey: int64(2), budgetattr.BudgetSourceKey: "regrant",
	})
	r.add(td, "shop", ptrace.SpanKindConsumer, 0, 0, map[string]any{budgetattr.BudgetReceivedKey: 1.0, budgetattr.OutcomeKey: "expired_in_queue"})
	r.add(td, "shop", ptrace.SpanKindClient, 0, 1, map[string]any{
		budgetattr.StageKey: "charge", "peer.service": "bank", budgetattr.DecisionKey: "reject", budgetattr.RemainingBeforeKey: 0.5,
		budgetattr.AttemptKey: int64(2), budgetattr.AttemptLayerKey: "sdk", budgetattr.RetriesSkippedKey: int64(1), budgetattr.RetriesSkippedReasonKey: "budget",
		budgetattr.CancelCauseKey: "local_deadline", budgetattr.CancelAfterKey: 0.5, budgetattr.CancelConfirmedKey: true, budgetattr.TimeoutPhaseKey: "total",
		budgetattr.PostCancelCostKey: 7.5, budgetattr.CostUnitKey: "token", budgetattr.EffectStateKey: "uncertain",
	})
	r.send(td)
}

func TestEveryFactIsMeasured(t *testing.T) {
	r := newRig(t, nil)
	r.everything()
	got := r.flush()
	for name, want := range map[string]float64{
		"deadline.late{route=/pay,service=shop}":                                                     1,
		"deadline.local.before_first_call{route=/pay,service=shop}":                                  1,
		"deadline.late_results{route=/pay,service=shop}":                                             2,
		"deadline.regrants{route=/pay,service=shop}":                                                 1,
		"deadline.expired_in_queue{route=span,service=shop}":                                         1,
		"deadline.exhausted{route=span,service=shop}":                                                1,
		"deadline.remaining.admission{peer=bank,service=shop,stage=charge}":                          1,
		"deadline.stage.decisions{decision=reject,peer=bank,service=shop,stage=charge}":              1,
		"deadline.refused{peer=bank,service=shop,stage=charge}":                                      1,
		"deadline.attempts{layer=sdk,peer=bank,service=shop,stage=charge}":                           1,
		"deadline.retries.skipped{peer=bank,reason=budget,service=shop,stage=charge}":                1,
		"deadline.cancellations{cause=local_deadline,peer=bank,service=shop,stage=charge}":           1,
		"deadline.cancellations.confirmed{cause=local_deadline,peer=bank,service=shop,stage=charge}": 1,
		"deadline.timeouts{peer=bank,phase=total,service=shop,stage=charge}":                         1,
		"deadline.post_cancel.time{cause=local_deadline,peer=bank,service=shop,stage=charge}":        1,
		"deadline.post_cancel.cost{peer=bank,service=shop,stage=charge,unit=token}":                  7.5,
		"deadline.cost_after_deadline{peer=bank,service=shop,stage=charge,unit=token}":               7.5,
		"deadline.effects.uncertain{peer=bank,service=shop,stage=charge}":                            1,
	} {
		got.want(t, name, want)
	}
}

// Every label of every metric is one that its description names, and the table is complete.
func TestTheTableDescribesWhatIsMeasured(t *testing.T) {
	r := newRig(t, nil)
	r.everything()
	labels := map[string][]string{}
	measured := map[string]bool{}
	for _, m := range budgetattr.Metrics() {
		labels[m.Name] = m.Labels()
		measured[m.Name] = m.Connector
	}
	for id, m := range describe() {
		if m.Name == "" || !measured[m.Name] || m.Name != names[id] {
			t.Errorf("%s is not described as measured by the connector", names[id])
		}
		if (m.Instrument == budgetattr.Histogram) != (kinds[id] == kindHistogram) {
			t.Errorf("%s: the table says %s", m.Name, m.Instrument)
		}
		delete(measured, m.Name)
	}
	for name, connector := range measured {
		if connector {
			t.Errorf("%s is described as measured here, but it is not", name)
		}
	}
	for name := range r.flush() {
		metric, rest, _ := strings.Cut(name, "{")
		for pair := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
			label, _, _ := strings.Cut(pair, "=")
			if !slices.Contains(labels[metric], label) {
				t.Errorf("%s has the label %s, which its description does not name", metric, label)
			}
		}
	}
}

func TestSpansWithoutFactsAndOldSpansCountNothing(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxAge = time.Hour })
	td := ptrace.NewTraces()
	r.add(td, "shop", ptrace.SpanKindServer, 0, 1, map[string]any{"http.route": "/pay"})
	r.send(td)
	r.entry("shop", "/pay", 1, 0.5) // of 2023
	if got := r.flush(); len(got) != 0 {
		t.Errorf("%d points", len(got))
	}
}

func TestItExportsByItselfAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &consumertest.MetricsSink{}
		f := NewFactory()
		config := f.CreateDefaultConfig().(*Config)
		config.MaxAge = 0
		c, err := f.CreateTracesToMetrics(t.Context(), connectortest.NewNopSettings(f.Type()), config, sink)
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, meter: c.(*meter), sink: sink}
		if err := c.Start(t.Context(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		r.entry("shop", "/pay", 1, 0.5)
		time.Sleep(2*config.FlushInterval + time.Second) // zero, then one
		synctest.Wait()
		if n := read(sink.AllMetrics()).total("deadline.requests"); n != 1 {
			t.Errorf("%g requests after two intervals", n)
		}
		r.entry("shop", "/pay", 1, 0.5)
		if err := c.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := read(sink.AllMetrics()).total("deadline.requests"); n != 2 {
			t.Errorf("%g requests at the end", n)
		}
	})
}

func TestManySendersAtOnceLoseNothing(t *testing.T) {
	r := newRig(t, nil)
	var group sync.WaitGroup
	const senders, each = 8, 50
	for sender := range senders {
		requests := make([]ptrace.Traces, each)
		for i := range requests {
			requests[i] = ptrace.NewTraces()
			s := r.add(requests[i], "shop", ptrace.SpanKindServer, 0, 1, map[string]any{budgetattr.BudgetReceivedKey: 1.0})
			s.SetName(fmt.Sprint("route", sender%3))
		}
		group.Go(func() {
			for _, td := range requests {
				_ = r.ConsumeTraces(context.Background(), td)
			}
		})
	}
	for range 5 {
		r.export(t.Context(), false)
	}
	group.Wait()
	if n := r.flush().total("deadline.requests"); n != senders*each {
		t.Errorf("%g requests of %d", n, senders*each)
	}
}

var _ connector.Traces = (*meter)(nil)
