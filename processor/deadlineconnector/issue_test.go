package deadlineconnector

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

const payRequests = "deadline.requests{outcome=done,route=/pay,service=shop}"

// contrib#9891, tempo#3338, opentelemetry-js#3327: durations below zero reached buckets, and were taken for none. A span that
// ends before it starts gives no sample that rests on its length and is counted apart from one that took no time.
func TestIssueNegativeDurationsReachNoBucket(t *testing.T) {
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { _ = telemetry.Shutdown(t.Context()) })
	f := NewFactory()
	set := connectortest.NewNopSettings(f.Type())
	set.TelemetrySettings = telemetry.NewTelemetrySettings()
	config := f.CreateDefaultConfig().(*Config)
	config.MaxAge = 0
	c, err := f.CreateTracesToMetrics(t.Context(), set, config, consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, meter: c.(*meter), sink: &consumertest.MetricsSink{}}
	r.meter.next = r.sink
	r.entry("shop", "/pay", 1, -0.6)
	r.entry("shop", "/pay", 1, 0)
	r.entry("shop", "/pay", 1, 0.75)
	got := r.flush()
	got.want(t, payRequests, 3)
	got.want(t, "deadline.margin{route=/pay,service=shop}", 2)
	if s := got["deadline.margin{route=/pay,service=shop}"]; s.sum != 1.25 {
		t.Errorf("margins sum to %g, want the whole budget of the one and a quarter of the other", s.sum)
	}
	own, err := telemetry.GetMetric("otelcol_connector_deadline_spans")
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]int64{}
	for _, dp := range own.Data.(metricdata.Sum[int64]).DataPoints {
		result, _ := dp.Attributes.Value("result")
		by[result.AsString()] = dp.Value
	}
	if want := map[string]int64{"counted": 3, "invalid_interval": 1}; !maps.Equal(by, want) {
		t.Errorf("counted %v, want %v", by, want)
	}
}

// contrib#21101, #32043, #33136: several collectors write one cumulative series, and its value goes up and down. Each has a
// resource of its own here, and the sum over them is the sum of what they saw.
func TestIssueTwoCollectorsWriteTwoSeries(t *testing.T) {
	a, b := newRig(t, nil), newRig(t, nil)
	for range 3 {
		a.entry("shop", "/pay", 1, 0.5)
	}
	b.entry("shop", "/pay", 1, 0.5)
	one, two := a.flush()[payRequests], b.flush()[payRequests]
	if one.number+two.number != 4 {
		t.Errorf("%g and %g requests", one.number, two.number)
	}
	if instance(one.resource) == "" || instance(one.resource) == instance(two.resource) {
		t.Errorf("both write as %q", instance(one.resource))
	}
	own := pcommon.NewResource()
	own.Attributes().PutStr("service.instance.id", "pod-7")
	if got := instance(identify(own).Attributes()); got != "pod-7" {
		t.Errorf("the collector's own instance %q is not kept", got)
	}
}

func instance(resource pcommon.Map) string {
	v, _ := resource.Get("service.instance.id")
	if v == (pcommon.Value{}) {
		return ""
	}
	return v.AsString()
}

// contrib#38262, #36613: after a restart a counter makes a jump. A new series says from when it counts, starts from nothing,
// and replayed spans of yesterday are not counted into today.
func TestIssueRestartIsNoSpike(t *testing.T) {
	before := newRig(t, nil)
	for range 5 {
		before.entry("shop", "/pay", 1, 0.5)
	}
	last := before.flush()[payRequests]
	after := newRig(t, nil)
	after.entry("shop", "/pay", 1, 0.5)
	first := after.flush()[payRequests]
	if first.start <= last.at || first.number != 1 {
		t.Errorf("it counts %g from %d on; the old one ended at %d", first.number, first.start, last.at)
	}
	if last.number+first.number != 6 { // what increase() adds up, given the start timestamps
		t.Errorf("%g requests in all", last.number+first.number)
	}
	after.entry("shop", "/pay", 1, 0.5)
	if second := after.flush()[payRequests]; second.start != first.start || second.at <= first.at || second.number != 2 {
		t.Errorf("a later point counts %g from %d on, the first from %d", second.number, second.start, first.start)
	}
	fresh := newRig(t, func(c *Config) { c.MaxAge = 15 * time.Minute })
	fresh.entry("shop", "/pay", 1, 0.5) // of 2023
	if got := fresh.flush(); len(got) != 0 {
		t.Errorf("a replayed span made %d points", len(got))
	}
}

