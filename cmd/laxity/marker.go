package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// marker is one marker as the API shows it.
type marker struct {
	ID          string    `json:"id"`
	At          time.Time `json:"at"`
	Title       string    `json:"title"`
	Service     string    `json:"service"`
	Environment string    `json:"environment"`
	Observed    bool      `json:"observed"`
}

func newMarkerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "marker",
		Short: "Mark deployments and other events next to trends",
		Example: `  laxity marker add --service shop --version 1.4.0 --environment prod
  laxity marker list --since 7d --observed
  laxity report attribution --marker ID`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("marker: there is no %q; use add, list, remove or restore", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMarkerAddCommand(), newMarkerListCommand(),
		newMarkerChangeCommand("remove", "Remove a marker; restore puts it back", http.MethodDelete, ""),
		newMarkerChangeCommand("restore", "Put a removed marker back", http.MethodPost, "/restore"))
	return cmd
}

func newMarkerAddCommand() *cobra.Command {
	fields := []struct{ name, about string }{
		{"at", "when it happened: RFC 3339, now, or now minus a length such as now-15m (default now)"},
		{"title", "what happened (default the service and its version)"}, {"text", "more about it"}, {"url", "a page about it"},
		{"service", "the service it is about (default all)"}, {"environment", "the environment it is about (default all)"},
		{"version", "the version that was deployed"},
	}
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Write a marker down and print its id",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			said := map[string]string{}
			for _, field := range fields {
				if value := cmd.Flags().Lookup(field.name).Value.String(); value != "" {
					said[field.name] = value
				}
			}
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			body, err := client.do(cmd.Context(), http.MethodPost, "markers", nil, said)
			if err != nil {
				return fmt.Errorf("marker: %w", err)
			}
			var added marker
			if err := json.Unmarshal(body, &added); err != nil {
				return fmt.Errorf("marker: answer of the API: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), added.ID)
			return err
		},
	}
	addAPIFlags(cmd)
	for _, field := range fields {
		cmd.Flags().String(field.name, "", field.about)
	}
	return cmd
}

func newMarkerListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the markers, newest first",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, output, err := reportQuery(cmd, []string{"service"})
			if err != nil {
				return err
			}
			for _, name := range []string{"environment", "observed"} {
				if value := cmd.Flags().Lookup(name).Value.String(); value != "" && value != "false" {
					query.Set(name, value)
				}
			}
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			body, err := client.get(cmd.Context(), "markers", query)
			if err != nil {
				return fmt.Errorf("marker: %w", err)
			}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), body)
			}
			if output == "csv" {
				return writeMarkerCSV(cmd.OutOrStdout(), body)
			}
			return writeMarkers(cmd.OutOrStdout(), body)
		},
	}
	addReportFlags(cmd, []string{"service"})
	cmd.Flags().String("environment", "", "only markers of this environment, or of all")
	cmd.Flags().Bool("observed", false, "also versions of services that showed for the first time")
	return cmd
}

func writeMarkerCSV(w io.Writer, body []byte) error {
	spec := reportSpec{place: []string{"id", "at", "title", "text", "url", "service", "environment", "version", "observed"}}
	var report rowsReport
	if err := json.Unmarshal(body, &report); err != nil {
		return fmt.Errorf("marker: answer of the API: %w", err)
	}
	return spec.writeCSV(w, report)
}

// writeMarkers writes two lines for each marker: an id takes half of the width.
func writeMarkers(w io.Writer, body []byte) error {
	var report struct {
		Rows []marker `json:"rows"`
		Next *string  `json:"next"`
	}
	if err := json.Unmarshal(body, &report); err != nil {
		return fmt.Errorf("marker: answer of the API: %w", err)
	}
	var b strings.Builder
	if len(report.Rows) == 0 {
		b.WriteString("No markers here. Write one down with: laxity marker add --service S --version V\n")
	}
	for _, m := range report.Rows {
		id := m.ID
		if m.Observed {
			id = "observed"
		}
		fmt.Fprintf(&b, "%s  %s\n    %s\n", m.At.UTC().Format(time.RFC3339), id,
			clip(strings.Join(strings.Fields(m.Title+" "+m.Service+" "+m.Environment), " "), 76))
	}
	if report.Next != nil {
		b.WriteString("There are more markers; see them with --limit 1000.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newMarkerChangeCommand(name, short, method, suffix string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name + " ID",
		Short: short,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{errors.New("marker " + name + " takes the id of one marker; laxity marker list shows them")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			if _, err := client.do(cmd.Context(), method, "markers/"+url.PathEscape(args[0])+suffix, nil, nil); err != nil {
				return fmt.Errorf("marker: %w", err)
			}
			return nil
		},
	}
	addAPIFlags(cmd)
	return cmd
}
