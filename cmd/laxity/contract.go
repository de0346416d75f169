package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/laxity-dev/laxity/internal/contract"
	"github.com/laxity-dev/laxity/internal/policy"
)

// measuredRoute is what the API says of one route.
type measuredRoute struct {
	Window    policy.Window `json:"window"`
	Watermark time.Time     `json:"watermark"`
	Judged    *time.Time    `json:"judged_until"`
	contract.Measured
}

// contractCheck is one contract beside what was measured, as -o json prints it.
type contractCheck struct {
	File    string            `json:"file"`
	Service string            `json:"service"`
	Route   string            `json:"route"`
	Window  policy.Window     `json:"window"`
	Until   time.Time         `json:"watermark"`
	Judged  *time.Time        `json:"judged_until"`
	N       uint64            `json:"requests"`
	Status  contract.Status   `json:"status"`
	Results []contract.Result `json:"results"`
}

func newContractCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contract",
		Short: "Check what routes promise about their budgets against what was measured",
		Example: `  laxity contract init /buy --service shop -o shop.yaml
  laxity contract check shop.yaml --since 7d`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("contract: there is no %q; use check or init", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newContractCheckCommand(), newContractInitCommand())
	return cmd
}

func addContractFlags(cmd *cobra.Command) {
	addAPIFlags(cmd)
	cmd.Flags().String("since", "7d", "how far to look back: 90s, 30m, 24h, 7d")
	cmd.Flags().String("from", "", "begin of the window in RFC 3339, instead of --since")
	cmd.Flags().String("to", "", "end of the window in RFC 3339 (default now)")
	cmd.Flags().String("environment", "", "only requests of this deployment environment")
}

// askMeasured asks what one route did.
func askMeasured(cmd *cobra.Command, client *apiClient, service, route string) (measuredRoute, error) {
	query := url.Values{"service": {service}, "route": {route}}
	for _, name := range []string{"from", "to", "environment"} {
		if value := cmd.Flags().Lookup(name).Value.String(); value != "" {
			query.Set(name, value)
		}
	}
	if !query.Has("from") {
		query.Set("from", "now-"+cmd.Flags().Lookup("since").Value.String())
	}
	var answer measuredRoute
	body, err := client.get(cmd.Context(), "contracts/measured", query)
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	return answer, err
}