// contrib#31780, #31671, #23799: deltas with gaps between them look like restarts. Each begins where the export before ended.
func TestIssueDeltasAreContiguous(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Temporality = Delta })
	r.entry("shop", "/pay", 1, 0.5)
	one := r.flush()[payRequests]
	r.entry("shop", "/pay", 1, 0.5)
	r.entry("shop", "/pay", 1, 1.5)
	two := r.flush()
	if got := two[payRequests]; got.number != 2 || got.start != one.at || got.at <= got.start || got.temporality != pmetric.AggregationTemporalityDelta {
		t.Errorf("the second delta is %g over (%d, %d]; the first ended at %d", got.number, got.start, got.at, one.at)
	}
	if got := two["deadline.margin{route=/pay,service=shop}"]; got.number != 2 || got.sum != 0.5 {
		t.Errorf("the second delta of margins is %g, sum %g", got.number, got.sum)
	}
	if got := r.flush(); len(got) != 0 {
		t.Errorf("%d points without a span", len(got))
	}
	r.entry("shop", "/pay", 1, 0.5)
	if got := r.flush()[payRequests]; got.number != 1 || got.start <= two[payRequests].at {
		t.Errorf("after a pause: %g from %d", got.number, got.start)
	}
}

// contrib#40143, #37164: into Prometheus goes what is cumulative, into stores of deltas the deltas; both add up to the same.
func TestIssueBothTemporalitiesAddUpToTheSame(t *testing.T) {
	total := map[Temporality]float64{}
	for _, temporality := range []Temporality{Cumulative, Delta} {
		r := newRig(t, func(c *Config) { c.Temporality = temporality })
		for range 4 {
			r.entry("shop", "/pay", 1, 0.5)
			r.entry("shop", "/pay", 1, 1.5)
			got := r.flush()[payRequests].number
			if temporality == Delta {
				total[Delta] += got
			} else {
				total[Cumulative] = got
			}
		}
	}
	if total[Cumulative] != 8 || total[Delta] != 8 {
		t.Errorf("%v", total)
	}
}

// contrib#30559, #44187: dead series never go away, or all of a metric at once. Host A is gone after its time, B stays.
func TestIssueSeriesExpireOneByOne(t *testing.T) {
	r := newRig(t, func(c *Config) { c.SeriesExpiration = 2 * time.Hour })
	r.entry("a", "/pay", 1, 0.5)
	r.entry("b", "/pay", 1, 0.5)
	r.flush()
	r.clock.wall += int64(3 * time.Hour)
	r.entry("b", "/pay", 1, 0.5)
	got := r.flush()
	got.want(t, "deadline.requests{outcome=done,route=/pay,service=b}", 2)
	for name := range got {
		if strings.Contains(name, "service=a") {
			t.Errorf("%s is still there", name)
		}
	}
	// One that comes again counts from nothing, from then on.
	r.entry("a", "/pay", 1, 0.5)
	again := r.flush()["deadline.requests{outcome=done,route=/pay,service=a}"]
	if again.number != 1 || again.start < got["deadline.requests{outcome=done,route=/pay,service=b}"].at {
		t.Errorf("it counts %g from %d on", again.number, again.start)
	}
	// Of one place the outcome that does not occur any more goes, the one that does stays.
	r.entry("b", "/pay", 1, 0.5)
	td := ptrace.NewTraces()
	r.add(td, "b", ptrace.SpanKindServer, 0, 1, map[string]any{budgetattr.BudgetReceivedKey: 1.0, "http.route": "/pay", budgetattr.OutcomeKey: "failed"})
	r.send(td)
	r.flush().want(t, "deadline.requests{outcome=failed,route=/pay,service=b}", 1)
	r.clock.wall += int64(3 * time.Hour)
	r.entry("b", "/pay", 1, 0.5)
	got = r.flush()
	got.want(t, "deadline.requests{outcome=done,route=/pay,service=b}", 4)
	if _, there := got["deadline.requests{outcome=failed,route=/pay,service=b}"]; there {
		t.Error("an outcome that does not occur any more is still there")
	}
}

