package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// reportSpec is a report whose rows are printed as they come.
type reportSpec struct {
	name, short, heading string
	// filters are the parameters of its route, beside those of every report.
	filters []string
	// place are the fields that name a row, printed in one column of the table.
	place []string
	// columns are the figures of the table; all are fields of csv too.
	columns []reportColumn
	// more are fields that only csv has.
	more []string
	// below, if not nil, gives the lines that stand below the table for one row.
	below func(row map[string]any) []string
}

type reportColumn struct {
	field, title string
	format       func(any) string
}

// placeWidth and figureWidth leave 80 columns for five figures.
const (
	placeWidth  = 35
	figureWidth = 8
)

var reportSpecs = []reportSpec{
	{
		name: "orphans", short: "Who works for callers that no longer wait, the most time first",
		heading: "orphan and post-cancel work; busy = orphan time ÷ the service's time", filters: []string{"service", "stage", "peer", "cause"},
		place: []string{"service", "stage", "peer", "cause"},
		columns: []reportColumn{{"spans", "spans", whole}, {"orphan_s", "orphan", lasting}, {"post_cancel_s", "after", lasting},
			{"still_running", "running", whole}, {"share_of_busy", "busy", share}},
		more: []string{"costs", "example_trace_ids"},
	},
	{
		name: "findings", short: "Which findings there were, the gravest first",
		heading: "findings by rule and place", filters: []string{"service", "route", "stage", "peer", "cause", "rule"},
		place:   []string{"rule", "service", "stage", "peer"},
		columns: []reportColumn{{"severity", "severity", word}, {"spans", "spans", whole}, {"traces", "traces", whole}, {"amount_s", "amount", lasting}},
		more:    []string{"last_seen_at", "example_trace_ids"},
	},
	{
		name: "stages", short: "Where chains degrade, per stage",
		heading: "stages; degraded = the decision was not to run", filters: append([]string{"stage", "peer", "cause"}, ofRequests...),
		place: []string{"service", "route", "stage", "peer"},
		columns: []reportColumn{{"calls", "calls", whole}, {"degraded", "degraded", whole}, {"degraded_ratio", "ratio", share},
			{"spend_p50_s", "p50", lasting}, {"spend_p95_s", "p95", lasting}},
		more: []string{"decisions", "causes", "phases", "trend"},
	},
	{
		name: "cancellations", short: "Why requests were cancelled, and how long clients wait",
		heading: "cancelled requests; patience = how long clients waited that left", filters: append([]string{"cause"}, ofRequests...),
		place: []string{"service", "route", "cause"},
		columns: []reportColumn{{"sent", "sent", whole}, {"confirmed", "stopped", whole}, {"patience_p50_s", "patience", lasting},
			{"patience_p95_s", "p95", lasting}, {"budget_p50_s", "budget", lasting}},
	},
	{
		name: "cells", short: "How requests are spread over time and what they had left, or took",
		heading: "requests by time and margin, or with --measure duration by how long they took", filters: append([]string{"rule", "measure"}, ofRequests...),
		place: []string{"at"},
		columns: []reportColumn{{"low_s", "from", lasting}, {"high_s", "below", lasting}, {"requests", "requests", whole}, {"seen", "seen", whole},
			{"missed", "missed", whole}},
		more: []string{"example_trace_ids"},
	},
	{
		name: "patience", short: "When clients leave, and whether their budget had ended by then",
		heading: "clients that left, by how long they had waited; gone = left by then", filters: append([]string{"cause"}, ofRequests...),
		columns: []reportColumn{{"after_s", "waited", lasting}, {"up_to_s", "below", lasting}, {"left", "left", whole}, {"early", "early", whole},
			{"gone_ratio", "gone", share}},
		more: []string{"with_budget", "example_trace_ids"},
	},
	{
		name: "spend", short: "What requests spend where, on average and over time",
		heading: "mean spend of an answered request on the waited path; budget = granted", filters: append([]string{"rule"}, ofRequests...),
		place: []string{"service", "route", "part", "stage", "peer"},
		columns: []reportColumn{{"mean_s", "mean", lasting}, {"share_of_budget", "share", share}, {"calls_per_request", "calls", factor},
			{"degraded_ratio", "not run", share}, {"requests", "requests", whole}},
		more: []string{"buckets"},
	},
	{
		name: "local", short: "Who spends the budget before calling anybody",
		heading: "work before the first call, medians", filters: ofRequests,
		place: []string{"service", "route"},
		columns: []reportColumn{{"requests", "requests", whole}, {"before_first_call_p50_s", "before", lasting},
			{"share_of_budget_p50", "share", share}, {"queue_p50_s", "queue", lasting}},
	},
	{
		name: "phases", short: "In which phase calls time out",
		heading: "timeouts by phase, and how long the phases take", filters: []string{"service", "environment", "version", "peer", "phase"},
		place: []string{"service", "peer", "phase"},
		columns: []reportColumn{{"timeouts", "timeouts", whole}, {"fresh", "fresh", whole}, {"reused", "reused", whole}, {"p50_s", "p50", lasting},
			{"p99_s", "p99", lasting}},
		more: []string{"measured"},
	},
	{
		name: "retries", short: "What retries bring",
		heading: "retries; wasted = cut by time", filters: []string{"service", "environment", "version", "stage", "peer"},
		place: []string{"service", "stage", "peer", "layer"},
		columns: []reportColumn{{"calls", "calls", whole}, {"attempts_per_call", "per call", factor}, {"skipped", "skipped", whole},
			{"wasted", "wasted", whole}, {"wasted_s", "for", lasting}},
		more: []string{"attempts", "reasons"},
	},
	{
		name: "propagation", short: "Whether budgets arrive, per caller and callee",
		heading: "budgets from caller to callee; renewed = more than the caller had left", filters: []string{"service", "environment", "peer"},
		place: []string{"from", "to"},
		columns: []reportColumn{{"calls", "calls", whole}, {"with_budget", "budgets", whole}, {"renewed", "renewed", whole},
			{"dropped", "dropped", whole}, {"growth_max_s", "most", lasting}},
		more: []string{"handed_p50_s", "used_p50_s"},
	},
	{
		name: "conformance", short: "What services record of budgets, and what they do not",
		heading: "what is recorded, by service; missing = recorded by less than 95 %", filters: []string{"service"},
		place: []string{"service"},
		columns: []reportColumn{{"spans", "spans", whole}, {"requests", "requests", whole}, {"budgets", "budgets", whole},
			{"incomplete_ratio", "incompl.", share}, {"missing", "missing", parts}},
		more: []string{"versions", "outcomes", "margins", "calls", "remainders", "ends", "headers_due", "headers_passed", "signals", "told",
			"in_time", "left_open", "derived"},
		below: missingFacts,
	},
	{
		name: "limits", short: "Timeouts that nobody recorded, found where calls pile up",
		heading: "hidden limits; after = work that went on after cuts, at least", filters: []string{"service", "peer"},
		place: []string{"service", "peer", "operation"},
		columns: []reportColumn{{"limit_s", "limit", lasting}, {"calls", "calls", whole}, {"cut", "cut", whole}, {"after_s", "after", lasting},
			{"confidence", "sure", share}},
		more: []string{"from_s", "to_s", "beyond", "outlived", "timed_out", "failed", "after_estimate_s", "last_seen_at", "example_trace_ids"},
	},
	{
		name: "dependencies", short: "Slow dependencies and stingy callers told apart",
		heading: "generosity = allowance ÷ usual tail, slowdown = latency ÷ baseline", filters: []string{"service", "environment", "version", "stage", "peer"},
		place: []string{"quadrant", "service", "peer", "stage"},
		columns: []reportColumn{{"calls", "calls", whole}, {"allowance_p50_s", "allowed", lasting}, {"latency_p50_s", "latency", lasting},
			{"generosity", "generous", factor}, {"slowdown", "slowdown", factor}},
		more: []string{"usual_p99_s", "baseline_p50_s", "baseline_calls", "cut", "between_p50_s", "fresh", "reused", "rules", "example_trace_ids"},
	},
	{
		name: "map", short: "The incident map: who is stingy, who is slow, or both",
		heading: "stingy below 1 of the usual tail, slow from 1.5 of the usual median", filters: []string{"service", "environment", "version", "stage", "peer", "quadrant"},
		place: []string{"quadrant", "service", "peer", "stage"},
		columns: []reportColumn{{"calls", "calls", whole}, {"cut", "cut", whole}, {"generosity", "generous", factor}, {"slowdown", "slowdown", factor},
			{"latency_p50_s", "latency", lasting}},
		more: []string{"allowance_p50_s", "usual_p99_s", "baseline_p50_s", "baseline_calls", "between_p50_s", "fresh", "reused", "rules", "example_trace_ids"},
	},
	{
		name: "reserves", short: "Whether reserves fit what follows, and which hops start without hope",
		heading: "reserves; needed = 99th percentile of what followed until the answer", filters: []string{"service", "route", "environment", "version", "stage", "peer"},
		place: []string{"verdict", "service", "route", "stage", "peer"},
		columns: []reportColumn{{"calls", "calls", whole}, {"reserve_p50_s", "reserve", lasting}, {"needed_p99_s", "needed", lasting},
			{"eaten_ratio", "eaten", share}, {"hopeless_ratio", "hopeless", share}},
		more: []string{"needed_p50_s", "measured", "eaten", "hopeless_starts", "example_trace_ids"},
	},
	{
		name: "attribution", short: "Why margins moved: since last week, or around a marker",
		heading: "mean margin before and after, and what took or gave the most", place: []string{"service", "route"},
		filters: []string{"service", "route", "environment", "version", "before-from", "before-to", "marker", "reach"},
		columns: []reportColumn{{"before.margin_mean_s", "before", lasting}, {"after.margin_mean_s", "after", lasting}, {"change_s", "change", lasting},
			{"clear", "clear", word}, {"parts", "by", largestPart}},
		more: []string{"change_low_s", "change_high_s", "before.answered", "after.answered", "before.missed_ratio", "after.missed_ratio",
			"before.margin_p05_s", "after.margin_p05_s", "before.budget_p50_s", "after.budget_p50_s"},
	},
}

