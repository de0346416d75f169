package main

import "strings"

// boards returns all dashboards.
func boards() []board { return append(metricBoards(), spanBoards()...) }

// of is a selector of a metric of the collector, with the variables of the board.
func of(metric string, more ...string) string {
	return metric + "{" + strings.Join(append([]string{`job="laxity-collector"`}, more...), ",") + "}"
}

const (
	service = `service=~"$service"`
	route   = `route=~"$route"`
	stage   = `stage=~"$stage"`
	peer    = `peer=~"$peer"`
	aHop    = `stage!=""`
)

// rate is per second and by some labels.
func rate(by, selector string) string {
	return "sum by (" + by + ") (rate(" + selector + "[$__rate_interval]))"
}

// quantile is of a histogram and by some labels.
func quantile(q, by, bucket string) string {
	return "histogram_quantile(" + q + ", " + rate(by+", le", bucket) + ")"
}

// missed is the missed ratio by some labels.
func missed(by string, more ...string) string {
	return "(" + rate(by, of("deadline_late_total", more...)) + " + " + rate(by, of("deadline_exhausted_total", more...)) + ") / " +
		rate(by, of("deadline_requests_total", more...))
}

// total is over all that the board shows.
func total(selector string) string { return "sum(rate(" + selector + "[$__rate_interval]))" }

// worst keeps ten.
func worst(query string) string { return "topk(10, " + query + ")" }

