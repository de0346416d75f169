package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/laxity-dev/laxity/internal/render"
	"github.com/laxity-dev/laxity/internal/verdict"
)

func newTraceCommand() *cobra.Command {
	var output, entry string
	cmd := &cobra.Command{
		Use:   "trace ID",
		Short: "Say where the time of one stored trace went",
		Example: `  laxity trace 0af7651916cd43dd8448eb211c80319c
  laxity trace 0af7651916cd43dd8448eb211c80319c -o md > incident.md`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{errors.New("trace takes the id of one trace; find it on the page or in your logs")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			return showTrace(cmd, client, args[0], entry, output)
		},
	}
	addAPIFlags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json or md (an incident record)")
	cmd.Flags().StringVar(&entry, "entry", "", "id of the span to draw the account for, instead of the topmost entry with a budget")
	return cmd
}

func showTrace(cmd *cobra.Command, client *apiClient, id, entry, output string) error {
	out := cmd.OutOrStdout()
	query := url.Values{}
	if entry != "" {
		query.Set("entry", entry)
	}
	path := "traces/" + url.PathEscape(id)
	switch output {
	case "text", "json":
		body, err := client.get(cmd.Context(), path+"/statement", query)
		if err != nil {
			return fmt.Errorf("trace: %w", err)
		}
		if output == "json" {
			return writeJSON(out, body)
		}
		statement := &verdict.Statement{}
		if err := json.Unmarshal(body, statement); err != nil {
			return fmt.Errorf("trace: answer of the API: %w", err)
		}
		return render.Text(out, statement, statementWidth)
	case "md":
		body, err := client.get(cmd.Context(), path+"/incident", query)
		if err != nil {
			return fmt.Errorf("trace: %w", err)
		}
		_, err = out.Write(body)
		return err
	}
	return &usageError{fmt.Errorf("-o %q is not known; use text, json or md", output)}
}
