package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// sample is one line of a page of metrics.
type sample struct {
	name   string
	labels map[string]string
	value  float64
	trace  string // of its exemplar
}

var (
	sampleLine = regexp.MustCompile(`^([a-z_]+)(?:\{([^}]*)\})? ([-+.0-9eE]+|NaN|[+-]Inf)(?: # \{([^}]*)\} .*)?$`)
	labelPair  = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
)

// scrape reads a page as Prometheus does.
func scrape(t *testing.T, url string) ([]sample, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %w %s", response.Status, err, body)
	}
	var all []sample
	for line := range strings.Lines(string(body)) {
		m := sampleLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		s := sample{name: m[1], labels: map[string]string{}}
		s.value, _ = strconv.ParseFloat(m[3], 64)
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			s.labels[pair[1]] = pair[2]
		}
		for _, pair := range labelPair.FindAllStringSubmatch(m[4], -1) {
			if pair[1] == "trace_id" {
				s.trace = pair[2]
			}
		}
		all = append(all, s)
	}
	return all, nil
}

func sumOf(all []sample, name string) (sum float64) {
	for _, s := range all {
		if s.name == name {
			sum += s.value
		}
	}
	return sum
}

// checkMetrics compares the page with its documentation and with what is stored.
func checkMetrics(t *testing.T, s *stack) {
	t.Helper()
	const budgeted = "FROM hops FINAL WHERE entry AND (isNotNull(budget_received_ns) OR exhausted AND isNotNull(budget_requested_ns))"
	page := s.find(t, `(?m)^metrics +(\S+)`)
	var all []sample
	for name, sql := range map[string]string{
		"deadline_requests_total":         "SELECT count() " + budgeted,
		"deadline_late_total":             "SELECT countIf(answered AND late) " + budgeted,
		"deadline_exhausted_total":        "SELECT countIf(exhausted) " + budgeted,
		"deadline_degraded_total":         "SELECT countIf(answered AND NOT ifNull(late, false) AND outcome IN ('degraded', 'partial')) " + budgeted,
		"deadline_margin_seconds_count":   "SELECT countIf(answered AND isNotNull(margin_ns)) " + budgeted,
		"deadline_overrun_seconds_sum":    "SELECT round(sumIf(-margin_ns, answered AND margin_ns < 0) / 1e9, 6) " + budgeted,
		"deadline_stage_decisions_total":  "SELECT count() FROM hops FINAL WHERE decision != ''",
		"deadline_cancellations_total":    "SELECT count() FROM hops FINAL WHERE cancel_cause != ''",
		"deadline_timeouts_total":         "SELECT count() FROM hops FINAL WHERE timeout_phase != ''",
		"deadline_post_cancel_cost_total": "SELECT round(sum(post_cancel_cost), 6) FROM hops FINAL WHERE post_cancel_cost > 0",
	} {
		eventually(t, time.Minute, func() error {
			stored, err := ask(s.clickhouse, sql)
			if err != nil {
				return err
			}
			want, err := strconv.ParseFloat(strings.TrimSpace(stored), 64)
			if err != nil {
				return err
			}
			if all, err = scrape(t, page); err != nil {
				return err
			}
			if got := sumOf(all, name); got-want > 1e-5 || want-got > 1e-5 {
				return fmt.Errorf("%s is %g; stored is %g", name, got, want)
			}
			return nil
		})
	}
	documented := map[string]budgetattr.Metric{}
	for _, m := range budgetattr.Metrics() {
		names := []string{m.PrometheusName()}
		if m.Instrument == budgetattr.Histogram {
			names = []string{names[0] + "_bucket", names[0] + "_sum", names[0] + "_count"}
		}
		for _, name := range names {
			documented[name] = m
		}
	}
	examples := 0
	for _, one := range all {
		if !strings.HasPrefix(one.name, "deadline_") {
			continue
		}
		m, ok := documented[one.name]
		if !ok || !m.Connector {
			t.Errorf("%s is not documented as the connector's", one.name)
		}
		for label := range one.labels {
			if label != "le" && !slices.Contains(m.Labels(), label) {
				t.Errorf("%s has the label %s; documented are %v", one.name, label, m.Labels())
			}
		}
		if one.trace != "" {
			examples++
		}
	}
	if examples == 0 {
		t.Error("no series of misses has an example")
	}
	if sumOf(all, "otelcol_receiver_accepted_spans_total") == 0 {
		t.Error("the collector's own metrics are not on the page")
	}
}