func metricBoards() []board {
	return []board{
		{
			name: "fleet", title: "Laxity: fleet", about: "Who misses budgets, by how much, and why.", source: metrics, variables: []string{"service"},
			panels: []panel{
				{title: "Requests with a budget", unit: "reqps", kind: number, width: 6, asks: []ask{{total(of("deadline_requests_total", service)), ""}}},
				{title: "Missed", about: "Late and exhausted, of requests with a budget.", unit: "percentunit", kind: number, width: 6,
					asks: []ask{{"(" + total(of("deadline_late_total", service)) + " + " + total(of("deadline_exhausted_total", service)) + ") / " + total(of("deadline_requests_total", service)), ""}}},
				{title: "Degraded in time", unit: "percentunit", kind: number, width: 6,
					asks: []ask{{total(of("deadline_degraded_total", service)) + " / " + total(of("deadline_requests_total", service)), ""}}},
				{title: "Alerts that fire", kind: number, width: 6, asks: []ask{{`count(ALERTS{alertstate="firing",alertname=~".+",severity=~"page|ticket"}) or vector(0)`, ""}}},
				{title: "Missed ratio by route", unit: "percentunit", asks: []ask{{worst(missed("service, route", service)), "{{service}} {{route}}"}}},
				{title: "Margin, 5th percentile", about: "Of answers; zero if late.", unit: "s", asks: []ask{{"bottomk(10, " + quantile("0.05", "service, route", of("deadline_margin_seconds_bucket", service)) + ")", "{{service}} {{route}}"}}},
				{title: "Cancellations by cause", unit: "ops", asks: []ask{{rate("cause", of("deadline_cancellations_total", service)), "{{cause}}"}}},
				{title: "Outcomes", unit: "reqps", asks: []ask{{rate("outcome", of("deadline_requests_total", service)), "{{outcome}}"}}},
				{title: "Load and misses", about: "Rising together they are an overload.", unit: "reqps", asks: []ask{
					{rate("service", of("deadline_requests_total", service)), "{{service}} requests"},
					{rate("service", of("deadline_exhausted_total", service)) + " + " + rate("service", of("deadline_late_total", service)), "{{service}} missed"}}},
				{title: "What fires", kind: rows, asks: []ask{{`ALERTS{alertstate="firing"}`, ""}}},
			},
		},
		{
			name: "route", title: "Laxity: route", about: "One route: its margin, what it spends, what is left out.", source: metrics, variables: []string{"service", "route"},
			panels: []panel{
				{title: "Missed ratio", unit: "percentunit", asks: []ask{{missed("service, route", service, route), "{{service}} {{route}}"}}},
				{title: "Requests by outcome", unit: "reqps", asks: []ask{{rate("outcome", of("deadline_requests_total", service, route)), "{{outcome}}"}}},
				{title: "Margin", unit: "s", asks: []ask{
					{quantile("0.05", "route", of("deadline_margin_seconds_bucket", service, route)), "{{route}} p05"},
					{quantile("0.5", "route", of("deadline_margin_seconds_bucket", service, route)), "{{route}} p50"}}},
				{title: "Overrun of late answers, 95th percentile", unit: "s", asks: []ask{{quantile("0.95", "service, route", of("deadline_overrun_seconds_bucket", service, route)), "{{service}} {{route}}"}}},
				{title: "Used share of the budget", unit: "percentunit", asks: []ask{
					{quantile("0.5", "route", of("deadline_used_ratio_bucket", service, route)), "{{route}} p50"},
					{quantile("0.95", "route", of("deadline_used_ratio_bucket", service, route)), "{{route}} p95"}}},
				{title: "Own work before the first call", unit: "s", asks: []ask{{quantile("0.95", "service, route", of("deadline_local_before_first_call_seconds_bucket", service, route)), "{{service}} {{route}}"}}},
				{title: "Why requests were cancelled", unit: "ops", asks: []ask{{rate("cause", of("deadline_cancellations_total", service, route, `route!=""`)), "{{cause}}"}}},
				{title: "In which phase time ran out", unit: "ops", asks: []ask{{rate("phase", of("deadline_timeouts_total", service)), "{{phase}}"}}},
			},
		},
		{
			name: "dependency", title: "Laxity: dependency", about: "One dependency: what its callers leave it, and how calls end.", source: metrics, variables: []string{"service", "stage", "peer"},
			panels: []panel{
				{title: "Left just before the call", about: "5th percentile and median.", unit: "s", asks: []ask{
					{quantile("0.05", "service, stage", of("deadline_remaining_admission_seconds_bucket", service, stage, peer)), "{{service}} {{stage}} p05"},
					{quantile("0.5", "service, stage", of("deadline_remaining_admission_seconds_bucket", service, stage, peer)), "{{service}} {{stage}} p50"}}},
				{title: "Decisions", unit: "ops", asks: []ask{{rate("stage, decision", of("deadline_stage_decisions_total", service, stage, peer)), "{{stage}} {{decision}}"}}},
				{title: "Cancelled calls by cause", unit: "ops", asks: []ask{{rate("stage, peer, cause", of("deadline_cancellations_total", service, stage, peer, aHop)), "{{stage}} {{peer}} {{cause}}"}}},
				{title: "Timeouts by phase", unit: "ops", asks: []ask{{rate("stage, peer, phase", of("deadline_timeouts_total", service, stage, peer, aHop)), "{{stage}} {{peer}} {{phase}}"}}},
				{title: "Attempts by layer", unit: "ops", asks: []ask{{rate("stage, layer", of("deadline_attempts_total", service, stage, peer)), "{{stage}} {{layer}}"}}},
				{title: "Retries left out", unit: "ops", asks: []ask{{rate("stage, reason", of("deadline_retries_skipped_total", service, stage, peer)), "{{stage}} {{reason}}"}}},
				{title: "Not started for lack of time", unit: "ops", asks: []ask{{rate("service, stage", of("deadline_refused_total", service, stage, peer)), "{{service}} {{stage}}"}}},
			},
		},
		{
			name: "orphans", title: "Laxity: orphan work", about: "Work for callers that are gone, and work that does not stop.", source: metrics, variables: []string{"service"},
			panels: []panel{
				{title: "Orphan work as judged", about: "Seconds of work in a second.", unit: "s",
					asks: []ask{{`sum by (service, stage, cause) (rate(deadline_orphan_time_seconds_total{job="laxity-worker",service=~"$service"}[$__rate_interval]))`, "{{service}} {{stage}} {{cause}}"}}},
				{title: "Orphan work as seen early", about: "A lower bound, without waiting for the whole trace.", unit: "s",
					asks: []ask{{rate("service, stage, cause", of("deadline_orphan_early_seconds_total", service)), "{{service}} {{stage}} {{cause}}"}}},
				{title: "Work after the cancellation, 95th percentile", unit: "s", asks: []ask{{quantile("0.95", "service, stage, cause", of("deadline_post_cancel_time_seconds_bucket", service)), "{{service}} {{stage}} {{cause}}"}}},
				{title: "Stopped within 100 ms", unit: "percentunit", asks: []ask{{rate("service", of("deadline_post_cancel_time_seconds_bucket", service, `le="0.1"`)) + " / " +
					rate("service", of("deadline_post_cancel_time_seconds_count", service)), "{{service}}"}}},
				{title: "Still running", kind: rows, asks: []ask{{"sum by (service, stage, peer) (" + of("deadline_still_running", service) + ") > 0", ""}}},
				{title: "Cost after the deadline", about: "By unit, such as tokens.", asks: []ask{{rate("service, unit", of("deadline_cost_after_deadline_total", service)), "{{service}} {{unit}}"}}},
				{title: "Cancellations sent and confirmed", unit: "ops", asks: []ask{
					{rate("service", of("deadline_cancellations_total", service)), "{{service}} sent"},
					{rate("service", of("deadline_cancellations_confirmed_total", service)), "{{service}} confirmed"}}},
				{title: "Findings by rule", unit: "ops", asks: []ask{{`sum by (rule) (rate(deadline_findings_total{job="laxity-worker",service=~"$service"}[$__rate_interval]))`, "{{rule}}"}}},
			},
		},
		{
			name: "pipeline", title: "Laxity: pipeline", about: "Whether what is shown elsewhere is complete and current.", source: metrics,
			panels: []panel{
				{title: "Accepted spans", unit: "ops", kind: number, width: 6, asks: []ask{{total(of("otelcol_receiver_accepted_spans_total")), ""}}},
				{title: "Refused and failed spans", unit: "ops", kind: number, width: 6, asks: []ask{{total(of("otelcol_receiver_refused_spans_total")) + " + " + total(of("otelcol_receiver_failed_spans_total")), ""}}},
				{title: "Quarantined spans", unit: "ops", kind: number, width: 6, asks: []ask{{total(of("otelcol_exporter_deadline_quarantined_spans_total")), ""}}},
				{title: "Worker lag", unit: "s", kind: number, width: 6, asks: []ask{{`max(laxity_worker_lag_seconds{job="laxity-worker",step!="tallies"})`, ""}}},
				{title: "Spans in and out", unit: "ops", asks: []ask{
					{total(of("otelcol_receiver_accepted_spans_total")), "accepted"},
					{rate("exporter", of("otelcol_exporter_sent_spans_total")), "sent to {{exporter}}"}}},
				{title: "Queue", unit: "percentunit", asks: []ask{{"sum by (exporter) (" + of("otelcol_exporter_queue_size") + ") / sum by (exporter) (" + of("otelcol_exporter_queue_capacity") + ")", "{{exporter}}"}}},
				{title: "Lag of the worker", unit: "s", asks: []ask{{`laxity_worker_lag_seconds{job="laxity-worker"}`, "{{step}}"}}},
				{title: "Worker: passes and failures", unit: "ops", asks: []ask{
					{`rate(laxity_worker_passes_total{job="laxity-worker"}[$__rate_interval])`, "passes"},
					{`rate(laxity_worker_failures_total{job="laxity-worker"}[$__rate_interval])`, "failures"}}},
				{title: "Spans with budget facts, by result", unit: "ops", asks: []ask{{rate("result", of("otelcol_connector_deadline_spans_total")), "{{result}}"}}},
				{title: "Series of the connector", asks: []ask{{of("otelcol_connector_deadline_series"), "series"}}},
				{title: "Memory of the collector", unit: "bytes", asks: []ask{{of("otelcol_process_memory_rss_bytes"), "resident"}}},
				{title: "Processor time of the collector", unit: "percentunit", asks: []ask{{"rate(" + of("otelcol_process_cpu_seconds_total") + "[$__rate_interval])", "processors"}}},
			},
		},
	}
}

