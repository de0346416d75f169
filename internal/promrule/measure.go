package promrule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// The jobs under which Prometheus scrapes the two pages. The sdk's metrics of the same names have other jobs: what two parts
// measure of one service must not be added.
const (
	JobCollector = "laxity-collector"
	JobWorker    = "laxity-worker"
)

// series returns a selector of a metric that the job measures; more are further matchers. The series of what there was no
// place for has no service.
func series(job, metric, suffix string, more ...string) string {
	for _, m := range budgetattr.Metrics() {
		if m.Name == metric {
			metric = m.PrometheusName()
		}
	}
	matchers := append([]string{`job="` + job + `"`, `service!=""`}, more...)
	return metric + suffix + "{" + strings.Join(matchers, ",") + "}"
}

// plain is how much a counter rose whose series exist before what they count happens.
func plain(selector string, over time.Duration) string {
	return fmt.Sprintf("increase(%s[%s])", selector, Duration(over))
}

// rare is how much a counter rose whose series come into being with the first event, which increase does not see: a series
// that is new under a scrape that is not counts with its first value.
func rare(selector string, over time.Duration) string {
	w := Duration(over)
	return fmt.Sprintf("((increase(%[1]s[%[2]s]) + (min_over_time(%[1]s[%[2]s]) unless %[1]s offset %[2]s and on (job, instance) (up offset %[2]s == 1))) or increase(%[1]s[%[2]s]))",
		selector, w)
}

func sum(by []string, vector string) string {
	return "sum by (" + strings.Join(by, ", ") + ") (" + vector + ")"
}

// Events returns PromQL that counts a measure over a window, of the series that only matches.
func Events(m slo.Measure, by []string, over time.Duration, only ...string) string {
	collector := func(metric string, more ...string) string {
		return series(JobCollector, metric, "", append(more, only...)...)
	}
	stopped := func(within time.Duration) string {
		all := series(JobCollector, budgetattr.MetricPostCancelTime, "_count", only...)
		soon := series(JobCollector, budgetattr.MetricPostCancelTime, "_bucket", append(only, `le="`+strconv.FormatFloat(within.Seconds(), 'g', -1, 64)+`"`)...)
		return sum(by, rare(all, over)) + " - " + sum(by, rare(soon, over))
	}
	switch m {
	case slo.Requests:
		return sum(by, plain(collector(budgetattr.MetricRequests), over))
	case slo.Missed:
		return sum(by, plain(collector(budgetattr.MetricLate), over)) + " + " + sum(by, plain(collector(budgetattr.MetricExhausted), over))
	case slo.MissedOrDegraded:
		degraded := sum(by, rare(collector(budgetattr.MetricDegraded), over))
		missed := Events(slo.Missed, by, over, only...)
		return "(" + missed + " + " + degraded + ") or (" + missed + ")"
	case slo.Cancelled:
		return sum(by, rare(series(JobCollector, budgetattr.MetricPostCancelTime, "_count", only...), over))
	case slo.StoppedLate:
		return stopped(slo.StopWithin)
	case slo.WorkedOn:
		return stopped(slo.Tolerance)
	case slo.OrphanTime:
		return sum(by, rare(series(JobWorker, budgetattr.MetricOrphanTime, ""), over))
	case slo.RenewedClocks:
		return sum(by, rare(series(JobWorker, budgetattr.MetricFindings, "", `rule=~"renewed_clock|dropped_header"`), over))
	case slo.SilentStreams:
		return sum(by, rare(collector(budgetattr.MetricTimeouts, `phase=~"first_token|between_tokens"`), over))
	case slo.Lost:
		return lost(over)
	}
	panic("promrule: " + string(m) + " is not counted")
}

// earlyOrphans is what the connector sees of orphan time before the worker judges it.
func earlyOrphans(by []string, over time.Duration) string {
	return sum(by, rare(series(JobCollector, budgetattr.MetricOrphanEarly, ""), over))
}