// Prometheus sees values alone: a series that appears at 1 has had no request for it, and one that ended at 1 and comes again at 1
// neither. Each is at zero first, from the same start.
func TestIssueFirstCountsAreSeen(t *testing.T) {
	r := newRig(t, func(c *Config) { c.SeriesExpiration = 2 * time.Hour })
	const margin, late = "deadline.margin{route=/pay,service=shop}", "deadline.late{route=/pay,service=shop}"
	for range 2 {
		r.entry("shop", "/pay", 1, 0.5)
		zero := r.exported(false)
		zero.want(t, payRequests, 0)
		zero.want(t, margin, 0)
		one := r.exported(false)
		one.want(t, payRequests, 1)
		one.want(t, margin, 1)
		if a, b := zero[payRequests], one[payRequests]; a.start != b.start || a.at >= b.at || a.start >= a.at {
			t.Errorf("zero from %d at %d, one from %d at %d", a.start, a.at, b.start, b.at)
		}
		// The series of misses has been at zero all the time.
		r.entry("shop", "/pay", 1, 1.5)
		r.exported(false).want(t, late, 1)
		r.clock.wall += int64(3 * time.Hour)
		if gone := r.exported(false); len(gone) != 0 {
			t.Errorf("%d points are still there", len(gone))
		}
	}
	r.entry("shop", "/pay", 1, 0.5)
	r.flush().want(t, payRequests, 1) // nothing comes after the last export
}

// contrib#21290, #31683, hyperdx#2805: unbounded labels and exemplars eat the memory. With any number of routes memory stays
// flat, what overflows is counted, and totals are exact.
func TestIssueUnboundedRoutesStayBounded(t *testing.T) {
	routes := 1_000_000
	if testing.Short() {
		routes = 100_000
	}
	const limit = 3000
	r := newRig(t, func(c *Config) { c.MaxSeries, c.Skeletons.Enabled = limit, false })
	const each = 1000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var full uint64
	td := ptrace.NewTraces()
	for range each {
		r.add(td, "shop", ptrace.SpanKindServer, 0, 1.5, map[string]any{budgetattr.BudgetReceivedKey: 1.0, "http.route": ""})
	}
	for i := range routes / each {
		for j, rs := range td.ResourceSpans().All() {
			s := rs.ScopeSpans().At(0).Spans().At(0)
			s.SetTraceID(pcommon.TraceID{byte(i), byte(i >> 8), byte(i >> 16), 1})
			s.Attributes().PutStr("http.route", fmt.Sprintf("/r%d", i*each+j))
		}
		r.send(td)
		if i == 10 {
			full = heap()
		}
	}
	if now := heap(); now > full+4<<20 {
		t.Errorf("%d bytes in use, %d when the limit was reached", now, full)
	}
	got := r.flush()
	for _, metric := range []string{"deadline.requests", "deadline.late", "deadline.margin", "deadline.overrun"} {
		if n := got.total(metric); n != float64(routes) {
			t.Errorf("%s: %g of %d", metric, n, routes)
		}
	}
	if n := got["deadline.late{otel.metric.overflow=true}"].number; n < float64(routes)-limit {
		t.Errorf("%g in the overflow series", n)
	}
	if len(got) > limit+int(metricCount) {
		t.Errorf("%d series", len(got))
	}
	for name, s := range got {
		if s.exemplars.Len() > 1 {
			t.Errorf("%s has %d exemplars", name, s.exemplars.Len())
		}
	}
}

// contrib#33632, #45557: sampled spans count too little. Each stands for as many as its threshold says.
func TestIssueSampledSpansCountForThoseThatWereNotKept(t *testing.T) {
	r := newRig(t, nil)
	td := ptrace.NewTraces()
	s := r.add(td, "shop", ptrace.SpanKindServer, 0, 1.5, map[string]any{budgetattr.BudgetReceivedKey: 1.0, "http.route": "/pay"})
	s.TraceState().FromRaw("ot=th:8")
	r.send(td)
	got := r.flush()
	got.want(t, payRequests, 2)
	got.want(t, "deadline.late{route=/pay,service=shop}", 2)
	got.want(t, "deadline.overrun{route=/pay,service=shop}", 2)
	if sum := got["deadline.overrun{route=/pay,service=shop}"].sum; sum != 1 {
		t.Errorf("overruns sum to %g", sum)
	}
	// One in three: whole numbers that are right on average, whatever the ids.
	r = newRig(t, nil)
	const spans = 3000
	td = ptrace.NewTraces()
	for range spans {
		s := r.add(td, "shop", ptrace.SpanKindServer, 0, 0.5, map[string]any{budgetattr.BudgetReceivedKey: 1.0, "http.route": "/pay"})
		s.TraceState().FromRaw("ot=th:6") // 1.6
		key := r.ids.span(s.TraceID(), s.SpanID())
		id := s.SpanID()
		for i := range id {
			id[i] = byte(key >> (8 * i))
		}
		s.SetSpanID(id)
	}
	r.send(td)
	if n := r.flush()[payRequests].number; n < spans*1.55 || n > spans*1.65 {
		t.Errorf("%g of about %g", n, spans*1.6)
	}
}