func newContractCheckCommand() *cobra.Command {
	var allowUnknown bool
	cmd := &cobra.Command{
		Use:   "check FILE…",
		Short: "Check contracts against live data; ends with 1 if a promise is broken",
		Long: `Compares every promise of the files with what was measured. Ends with 0 if all are kept, with 1 if one is broken or cannot be
told for want of data, with 2 if a file or the command line is wrong. docs/contracts.md says what a file holds.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{errors.New("contract check: which file? laxity contract init ROUTE --service S writes one")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			output := cmd.Flags().Lookup("output").Value.String()
			if output != "table" && output != "json" {
				return &usageError{fmt.Errorf("-o %q is not known; use table or json", output)}
			}
			var named []namedContract
			var errs []error
			for _, file := range files {
				found, err := readContracts(file, cmd.InOrStdin())
				named, errs = append(named, found...), append(errs, err)
			}
			if err := errors.Join(errs...); err != nil {
				return &usageError{err}
			}
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			checks := []contractCheck{}
			for _, c := range named {
				m, err := askMeasured(cmd, client, c.Service, c.Route)
				if err != nil {
					return fmt.Errorf("contract of %s %s: %w", c.Service, c.Route, err)
				}
				results := contract.Check(c.Contract, m.Measured)
				checks = append(checks, contractCheck{c.file, c.Service, c.Route, m.Window, m.Watermark, m.Judged, m.Requests, contract.Worst(results), results})
			}
			return tellContracts(cmd.OutOrStdout(), checks, output, allowUnknown)
		},
	}
	addContractFlags(cmd)
	cmd.Flags().StringP("output", "o", "table", "table or json")
	cmd.Flags().BoolVar(&allowUnknown, "allow-unknown", false, "end with 0 also if promises cannot be told for want of data")
	return cmd
}

type namedContract struct {
	file string
	contract.Contract
}

// readContracts reads one file, or what is piped in for -.
func readContracts(file string, stdin io.Reader) ([]namedContract, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	found, err := contract.Parse(file, data)
	named := make([]namedContract, len(found))
	for i, c := range found {
		named[i] = namedContract{file, c}
	}
	return named, err
}

func tellContracts(w io.Writer, checks []contractCheck, output string, allowUnknown bool) error {
	var all []contract.Result
	for _, c := range checks {
		all = append(all, c.Results...)
	}
	worst := contract.Worst(all)
	text := contractTable(checks)
	if output == "json" {
		encoded, err := json.MarshalIndent(map[string]any{"status": worst, "contracts": checks}, "", "  ")
		if err != nil {
			return fmt.Errorf("contract: %w", err)
		}
		text = string(encoded) + "\n"
	}
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	if worst == contract.Violated || worst == contract.Unknown && !allowUnknown {
		return errReported
	}
	return nil
}

// contractTable writes at most 80 columns.
func contractTable(checks []contractCheck) string {
	var b strings.Builder
	count := map[contract.Status]int{}
	for _, c := range checks {
		fmt.Fprintf(&b, "%s\n", clip(c.Service+" "+c.Route, 80))
		judged := "no worker has judged"
		if c.Judged != nil {
			judged = "judged until " + c.Judged.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(&b, "%s to %s, %s requests\ncomplete until %s, %s\n\n", minuteOf(c.Window.From), minuteOf(c.Window.To), large(int64(c.N)),
			c.Until.UTC().Format(time.RFC3339), judged)
		fmt.Fprintf(&b, "  %-8s %-30s %-17s %9s %8s\n", "", "promise", "promised", "measured", "of")
		for _, r := range c.Results {
			count[r.Status]++
			promise := strings.TrimSpace(r.Stage + " " + r.Peer)
			if promise != "" {
				promise = clip(promise, 29-len(r.Promise)) + " "
			}
			fmt.Fprintf(&b, "  %-8s %-30s %-17s %9s %8s\n", r.Status, promise+r.Promise, r.Bound+" "+contractValue(r.Unit, &r.Promised), contractValue(r.Unit, r.Measured), large(int64(r.N)))
			switch {
			case r.Status == contract.Unknown:
				fmt.Fprintf(&b, "  %-8s %s\n", "", r.Why)
			case r.Status == contract.Violated && r.Low != nil:
				fmt.Fprintf(&b, "  %-8s 95 %% sure: between %s and %s\n", "", contractValue(r.Unit, r.Low), contractValue(r.Unit, r.High))
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%d kept, %d violated, %d unknown\n", count[contract.OK], count[contract.Violated], count[contract.Unknown])
	return b.String()
}

// minuteOf shortens an instant to its minute.
func minuteOf(instant string) string {
	at, err := time.Parse(time.RFC3339Nano, instant)
	if err != nil {
		return instant
	}
	return at.UTC().Format("2006-01-02T15:04Z")
}

func contractValue(unit string, value *float64) string {
	switch {
	case value == nil:
		return "-"
	case unit == "s":
		return shortSeconds(value)
	case unit == "ratio":
		return strconv.FormatFloat(*value*100, 'f', 2, 64) + "%"
	}
	return strconv.FormatFloat(*value, 'f', -1, 64)
}

func newContractInitCommand() *cobra.Command {
	var service, output string
	cmd := &cobra.Command{
		Use:   "init ROUTE",
		Short: "Write a contract that what was measured keeps, with room to move",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{errors.New("contract init takes one route, such as /buy; GET /api/v1/services lists them")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if service == "" {
				return &usageError{errors.New("contract init: whose route? name the service with --service")}
			}
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			m, err := askMeasured(cmd, client, service, args[0])
			if err != nil {
				return fmt.Errorf("contract: %w", err)
			}
			if m.Requests == 0 {
				return fmt.Errorf("contract: no request of %s %s had a budget between %s and %s; look further back with --since 30d", service, args[0], m.Window.From, m.Window.To)
			}
			text := fmt.Sprintf("# From %d requests between %s and %s; check with: laxity contract check\n", m.Requests, minuteOf(m.Window.From), minuteOf(m.Window.To)) +
				contract.Draft(m.Measured).Write()
			if output == "-" {
				_, err := io.WriteString(cmd.OutOrStdout(), text)
				return err
			}
			file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return fmt.Errorf("contract: %w; an existing file is not replaced", err)
			}
			_, err = io.WriteString(file, text)
			return errors.Join(err, file.Close())
		},
	}
	addContractFlags(cmd)
	cmd.Flags().StringVar(&service, "service", "", "the service of the route")
	cmd.Flags().StringVarP(&output, "output", "o", "-", "file to write; - writes to the terminal")
	return cmd
}