// largestPart names the first of the parts of a change.
func largestPart(value any) string {
	parts, _ := value.([]any)
	if len(parts) == 0 {
		return "-"
	}
	part, _ := parts[0].(map[string]any)
	for _, field := range []string{"stage", "peer", "part"} {
		if name := word(part[field]); name != "" {
			return clip(name, figureWidth)
		}
	}
	return "-"
}

// field returns a field of a row, or with a dot a field of an object in it.
func field(row map[string]any, name string) any {
	outer, inner, nested := strings.Cut(name, ".")
	if !nested {
		return row[name]
	}
	object, _ := row[outer].(map[string]any)
	return object[inner]
}

func newReportRowsCommand(spec reportSpec) *cobra.Command {
	cmd := &cobra.Command{
		Use:   spec.name,
		Short: spec.short,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, output, err := reportQuery(cmd, spec.filters)
			if err == nil {
				err = excluded(cmd, query)
			}
			if err != nil {
				return err
			}
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			body, err := client.get(cmd.Context(), "reports/"+spec.name, query)
			if err != nil {
				return fmt.Errorf("report %s: %w", spec.name, err)
			}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), body)
			}
			var report rowsReport
			decoder := json.NewDecoder(bytes.NewReader(body))
			decoder.UseNumber()
			if err := decoder.Decode(&report); err != nil {
				return fmt.Errorf("report %s: %w", spec.name, err)
			}
			if output == "csv" {
				return spec.writeCSV(cmd.OutOrStdout(), report)
			}
			return spec.writeTable(cmd.OutOrStdout(), report)
		},
	}
	addReportFlags(cmd, spec.filters)
	if spec.name != "attribution" { // which compares whole routes
		leaveOutFlag(cmd)
	}
	return cmd
}

