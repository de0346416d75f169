package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/laxity-dev/laxity/internal/render"
)

func newReportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report NAME",
		Short: "Print a report over many traces",
		Args: func(_ *cobra.Command, args []string) error {
			names := "margin"
			for _, spec := range reportSpecs {
				names += ", " + spec.name
			}
			if len(args) == 0 {
				return &usageError{errors.New("report: which one? reports: " + names)}
			}
			return &usageError{fmt.Errorf("report: there is no report %q; reports: %s", args[0], names)}
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// The flags of a report that is not there must not hide that it is not.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	cmd.AddCommand(newReportMarginCommand())
	for _, spec := range reportSpecs {
		cmd.AddCommand(newReportRowsCommand(spec))
	}
	return cmd
}

// ofRequests are filters of reports over requests.
var ofRequests = []string{"service", "route", "environment", "version", "outcome", "late", "margin-lt", "margin-gt"}

// filterHelp says what filters do that are no filter by one field.
var filterHelp = map[string]string{
	"before-from": "begin of the window to compare with (default the same hours a week earlier)",
	"before-to":   "end of the window to compare with",
	"marker":      "compare the time after this marker with the time before it",
	"reach":       "how far to look to both sides of the marker (default 24h)",
	"environment": "only this deployment environment",
	"version":     "only this version of the service",
	"outcome":     "only requests with this outcome",
	"late":        "only requests that were late (true) or were not (false)",
	"margin-lt":   "only requests with a margin below this many seconds",
	"margin-gt":   "only requests with a margin above this many seconds",
	"quadrant":    "only healthy, stingy_caller, slow_dependency or both",
	"measure":     "margin (of answered requests with a budget) or duration (of all)",
}

// addReportFlags adds the flags every report takes, and its filters.
func addReportFlags(cmd *cobra.Command, filters []string) {
	addAPIFlags(cmd)
	cmd.Flags().String("since", "24h", "how far to look back: 90s, 30m, 24h, 7d")
	cmd.Flags().String("from", "", "begin of the window in RFC 3339, instead of --since")
	cmd.Flags().String("to", "", "end of the window in RFC 3339 (default now)")
	cmd.Flags().Int("limit", 100, "most rows to print, up to 1000")
	cmd.Flags().String("cursor", "", "go on behind an earlier answer: the next of its json")
	addOutputFlag(cmd)
	for _, name := range filters {
		about, special := filterHelp[name]
		if !special {
			about = "only this " + name
		}
		cmd.Flags().String(name, "", about)
	}
}

// leaveOutFlag adds --not, which excluded reads.
func leaveOutFlag(cmd *cobra.Command) {
	cmd.Flags().StringArray("not", nil, "`FILTER=VALUE`: leave out a service, route, stage, peer, cause, phase or rule, where the report has that filter; may be repeated")
}

// excluded adds what is left out to a query.
func excluded(cmd *cobra.Command, query url.Values) error {
	if cmd.Flags().Lookup("not") == nil {
		return nil
	}
	all, err := cmd.Flags().GetStringArray("not")
	if err != nil {
		return err
	}
	for _, one := range all {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" || value == "" {
			return &usageError{fmt.Errorf("--not %q: give FILTER=VALUE, such as service=shop", one)}
		}
		query.Add("not."+name, value)
	}
	return nil
}

// reportQuery turns the flags of addReportFlags into the query of the API.
func reportQuery(cmd *cobra.Command, filters []string) (url.Values, string, error) {
	query := url.Values{}
	for _, name := range append([]string{"limit", "cursor", "from", "to"}, filters...) {
		if value := cmd.Flags().Lookup(name).Value.String(); value != "" {
			query.Set(strings.ReplaceAll(name, "-", "_"), value)
		}
	}
	// A marker has a window of its own.
	if !query.Has("from") && (!query.Has("marker") || cmd.Flags().Changed("since")) {
		query.Set("from", "now-"+cmd.Flags().Lookup("since").Value.String())
	}
	output, err := outputOf(cmd)
	return query, output, err
}

func addOutputFlag(cmd *cobra.Command) {
	cmd.Flags().StringP("output", "o", "table", "table, json or csv")
}

func outputOf(cmd *cobra.Command) (string, error) {
	output := cmd.Flags().Lookup("output").Value.String()
	switch output {
	case "table", "json", "csv":
		return output, nil
	}
	return "", &usageError{fmt.Errorf("-o %q is not known; use table, json or csv", output)}
}

// tellAnswer prints what the API answers at a path: json as it came, table and csv by write. what begins its errors.
func tellAnswer[Answer any](cmd *cobra.Command, what, path string, query url.Values, output string, write func(io.Writer, Answer) error) error {
	client, err := newAPIClient(cmd)
	if err != nil {
		return err
	}
	body, err := client.get(cmd.Context(), path, query)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if output == "json" {
		return writeJSON(cmd.OutOrStdout(), body)
	}
	var answer Answer
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s: answer of the API: %w", what, err)
	}
	return write(cmd.OutOrStdout(), answer)
}

