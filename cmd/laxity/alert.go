package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/laxity-dev/laxity/internal/promrule"
	"github.com/laxity-dev/laxity/internal/slo"
)

func newAlertCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alert",
		Short: "See what fires, silence it, test who is told, write Prometheus rules",
		Example: `  laxity alert list
  laxity alert silence add alertname=OrphanWork service=shop --for 2h
  laxity alert test BudgetMissedFast
  laxity alert rules --alert-settings alerts.yaml > laxity.rules.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("alert: there is no %q; use list, history, silence, test, rules or openslo", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAlertListCommand(), newAlertHistoryCommand(), newSilenceCommand(), newAlertTestCommand(),
		newAlertFileCommand("rules", "Write the rules for Prometheus by these settings", func(settings slo.Settings) ([]any, error) {
			rules, err := promrule.Rules(settings, 1)
			return []any{rules}, err
		}),
		newAlertFileCommand("openslo", "Write the indicators as OpenSLO v1 by these settings", promrule.OpenSLO))
	return cmd
}

// alertAnswer is what the commands read of GET /alerts.
type alertAnswer struct {
	Evaluated *string `json:"evaluated_at"`
	Problem   string  `json:"problem"`
	Rows      []struct {
		Name      string `json:"name"`
		Severity  string `json:"severity"`
		Unit      string `json:"unit"`
		Outside   bool   `json:"outside"`
		Instances []struct {
			Labels   map[string]string `json:"labels"`
			State    string            `json:"state"`
			Since    string            `json:"since"`
			Value    float64           `json:"value"`
			Summary  string            `json:"summary"`
			Silenced bool              `json:"silenced"`
			Examples []struct {
				TraceID string `json:"trace_id"`
			} `json:"examples"`
		} `json:"instances"`
	} `json:"rows"`
}

// alertLabels are fields of csv, beside those that every instance has.
var alertLabels = []string{"service", "route", "stage", "peer", "cause", "phase", "rule"}

func newAlertListCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "What fires or is about to, with the traces that show it",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			output, err := outputOf(cmd)
			if err != nil {
				return err
			}
			return tellAnswer(cmd, "alert", "alerts", nil, output, func(w io.Writer, answer alertAnswer) error {
				if output == "csv" {
					return writeAlertCSV(w, answer, all)
				}
				return writeAlerts(w, answer, all)
			})
		},
	}
	addAPIFlags(cmd)
	addOutputFlag(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "also alerts that are quiet")
	return cmd
}

func writeAlertCSV(w io.Writer, answer alertAnswer, all bool) error {
	spec := reportSpec{place: append(append([]string{"name", "severity", "state", "since", "value", "unit", "silenced"}, alertLabels...), "summary", "examples")}
	var report rowsReport
	for _, a := range answer.Rows {
		if all && len(a.Instances) == 0 {
			report.Rows = append(report.Rows, map[string]any{"name": a.Name, "severity": a.Severity, "state": quietState(a.Outside), "unit": a.Unit})
		}
		for _, one := range a.Instances {
			traces := []any{}
			for _, e := range one.Examples {
				traces = append(traces, e.TraceID)
			}
			row := map[string]any{"name": a.Name, "severity": a.Severity, "state": one.State, "since": one.Since, "value": one.Value, "unit": a.Unit,
				"silenced": one.Silenced, "summary": one.Summary, "examples": traces}
			for name, value := range one.Labels {
				row[name] = value
			}
			report.Rows = append(report.Rows, row)
		}
	}
	return spec.writeCSV(w, report)
}

// quietState is the state of an alert without instances.
func quietState(outside bool) string {
	if outside {
		return "prometheus"
	}
	return "quiet"
}

// writeAlerts writes at most 80 columns.
func writeAlerts(w io.Writer, answer alertAnswer, all bool) error {
	var b strings.Builder
	active := 0
	for _, a := range answer.Rows {
		active += len(a.Instances)
		for _, one := range a.Instances {
			silenced := ""
			if one.Silenced {
				silenced = "  silenced"
			}
			fmt.Fprintf(&b, "%-10s %-6s  %-22s  since %s%s\n    %s\n", one.State, a.Severity, a.Name, wholeSecond(one.Since), silenced, fold(one.Summary, 80, "    "))
			for _, e := range one.Examples {
				fmt.Fprintf(&b, "    laxity trace %s\n", e.TraceID)
			}
		}
	}
	if all {
		for _, a := range answer.Rows {
			if len(a.Instances) == 0 {
				fmt.Fprintf(&b, "%-10s %-6s  %s\n", quietState(a.Outside), a.Severity, a.Name)
			}
		}
	}
	switch {
	case answer.Evaluated == nil:
		b.WriteString("Nothing was evaluated yet: that takes laxity api two minutes from its start.\n")
	case active == 0:
		fmt.Fprintf(&b, "No alert fires; evaluated for the minute until %s.\n", wholeSecond(*answer.Evaluated))
	}
	if answer.Problem != "" {
		fmt.Fprintf(&b, "%s\n", fold("Not everybody is told: "+answer.Problem, 80, ""))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newAlertHistoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "How alerts changed, newest first",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &usageError{errors.New("alert history takes the name of one alert at most")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			query, output, err := reportQuery(cmd, nil)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				query.Set("name", args[0])
			}
			return tellAnswer(cmd, "alert", "alerts/history", query, output, func(w io.Writer, report rowsReport) error {
				if output == "table" {
					return writeAlertHistory(w, report)
				}
				place := []string{"at", "name", "state", "value"}
				for _, label := range alertLabels {
					place = append(place, "labels."+label)
				}
				return reportSpec{place: append(place, "summary")}.writeCSV(w, report)
			})
		},
	}
	addReportFlags(cmd, nil)
	return cmd
}

// writeAlertHistory writes at most 80 columns.
func writeAlertHistory(w io.Writer, report rowsReport) error {
	var b strings.Builder
	if len(report.Rows) == 0 {
		fmt.Fprintf(&b, "No alert changed between %s and %s.\n", wholeSecond(report.Window.From), wholeSecond(report.Window.To))
	}
	for _, row := range report.Rows {
		fmt.Fprintf(&b, "%s  %-8s  %s\n    %s\n", wholeSecond(word(row["at"])), word(row["state"]), word(row["name"]), fold(word(row["summary"]), 80, "    "))
	}
	if report.Next != nil {
		b.WriteString("There are more changes; see them with --limit 1000.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newAlertTestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Tell everybody of an alert as if it fired, marked as a test",
		Long:  `Tells every webhook and Alertmanager that the API knows, marked as a test. Ends with 1 if one could not be told.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{errors.New("alert test takes the name of one alert, such as BudgetMissedFast; laxity alert list --all shows them")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			output, err := outputOf(cmd)
			if err != nil {
				return err
			}
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			body, err := client.do(cmd.Context(), http.MethodPost, "alerts/"+url.PathEscape(args[0])+"/test", nil, nil)
			if err != nil {
				return fmt.Errorf("alert: %w", err)
			}
			return tellTest(cmd.OutOrStdout(), body, output)
		},
	}
	addAPIFlags(cmd)
	addOutputFlag(cmd)
	return cmd
}