type rowsReport struct {
	Window struct {
		From, To string
	} `json:"window"`
	Watermark   *string          `json:"watermark"`
	Provisional bool             `json:"provisional"`
	Rows        []map[string]any `json:"rows"`
	Next        *string          `json:"next"`
}

// upTo says up to when the answer is complete, if its window reaches further.
func (report rowsReport) upTo() string {
	switch {
	case report.Watermark == nil:
		return "No worker has judged any trace: run laxity worker, or everything with laxity up.\n"
	case report.Provisional:
		return "Complete up to " + wholeSecond(*report.Watermark) + "; what arrived later is still being added.\n"
	}
	return ""
}

// wholeSecond leaves the fraction out of an instant.
func wholeSecond(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return at
	}
	return t.UTC().Truncate(time.Second).Format(time.RFC3339)
}

// writeTable writes at most 80 columns.
func (spec reportSpec) writeTable(w io.Writer, report rowsReport) error {
	var b strings.Builder
	if len(report.Rows) == 0 {
		fmt.Fprintf(&b, "Nothing to report between %s and %s.\n%s", wholeSecond(report.Window.From), wholeSecond(report.Window.To), report.upTo())
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "%s\n\n%-*s", spec.heading, placeWidth, clip(strings.Join(spec.place, " "), placeWidth))
	for _, column := range spec.columns {
		fmt.Fprintf(&b, " %*s", figureWidth, column.title)
	}
	b.WriteByte('\n')
	for _, row := range report.Rows {
		var place []string
		for _, name := range spec.place {
			if text := word(row[name]); text != "" {
				place = append(place, text)
			}
		}
		fmt.Fprintf(&b, "%-*s", placeWidth, clip(strings.Join(place, " "), placeWidth))
		for _, column := range spec.columns {
			fmt.Fprintf(&b, " %*s", figureWidth, column.format(field(row, column.field)))
		}
		b.WriteByte('\n')
	}
	if spec.below != nil {
		b.WriteByte('\n')
		for _, row := range report.Rows {
			for _, line := range spec.below(row) {
				b.WriteString(line + "\n")
			}
		}
	}
	if report.Next != nil {
		b.WriteString("\nThere are more rows; see them with --limit 1000 or filter with --service.\n")
	}
	if text := report.upTo(); text != "" {
		b.WriteString("\n" + text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (spec reportSpec) writeCSV(w io.Writer, report rowsReport) error {
	fields := slices.Clone(spec.place)
	for _, column := range spec.columns {
		fields = append(fields, column.field)
	}
	fields = append(fields, spec.more...)
	records := [][]string{fields}
	for _, row := range report.Rows {
		record := make([]string, len(fields))
		for i, name := range fields {
			record[i] = word(field(row, name))
		}
		records = append(records, record)
	}
	return csv.NewWriter(w).WriteAll(records)
}

// word writes any value as one word: lists and objects with spaces between their parts.
func word(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i] = word(v[i])
		}
		return strings.Join(words, " ")
	case map[string]any:
		var words []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			words = append(words, key+"="+word(v[key]))
		}
		return strings.Join(words, " ")
	}
	return fmt.Sprint(value)
}

func float(value any) *float64 {
	n, ok := value.(json.Number)
	if !ok {
		return nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil
	}
	return &f
}

func lasting(value any) string { return shortSeconds(float(value)) }
func share(value any) string   { return percent(float(value)) }

func whole(value any) string {
	f := float(value)
	if f == nil {
		return "-"
	}
	return large(int64(*f))
}

// missingFacts names what one service does not record, and how many of its spans do.
func missingFacts(row map[string]any) []string {
	var lines []string
	facts, _ := row["missing"].([]any)
	for _, fact := range facts {
		f, _ := fact.(map[string]any)
		lines = append(lines, fmt.Sprintf("%-*s %-*s %*s of %s", placeWidth, clip(word(row["service"]), placeWidth), 27, clip(word(f["fact"]), 27),
			figureWidth-2, whole(f["has"]), whole(f["of"])))
	}
	return lines
}

// parts is how many parts a list has.
func parts(value any) string {
	list, _ := value.([]any)
	return strconv.Itoa(len(list))
}

func factor(value any) string {
	f := float(value)
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *f)
}