// client_golang#850 and the OTLP specification: values below zero make the sum of a histogram fall. Margin and overrun are two.
func TestIssueSumsNeverFall(t *testing.T) {
	r := newRig(t, nil)
	r.entry("shop", "/pay", 1, 0.95)
	r.entry("shop", "/pay", 1, 1.02)
	one := r.flush()
	for name, want := range map[string]float64{"deadline.margin{route=/pay,service=shop}": 0.05, "deadline.overrun{route=/pay,service=shop}": 0.02} {
		got := one[name]
		if got.number != 2 || got.sum < want-1e-9 || got.sum > want+1e-9 {
			t.Errorf("%s: %g values, sum %g, want 2 and %g", name, got.number, got.sum, want)
		}
	}
	r.entry("shop", "/pay", 1, 9)
	if two := r.flush(); two["deadline.margin{route=/pay,service=shop}"].sum < one["deadline.margin{route=/pay,service=shop}"].sum {
		t.Error("the sum of margins fell")
	}
}

// collector#11056, signoz#7281: a batch that is sent again counts twice. It counts once, also split anew, within the window.
func TestIssueSpansSentAgainCountOnce(t *testing.T) {
	r := newRig(t, nil)
	td := ptrace.NewTraces()
	for range 10 {
		r.add(td, "shop", ptrace.SpanKindServer, 0, 0.5, map[string]any{budgetattr.BudgetReceivedKey: 1.0, "http.route": "/pay"})
	}
	r.send(td)
	r.send(td)
	for _, rs := range td.ResourceSpans().All() {
		part := ptrace.NewTraces()
		rs.CopyTo(part.ResourceSpans().AppendEmpty())
		r.send(part)
	}
	r.flush().want(t, payRequests, 10)
	// The halves of a call that share an id are two spans.
	client := ptrace.NewTraces()
	server := r.add(client, "bank", ptrace.SpanKindServer, 0, 0.5, map[string]any{budgetattr.BudgetReceivedKey: 1.0, "http.route": "/pay"})
	server.SetSpanID(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SpanID())
	r.send(client)
	r.flush().want(t, "deadline.requests{outcome=done,route=/pay,service=bank}", 1)
}

// semconv#560, #3495, #3923: cancelled work is shown as an error. Causes stay apart, and a caller that left is no miss.
func TestIssueACallerThatLeftIsNoMiss(t *testing.T) {
	r := newRig(t, nil)
	for _, cause := range []string{"client_disconnect", "local_deadline"} {
		td := ptrace.NewTraces()
		r.add(td, "shop", ptrace.SpanKindServer, 0, 0.5, map[string]any{budgetattr.BudgetReceivedKey: 0.5, "http.route": "/pay",
			budgetattr.OutcomeKey: "cancelled", budgetattr.CancelCauseKey: cause})
		r.send(td)
	}
	got := r.flush()
	got.want(t, "deadline.exhausted{route=/pay,service=shop}", 1)
	got.want(t, "deadline.late{route=/pay,service=shop}", 0)
	got.want(t, "deadline.cancellations{cause=client_disconnect,route=/pay,service=shop}", 1)
	got.want(t, "deadline.cancellations{cause=local_deadline,route=/pay,service=shop}", 1)
	if n := got.total("deadline.margin"); n != 0 {
		t.Errorf("%g margins of requests that were not answered", n)
	}
}

// An event of an open hop names its peer and stage only if they are known.
func TestIssueOpenHopWithoutPeer(t *testing.T) {
	r := newRig(t, nil)
	entry := ptrace.NewTraces()
	e := r.add(entry, "shop", ptrace.SpanKindServer, 0, 1, map[string]any{budgetattr.BudgetReceivedKey: 1.0})
	event := e.Events().AppendEmpty()
	event.SetName(budgetattr.EventOpenChild)
	event.Attributes().PutStr(budgetattr.OpenChildSpanIDKey, pcommon.SpanID{9}.String())
	r.send(entry)
	if n := r.flush().total("deadline.still_running"); n != 1 {
		t.Errorf("%g hops still run, want 1", n)
	}
}