func spanBoards() []board {
	return []board{
		{
			name: "fleet", title: "Laxity: fleet, from spans", about: "Who misses budgets, by how much, and why: exact, out of storage.", source: spans, variables: []string{"service"},
			panels: []panel{
				{title: "Missed ratio by route", unit: "percentunit", asks: []ask{{"fleet_missed", ""}}},
				{title: "Margin, 5th percentile", unit: "s", asks: []ask{{"fleet_margin", ""}}},
				{title: "Routes, the most missed first", kind: rows, width: columns, asks: []ask{{"fleet_routes", ""}}},
				{title: "Cancellations by cause", asks: []ask{{"fleet_causes", ""}}},
				{title: "Findings by rule", kind: rows, asks: []ask{{"fleet_findings", ""}}},
			},
		},
		{
			name: "route", title: "Laxity: route, from spans", about: "One route: margin, outcomes, and the worst traces.", source: spans, variables: []string{"service", "route"},
			panels: []panel{
				{title: "Margin", unit: "s", asks: []ask{{"route_margin", ""}}},
				{title: "Outcomes", asks: []ask{{"route_outcomes", ""}}},
				{title: "Worst traces", kind: rows, width: columns, asks: []ask{{"route_traces", ""}}},
			},
		},
		{
			name: "dependency", title: "Laxity: dependency, from spans", about: "What callers leave a dependency, what it takes, and how calls end.", source: spans, variables: []string{"service", "peer"},
			panels: []panel{
				{title: "Length and allowance of calls, median", unit: "s", asks: []ask{{"dependency_calls", ""}}},
				{title: "Timeouts by phase", asks: []ask{{"dependency_phases", ""}}},
				{title: "Dependencies", kind: rows, width: columns, asks: []ask{{"dependency_stages", ""}}},
			},
		},
		{
			name: "orphans", title: "Laxity: orphan work, from spans", about: "Work for callers that are gone.", source: spans, variables: []string{"service"},
			panels: []panel{
				{title: "Orphan work", unit: "s", asks: []ask{{"orphans_time", ""}}},
				{title: "Work after the cancellation", unit: "s", asks: []ask{{"orphans_post_cancel", ""}}},
				{title: "Who works for nobody", kind: rows, width: columns, asks: []ask{{"orphans_services", ""}}},
			},
		},
		{
			name: "pipeline", title: "Laxity: pipeline, from storage", about: "What arrived, how late, and what could not be kept.", source: spans,
			panels: []panel{
				{title: "Hops that arrived", asks: []ask{{"pipeline_hops", ""}}},
				{title: "Delay from end of span to storage, 95th percentile", unit: "s", asks: []ask{{"pipeline_delay", ""}}},
				{title: "Quarantined spans", kind: rows, asks: []ask{{"pipeline_quarantine", ""}}},
				{title: "Watermarks of the worker", kind: rows, asks: []ask{{"pipeline_progress", ""}}},
				{title: "Rows and bytes by table", kind: rows, width: columns, asks: []ask{{"pipeline_tables", ""}}},
			},
		},
	}
}
