package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// silence is one silence as the API shows it.
type silence struct {
	ID       string            `json:"id"`
	Matchers map[string]string `json:"matchers"`
	Since    string            `json:"since"`
	Until    string            `json:"until"`
	Comment  string            `json:"comment"`
	Active   bool              `json:"active"`
}

func newSilenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "silence",
		Short: "Keep people from being told of some alerts for a while",
		Example: `  laxity alert silence add alertname=OrphanWork service=shop --for 2h
  laxity alert silence list
  laxity alert silence expire ID`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("alert silence: there is no %q; use add, list or expire", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSilenceAddCommand(), newSilenceListCommand(), newSilenceExpireCommand())
	return cmd
}

func newSilenceAddCommand() *cobra.Command {
	var length, comment string
	cmd := &cobra.Command{
		Use:   "add LABEL=VALUE…",
		Short: "Silence alerts with these labels, and print the silence's id",
		Long:  "Silence alerts with exactly these values of labels: alertname, " + strings.Join(alertLabels, ", ") + ".",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{errors.New("alert silence add: which alerts? name at least one label, such as alertname=OrphanWork")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			matchers := map[string]string{}
			for _, arg := range args {
				name, value, ok := strings.Cut(arg, "=")
				if _, twice := matchers[name]; !ok || name == "" || value == "" || twice {
					return &usageError{fmt.Errorf("alert silence add: %q is no label, or given twice; write service=shop", arg)}
				}
				matchers[name] = value
			}
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			body, err := client.do(cmd.Context(), http.MethodPost, "silences", nil, map[string]any{"matchers": matchers, "for": length, "comment": comment})
			if err != nil {
				return fmt.Errorf("alert silence: %w", err)
			}
			var added silence
			if err := json.Unmarshal(body, &added); err != nil {
				return fmt.Errorf("alert silence: answer of the API: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), added.ID)
			return err
		},
	}
	addAPIFlags(cmd)
	cmd.Flags().StringVar(&length, "for", "2h", "how long: 30m, 2h, 7d")
	cmd.Flags().StringVar(&comment, "comment", "", "why, for others to read")
	return cmd
}

func newSilenceListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the silences that are, and those that ended within a week",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			output, err := outputOf(cmd)
			if err != nil {
				return err
			}
			type silences struct {
				Rows []silence `json:"rows"`
			}
			return tellAnswer(cmd, "alert silence", "silences", nil, output, func(w io.Writer, answer silences) error {
				if output == "csv" {
					return writeSilenceCSV(w, answer.Rows)
				}
				return writeSilences(w, answer.Rows)
			})
		},
	}
	addAPIFlags(cmd)
	addOutputFlag(cmd)
	return cmd
}

func (s silence) labels() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Matchers)) {
		all = append(all, name+"="+s.Matchers[name])
	}
	return strings.Join(all, " ")
}

func writeSilenceCSV(w io.Writer, rows []silence) error {
	var report rowsReport
	for _, s := range rows {
		report.Rows = append(report.Rows, map[string]any{"id": s.ID, "active": s.Active, "since": s.Since, "until": s.Until, "matchers": s.labels(), "comment": s.Comment})
	}
	return reportSpec{place: []string{"id", "active", "since", "until", "matchers", "comment"}}.writeCSV(w, report)
}

// writeSilences writes at most 80 columns.
func writeSilences(w io.Writer, rows []silence) error {
	var b strings.Builder
	if len(rows) == 0 {
		b.WriteString("Nothing is silenced, nor was within a week.\n")
	}
	for _, s := range rows {
		until := "ended"
		if s.Active {
			until = "until"
		}
		fmt.Fprintf(&b, "%s  %s %s\n    %s\n", s.ID, until, wholeSecond(s.Until), fold(strings.TrimSpace(s.labels()+" "+s.Comment), 80, "    "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newSilenceExpireCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "expire ID",
		Short: "End a silence now",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{errors.New("alert silence expire takes the id of one silence; laxity alert silence list shows them")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			if _, err := client.do(cmd.Context(), http.MethodDelete, "silences/"+url.PathEscape(args[0]), nil, nil); err != nil {
				return fmt.Errorf("alert silence: %w", err)
			}
			return nil
		},
	}
	addAPIFlags(cmd)
	return cmd
}