type marginReport struct {
	Window struct {
		From, To string
	} `json:"window"`
	Rows []marginRow `json:"rows"`
	Next *string     `json:"next"`
}

type marginRow struct {
	Service     string   `json:"service"`
	Route       string   `json:"route"`
	Requests    int64    `json:"requests"`
	WithBudget  int64    `json:"with_budget"`
	Answered    int64    `json:"answered"`
	Late        int64    `json:"late"`
	Exhausted   int64    `json:"exhausted"`
	MissedRatio *float64 `json:"missed_ratio"`
	P05         *float64 `json:"margin_p05_s"`
	P50         *float64 `json:"margin_p50_s"`
	P95         *float64 `json:"margin_p95_s"`
	UsedP50     *float64 `json:"used_p50"`
	BudgetP50   *float64 `json:"budget_p50_s"`
	Provisional bool     `json:"provisional"`
}

func newReportMarginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "margin",
		Short: "How much of the budget each route had left, the least first",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, output, err := reportQuery(cmd, ofRequests)
			if err != nil {
				return err
			}
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			body, err := client.get(cmd.Context(), "reports/margin", query)
			if err != nil {
				return fmt.Errorf("report margin: %w", err)
			}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), body)
			}
			var report marginReport
			if err := json.Unmarshal(body, &report); err != nil {
				return fmt.Errorf("report margin: %w", err)
			}
			if output == "csv" {
				return writeMarginCSV(cmd.OutOrStdout(), report)
			}
			return writeMarginTable(cmd.OutOrStdout(), report)
		},
	}
	addReportFlags(cmd, ofRequests)
	return cmd
}

// writeMarginTable writes at most 80 columns.
func writeMarginTable(w io.Writer, report marginReport) error {
	var b strings.Builder
	if len(report.Rows) == 0 {
		fmt.Fprintf(&b, "No requests between %s and %s.\nSend traces over OTLP, or look further back with --since 7d.\n",
			wholeSecond(report.Window.From), wholeSecond(report.Window.To))
		_, err := io.WriteString(w, b.String())
		return err
	}
	b.WriteString("margin of answered requests with a budget; missed = late or exhausted\n\n")
	fmt.Fprintf(&b, "%-31s %8s %7s %8s %8s %8s\n", "service route", "requests", "missed", "p05", "p50", "budget")
	for _, row := range report.Rows {
		fmt.Fprintf(&b, "%-31s %8s %7s %8s %8s %8s\n", clip(row.Service+" "+row.Route, 31), large(row.Requests),
			percent(row.MissedRatio), shortSeconds(row.P05), shortSeconds(row.P50), shortSeconds(row.BudgetP50))
	}
	if report.Next != nil {
		b.WriteString("\nThere are more routes; see them with --limit 1000 or filter with --service.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeMarginCSV(w io.Writer, report marginReport) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"service", "route", "requests", "with_budget", "answered", "late", "exhausted", "missed_ratio",
		"margin_p05_s", "margin_p50_s", "margin_p95_s", "used_p50", "budget_p50_s", "provisional"}}
	for _, r := range report.Rows {
		rows = append(rows, []string{r.Service, r.Route, strconv.FormatInt(r.Requests, 10), strconv.FormatInt(r.WithBudget, 10),
			strconv.FormatInt(r.Answered, 10), strconv.FormatInt(r.Late, 10), strconv.FormatInt(r.Exhausted, 10), decimal(r.MissedRatio),
			decimal(r.P05), decimal(r.P50), decimal(r.P95), decimal(r.UsedP50), decimal(r.BudgetP50), strconv.FormatBool(r.Provisional)})
	}
	return out.WriteAll(rows)
}

// writeJSON writes an answer of the API for a reader and for jq alike.
func writeJSON(w io.Writer, body []byte) error {
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", "  "); err != nil {
		return fmt.Errorf("answer of the API: %w", err)
	}
	indented.WriteByte('\n')
	_, err := indented.WriteTo(w)
	return err
}

// clip shortens text to width characters by leaving out its middle, because both ends of a route tell it apart.
func clip(text string, width int) string {
	runes := []rune(render.Clean(text))
	if len(runes) <= width {
		return string(runes)
	}
	head := (width - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}

func decimal(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', -1, 64)
}

func percent(f *float64) string {
	if f == nil {
		return "-"
	}
	return strconv.FormatFloat(*f*100, 'f', 1, 64) + "%"
}

// shortSeconds writes seconds with three decimals below 100 s, which is eight characters at most up to 27 hours.
func shortSeconds(f *float64) string {
	switch {
	case f == nil:
		return "-"
	case *f > -100 && *f < 100:
		return strconv.FormatFloat(*f, 'f', 3, 64) + "s"
	}
	return strconv.FormatFloat(*f, 'f', 0, 64) + "s"
}

// large writes large numbers with a suffix, so that they keep their column.
func large(n int64) string {
	switch {
	case n >= 10_000_000_000:
		return strconv.FormatInt(n/1_000_000_000, 10) + "G"
	case n >= 10_000_000:
		return strconv.FormatInt(n/1_000_000, 10) + "M"
	}
	return strconv.FormatInt(n, 10)
}
