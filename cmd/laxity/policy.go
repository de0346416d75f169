package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/laxity-dev/laxity/internal/policy"
	"github.com/laxity-dev/laxity/sdk/budget"
)

func newPolicyCommand() *cobra.Command {
	var output string
	var dryRun bool
	var rate float64
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Write the policy file that the sdk loads, from measured tails",
		Long: `Derives for each dependency a cap, an observed limit, a reserve and the smallest useful allowance from what its calls took, each with
the reason, and writes them to the file that budget.LoadLimits reads. An existing file is replaced; --dry-run shows what
would change and writes nothing.`,
		Example: `  laxity policy --since 7d --dry-run
  laxity policy --since 7d --service shop -o shop-policy.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(rate > 0 && rate < 1) {
				return &usageError{fmt.Errorf("--false-timeout-rate %v is no share; use a number above 0 and below 1, such as 0.001", rate)}
			}
			query := url.Values{"limit": {"1000"}, "false_timeout_rate": {fmt.Sprint(rate)}}
			for _, name := range []string{"service", "route", "stage", "peer", "environment", "to", "from"} {
				if value := cmd.Flags().Lookup(name).Value.String(); value != "" {
					query.Set(name, value)
				}
			}
			if !query.Has("from") {
				query.Set("from", "now-"+cmd.Flags().Lookup("since").Value.String())
			}
			if err := excluded(cmd, query); err != nil {
				return err
			}
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			file, skipped, err := askPolicy(cmd.Context(), client, query)
			if err != nil {
				return fmt.Errorf("policy: %w", err)
			}
			return writePolicy(cmd.OutOrStdout(), file, query, skipped, output, dryRun)
		},
	}
	addAPIFlags(cmd)
	f := cmd.Flags()
	f.String("since", "7d", "how far to look back: 24h, 7d")
	f.String("from", "", "begin of the window in RFC 3339, instead of --since")
	f.String("to", "", "end of the window in RFC 3339 (default now)")
	for _, name := range []string{"service", "route", "stage", "peer", "environment"} {
		f.String(name, "", "only this "+name)
	}
	f.StringArray("not", nil, "`FILTER=VALUE`: leave out a service, route, stage or peer; may be repeated")
	f.Float64Var(&rate, "false-timeout-rate", budget.DefaultFalseTimeoutRate, "share of good calls that an observed limit may cut")
	f.StringVarP(&output, "output", "o", "laxity-policy.json", "the file to write; - for standard output")
	f.BoolVar(&dryRun, "dry-run", false, "show what would change, write nothing")
	return cmd
}

// policyAdvice is the answer of the API.
type policyAdvice struct {
	Window policy.Window `json:"window"`
	Rate   float64       `json:"false_timeout_rate"`
	Rows   []struct {
		Service string            `json:"service"`
		Stage   string            `json:"stage"`
		Peer    string            `json:"peer"`
		Enough  bool              `json:"enough"`
		Advised policy.Terms      `json:"advised"`
		Reasons map[string]string `json:"reasons"`
	} `json:"rows"`
	Routes []struct {
		Service string   `json:"service"`
		Route   string   `json:"route"`
		Safe    *float64 `json:"safe_budget_s"`
		Reason  string   `json:"reason"`
	} `json:"routes"`
	Next *string `json:"next"`
}

// askPolicy asks for all pages of advice. skipped counts dependencies with too few calls.
func askPolicy(ctx context.Context, client *apiClient, query url.Values) (file policy.File, skipped int, err error) {
	file = policy.New(policy.Window{}, 0)
	for {
		body, err := client.get(ctx, "policies/advice", query)
		if err != nil {
			return file, 0, err
		}
		var answer policyAdvice
		if err := json.Unmarshal(body, &answer); err != nil {
			return file, 0, fmt.Errorf("answer of the API: %w", err)
		}
		if file.Window.From == "" {
			file.Window, file.Rate = answer.Window, answer.Rate
			for _, r := range answer.Routes {
				file.Routes = append(file.Routes, policy.Route{Service: r.Service, Route: r.Route, Safe: r.Safe, Why: r.Reason})
			}
		}
		for _, row := range answer.Rows {
			if !row.Enough {
				skipped++
				continue
			}
			file.Dependencies = append(file.Dependencies, policy.Dependency{Service: row.Service, Stage: row.Stage, Peer: row.Peer, Terms: row.Advised, Why: row.Reasons})
		}
		if answer.Next == nil {
			break
		}
		query.Set("cursor", *answer.Next)
	}
	return file, skipped, nil
}

// covers reports whether a question is about what has these values.
func covers(asked url.Values, values map[string]string) bool {
	for name, value := range values {
		if one := asked.Get(name); one != "" && one != value || slices.Contains(asked["not."+name], value) {
			return false
		}
	}
	return true
}

// writePolicy writes the file, or with dryRun says how it differs from the one that is there. Of that, what was not asked about stays.
func writePolicy(w io.Writer, file policy.File, asked url.Values, skipped int, output string, dryRun bool) error {
	if len(file.Dependencies) == 0 {
		return fmt.Errorf("policy: no dependency has enough calls (%d have too few); look further back with --since 30d", skipped)
	}
	var old policy.File
	if output != "-" {
		existing, err := os.ReadFile(output)
		if err == nil {
			err = json.Unmarshal(existing, &old)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("policy: %s: %w; remove it or choose another file with -o", output, err)
		}
	}
	for _, d := range old.Dependencies {
		if !covers(asked, map[string]string{"service": d.Service, "stage": d.Stage, "peer": d.Peer}) {
			file.Dependencies = append(file.Dependencies, d)
		}
	}
	for _, r := range old.Routes {
		if !covers(asked, map[string]string{"service": r.Service, "route": r.Route}) {
			file.Routes = append(file.Routes, r)
		}
	}
	written, err := file.Encode()
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	if output == "-" && !dryRun {
		_, err := w.Write(written)
		return err
	}
	if _, err := io.WriteString(w, policyChanges(old, file, skipped)); err != nil || dryRun {
		return err
	}
	if err := replaceFile(output, written); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	_, err = fmt.Fprintf(w, "\nWritten to %s. Load it with budget.LoadLimits.\n", output)
	return err
}

// replaceFile writes a file beside its place and moves it there, so that a service never reads half of it.
func replaceFile(name string, data []byte) error {
	part, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(part.Name()) }()
	_, err = part.Write(data)
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(part.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(part.Name(), name)
	}
	return err
}

// policyChanges tells each term, what it was, and why it is what it is.
func policyChanges(old, file policy.File, skipped int) string {
	type key struct{ service, stage, peer string }
	before := map[key]policy.Terms{}
	for _, d := range old.Dependencies {
		before[key{d.Service, d.Stage, d.Peer}] = d.Terms
	}
	var b strings.Builder
	for _, d := range file.Dependencies {
		k := key{d.Service, d.Stage, d.Peer}
		was := before[k]
		delete(before, k)
		fmt.Fprintf(&b, "%s\n", clip(strings.TrimSpace(d.Service+" "+d.Stage+" "+d.Peer), 80))
		for _, term := range []struct {
			name     string
			was, now *float64
		}{
			{"cap", was.Cap, d.Cap}, {"observed_limit", was.Observed, d.Observed}, {"reserve", was.Reserve, d.Reserve}, {"min_useful", was.MinUseful, d.MinUseful},
		} {
			change := "new"
			switch {
			case term.was == nil && term.now == nil:
				change = "none"
			case term.was != nil && term.now != nil && *term.was == *term.now:
				change = "same"
			case term.was != nil:
				change = "was " + shortSeconds(term.was)
			}
			fmt.Fprintf(&b, "  %-14s %9s  %-13s %s\n", term.name, shortSeconds(term.now), change, strings.TrimSpace(fold(d.Why[term.name], 38, strings.Repeat(" ", 42))))
		}
	}
	for _, d := range old.Dependencies {
		if _, gone := before[key{d.Service, d.Stage, d.Peer}]; gone {
			fmt.Fprintf(&b, "%s\n  no longer measured: left out\n", clip(strings.TrimSpace(d.Service+" "+d.Stage+" "+d.Peer), 80))
		}
	}
	if skipped > 0 {
		fmt.Fprintf(&b, "%d more dependencies have too few calls for advice.\n", skipped)
	}
	return b.String()
}