// orphans takes for each service what sees more of its orphan time: the connector sees part of it early, the worker all of it
// later. They may name another cause, so they are never mixed.
func orphans(judged, early string) string {
	return fmt.Sprintf("(%[2]s unless on (service) (sum by (service) (%[1]s) >= sum by (service) (%[2]s))) or (%[1]s unless on (service) (sum by (service) (%[2]s) > sum by (service) (%[1]s)))",
		judged, early)
}

// lost counts spans that did not reach storage, by reason. Who sends gets an error and may send them again: then they count again. A full
// queue of one exporter makes the receiver refuse what the others take, so of the exporters the worst counts, and the receiver's own
// count of what was refused not at all.
func lost(over time.Duration) string {
	var parts []string
	for _, p := range []struct{ expr, metric, reason string }{
		{"sum(%s)", "otelcol_processor_memory_limiter_refused_spans_total", "memory_limit"},
		{"max(sum by (exporter) (%s))", "otelcol_exporter_enqueue_failed_spans_total", "queue_full"},
		{"max(sum by (exporter) (%s))", "otelcol_exporter_send_failed_spans_total", "not_delivered"},
		{"sum(%s)", "otelcol_receiver_failed_spans_total", "failed"},
	} {
		counted := fmt.Sprintf(p.expr, rare(p.metric+`{job="`+JobCollector+`"}`, over))
		parts = append(parts, fmt.Sprintf(`label_replace(%s, "reason", "%s", "", "")`, counted, p.reason))
	}
	return strings.Join(parts, " or ")
}

// Level returns PromQL of the present value of a level. A margin takes least answers in an hour.
func Level(m slo.Measure, by []string, hour time.Duration, least float64) string {
	switch m {
	case slo.Margin:
		le := append(append([]string{}, by...), "le")
		buckets := sum(le, plain(series(JobCollector, budgetattr.MetricMargin, "_bucket"), hour))
		enough := sum(by, plain(series(JobCollector, budgetattr.MetricMargin, "_count"), hour))
		return fmt.Sprintf("histogram_quantile(%g, %s) and (%s >= %g)", slo.MarginQuantile, buckets, enough, least)
	case slo.WorkerLag:
		// Tallies are counted stretch by stretch of five minutes, and lag by so much.
		return fmt.Sprintf(`max(laxity_worker_lag_seconds{job=%q,step!="tallies"})`, JobWorker)
	case slo.Down:
		return fmt.Sprintf(`sum by (job) (up{job=~"%[1]s|%[2]s"} == bool 0) or absent(up{job="%[1]s"}) or absent(up{job="%[2]s"})`, JobCollector, JobWorker)
	}
	panic("promrule: " + string(m) + " is no level")
}

var causes = []budgetattr.Cause{
	budgetattr.CauseClientDisconnect, budgetattr.CauseLocalDeadline, budgetattr.CauseUpstreamDeadline, budgetattr.CauseUpstreamCancel,
	budgetattr.CauseExpiry, budgetattr.CauseShutdown, budgetattr.CauseSuperseded, budgetattr.CauseStreamIdle, budgetattr.CauseSiblingFailed,
}

// blame returns PromQL of what was cancelled or refused most in each service: a hop, or without one the request itself. A
// cancellation that says nothing bad about the service is no reason.
func blame(over time.Duration) string {
	var benign []string
	for _, c := range causes {
		if c.Benign() {
			benign = append(benign, string(c))
		}
	}
	cause := `cause!~"` + strings.Join(benign, "|") + `"`
	cancelled := sum([]string{"service", "stage", "peer", "cause"}, rare(series(JobCollector, budgetattr.MetricCancellations, "", `stage!=""`, cause), over))
	refused := sum([]string{"service", "stage", "peer"}, rare(series(JobCollector, budgetattr.MetricRefused, "", `stage!=""`), over))
	request := sum([]string{"service", "cause"}, rare(series(JobCollector, budgetattr.MetricCancellations, "", `stage=""`, cause), over))
	return fmt.Sprintf(`topk by (service) (1, (%s or label_replace(%s, "cause", "refused", "", "")) > 0) or on (service) topk by (service) (1, %s > 0)`,
		cancelled, refused, request)
}

// Duration writes a duration as PromQL reads it.
func Duration(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= u.size && d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}
