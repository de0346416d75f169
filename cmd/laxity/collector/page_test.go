package collector

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// scrape reads a page as OpenMetrics.
func scrape(t *testing.T, p *page) string {
	t.Helper()
	server := httptest.NewServer(promhttp.HandlerFor(p.gatherer(), promhttp.HandlerOpts{EnableOpenMetrics: true}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// one returns a request with one point for each metric of the connector, labelled as documented.
func one(temporality pmetric.AggregationTemporality) pmetric.Metrics {
	md := pmetric.NewMetrics()
	metrics := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	for _, m := range budgetattr.Metrics() {
		out := metrics.AppendEmpty()
		out.SetName(m.Name)
		out.SetUnit(m.Unit)
		out.SetDescription(m.Meaning)
		var attrs pcommon.Map
		var exemplars pmetric.ExemplarSlice
		if m.Instrument == budgetattr.Histogram {
			h := out.SetEmptyHistogram()
			h.SetAggregationTemporality(temporality)
			dp := h.DataPoints().AppendEmpty()
			dp.SetCount(3)
			dp.SetSum(1.5)
			dp.ExplicitBounds().FromRaw([]float64{0, 1})
			dp.BucketCounts().FromRaw([]uint64{1, 1, 1})
			attrs, exemplars = dp.Attributes(), dp.Exemplars()
		} else {
			s := out.SetEmptySum()
			s.SetIsMonotonic(m.Instrument == budgetattr.Counter)
			s.SetAggregationTemporality(temporality)
			dp := s.DataPoints().AppendEmpty()
			dp.SetIntValue(2)
			attrs, exemplars = dp.Attributes(), dp.Exemplars()
		}
		for _, label := range m.Labels() {
			attrs.PutStr(label, "x")
		}
		e := exemplars.AppendEmpty()
		e.SetDoubleValue(0.5)
		e.SetTimestamp(pcommon.NewTimestampFromTime(time.Unix(1_700_000_000, 0)))
		e.SetTraceID(pcommon.TraceID{0xab})
		e.SetSpanID(pcommon.SpanID{0xcd})
	}
	return md
}

// The names and labels on the page are those that the documentation and the dashboards are made from.
func TestThePageShowsEveryMetricUnderItsDocumentedName(t *testing.T) {
	p := newPage()
	f := p.factory()
	e, err := f.CreateMetrics(t.Context(), exportertest.NewNopSettings(f.Type()), f.CreateDefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.ConsumeMetrics(t.Context(), one(pmetric.AggregationTemporalityCumulative)); err != nil {
		t.Fatal(err)
	}
	body := scrape(t, p)
	for _, m := range budgetattr.Metrics() {
		name := m.PrometheusName()
		switch m.Instrument {
		case budgetattr.Histogram:
			for _, want := range []string{name + "_bucket{", name + "_sum{", name + "_count{"} {
				if !strings.Contains(body, "\n"+want) {
					t.Errorf("%s is missing", want)
				}
			}
			name += "_bucket"
		default:
			if !strings.Contains(body, "\n"+name+"{") {
				t.Errorf("%s is missing", name)
			}
		}
		for _, label := range m.Labels() {
			if !strings.Contains(body, label+`="x"`) {
				t.Errorf("%s is missing as a label", label)
			}
		}
		if m.Instrument != budgetattr.Gauge && !hasExemplar(body, name) {
			t.Errorf("%s has no exemplar", name)
		}
	}
}

func hasExemplar(body, name string) bool {
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, `trace_id="ab000000000000000000000000000000"`) {
			return true
		}
	}
	return false
}

// contrib#40143, #37164: deltas on a Prometheus page show a counter that is always 1. They are refused, and the error says
// what to do.
func TestIssueDeltasOnAPrometheusPageAreRefused(t *testing.T) {
	p := newPage()
	f := p.factory()
	e, err := f.CreateMetrics(t.Context(), exportertest.NewNopSettings(f.Type()), f.CreateDefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	err = e.ConsumeMetrics(t.Context(), one(pmetric.AggregationTemporalityDelta))
	if !errors.Is(err, errDelta) || !consumererror.IsPermanent(err) || strings.Contains(scrape(t, p), "deadline_late_total") {
		t.Errorf("err %v", err)
	}
}

func TestASeriesThatIsNotExportedAnyMoreLeavesThePage(t *testing.T) {
	p := newPage()
	e := &pageExporter{page: p, config: &pageConfig{Expiration: time.Hour}}
	if err := e.ConsumeMetrics(t.Context(), one(pmetric.AggregationTemporalityCumulative)); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.series {
		s.at = s.at.Add(-2 * time.Hour)
	}
	if err := e.ConsumeMetrics(t.Context(), pmetric.NewMetrics()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(scrape(t, p), "deadline_") {
		t.Error("a series is still there")
	}
}

func TestThePageIsServedUntilShutdown(t *testing.T) {
	p := newPage()
	e := &pageExporter{page: p, config: &pageConfig{Endpoint: "127.0.0.1:0", Expiration: time.Hour}}
	if err := e.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := (&pageConfig{Endpoint: "9464", Expiration: time.Minute}).Validate(); err == nil {
		t.Error("a port alone was taken for an address")
	}
	if err := (&pageConfig{Endpoint: "127.0.0.1:9464"}).Validate(); err == nil {
		t.Error("no expiration was taken")
	}
}

// The names of the contract, each measured by somebody.
func TestEveryMetricOfTheContractIsMeasured(t *testing.T) {
	measured := map[string]bool{}
	for _, m := range budgetattr.Metrics() {
		measured[m.Name] = m.Connector || m.SDK || m.Worker
	}
	for _, name := range []string{
		"deadline.margin", "deadline.overrun", "deadline.used.ratio", "deadline.requests", "deadline.late", "deadline.exhausted",
		"deadline.remaining.admission", "deadline.orphan.early", "deadline.orphan.time", "deadline.orphan.spans", "deadline.still_running",
		"deadline.post_cancel.time", "deadline.stage.decisions", "deadline.cancellations", "deadline.timeouts", "deadline.retries.skipped",
		"deadline.attempts", "deadline.refused", "deadline.local.before_first_call", "deadline.effects.uncertain", "deadline.late_results",
		"deadline.post_cancel.cost", "deadline.cost_after_deadline", "deadline.expired_in_queue", "deadline.cancellations.confirmed", "deadline.regrants",
	} {
		if !measured[name] {
			t.Errorf("nobody measures %s", name)
		}
	}
}
