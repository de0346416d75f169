package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Shares of a queue's capacity.
const (
	queueFilling = 0.5
	queueFull    = 0.9
)

// judgeQueue reads the Prometheus text of the collector: how full each exporter's queue is, and what was refused or lost.
func judgeQueue(metrics string) []diagnosis {
	size, capacity := byLabel(metrics, "otelcol_exporter_queue_size", "exporter"), byLabel(metrics, "otelcol_exporter_queue_capacity", "exporter")
	if len(size) == 0 {
		return []diagnosis{{"queue", "warn", "the collector reports no queue", "check that --metrics-listen is the address of a laxity collector"}}
	}
	var checks []diagnosis
	for _, exporter := range slices.Sorted(maps.Keys(size)) {
		waiting := fmt.Sprintf("%s of at most %s wait for exporter %s", amount(size[exporter]), amount(capacity[exporter]), exporter)
		share := 0.0
		if capacity[exporter] > 0 {
			share = size[exporter] / capacity[exporter]
		}
		switch {
		case share >= queueFull:
			checks = append(checks, diagnosis{"queue", "fail", waiting + ": new spans are about to be refused", "see that the database answers and keeps up; the queue drains by itself then"})
		case share >= queueFilling:
			checks = append(checks, diagnosis{"queue", "warn", waiting, "the database is slow or was away; the queue should shrink within minutes"})
		default:
			checks = append(checks, diagnosis{Name: "queue", Status: "ok", Text: waiting})
		}
	}
	lost := total(metrics, "otelcol_exporter_enqueue_failed_spans") + total(metrics, "otelcol_exporter_send_failed_spans")
	if lost > 0 {
		checks = append(checks, diagnosis{"losses", "warn", amount(lost) + " spans could not be written since the collector started", "see its log for the reason"})
	}
	if refused := total(metrics, "otelcol_receiver_refused_spans"); refused > 0 {
		checks = append(checks, diagnosis{"refusals", "warn", amount(refused) + " spans were refused since the collector started; senders try again", "give it more memory with --memory-limit or send less at once"})
	}
	return checks
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// byLabel sums the samples of a metric by one label. A name may carry the suffix that its exporter adds to counters.
func byLabel(metrics, name, label string) map[string]float64 {
	sums := map[string]float64{}
	for line := range strings.Lines(metrics) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		rest = strings.TrimPrefix(rest, "_total")
		labels, value := "", rest
		if inner, ok := strings.CutPrefix(rest, "{"); ok {
			end := strings.LastIndex(inner, "}")
			if end < 0 {
				continue
			}
			labels, value = inner[:end], inner[end+1:]
		} else if !strings.HasPrefix(rest, " ") {
			continue // a longer name
		}
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		f, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			continue
		}
		sums[labelValue(labels, label)] += f
	}
	return sums
}

func total(metrics, name string) float64 {
	sum := 0.0
	for _, value := range byLabel(metrics, name, "") {
		sum += value
	}
	return sum
}

// labelValue finds one label; values of the collector's own labels hold no quotes.
func labelValue(labels, label string) string {
	if label == "" {
		return ""
	}
	for part := range strings.SplitSeq(labels, ",") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(part), label+`="`); ok {
			return strings.TrimSuffix(value, `"`)
		}
	}
	return ""
}