func tellTest(w io.Writer, body []byte, output string) error {
	var answer struct {
		Told []map[string]any `json:"told"`
	}
	err := json.Unmarshal(body, &answer)
	switch {
	case err != nil:
		return fmt.Errorf("alert: answer of the API: %w", err)
	case output == "json":
		err = writeJSON(w, body)
	case output == "csv":
		err = reportSpec{place: []string{"to", "error"}}.writeCSV(w, rowsReport{Rows: answer.Told})
	}
	failed := false
	for _, one := range answer.Told {
		outcome := word(one["to"]) + ": delivered"
		if text := word(one["error"]); text != "" { // it names whom
			outcome, failed = text, true
		}
		if output == "table" && err == nil {
			_, err = fmt.Fprintln(w, fold(outcome, 80, "    "))
		}
	}
	if err == nil && failed {
		err = errReported
	}
	return err
}

// newAlertFileCommand writes a file for other programs to standard output.
func newAlertFileCommand(name, short string, documents func(slo.Settings) ([]any, error)) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := readAlertSettings(path)
			if err != nil {
				return err
			}
			all, err := documents(settings)
			if err != nil {
				return fmt.Errorf("alert: %w", err)
			}
			encoder := yaml.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent(2)
			for _, d := range all {
				if err := encoder.Encode(d); err != nil {
					return fmt.Errorf("alert: %w", err)
				}
			}
			return encoder.Close()
		},
	}
	cmd.Flags().StringVar(&path, "alert-settings", "", "file of objectives and limits; see docs/alerts-settings.md (default the defaults)")
	return cmd
}
