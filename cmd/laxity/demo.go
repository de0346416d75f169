package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/laxity-dev/laxity/internal/demo"
)

const defaultEdge = "127.0.0.1:8485"

func newDemoCommand() *cobra.Command {
	var (
		s        demo.Settings
		faults   []string
		none     bool
		backfill string
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Sample services that use the sdk, with faults, sending real traffic into `laxity up`",
		Long: `Sample services over real sockets: edge, retrieval, rerank, model, validator, and account with its database.
Clients send questions to the edge; some of them meet a fault. Every span is marked laxity.sample=true.

Without --fault a mix of all faults is played. --fault NAME=RATE (0 to 1, repeatable) plays only those named; without a
rate, in every request. The faults:
` + faultTable(),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if s.Rates, err = rates(faults, none); err != nil {
				return &usageError{err}
			}
			if s.Backfill, err = parseDays(backfill); err != nil {
				return &usageError{err}
			}
			if err := s.Load.Validate(); err != nil {
				return &usageError{err}
			}
			return interrupted(cmd.Context(), demo.Run(cmd.Context(), s, cmd.OutOrStdout()))
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.OTLP, "otlp-grpc", "127.0.0.1:4317", "address of the OTLP gRPC receiver that takes the spans")
	f.StringVar(&s.Listen, "edge-listen", defaultEdge, "address of the edge and of the control endpoint")
	f.Float64Var(&s.Load.Rate, "rate", 10, "requests per second; 0 for as many as --concurrency allows")
	f.DurationVar(&s.Load.Duration, "duration", 0, "stop after this time (default: at Ctrl-C)")
	f.IntVar(&s.Load.Requests, "requests", 0, "stop after this many requests (default: at Ctrl-C)")
	f.IntVar(&s.Load.Concurrency, "concurrency", 64, "requests under way at once, at most")
	f.StringVar(&s.Load.Route, "route", "", "ask only this route of the edge, such as /v1/report (default a mix)")
	f.DurationVar(&s.ReportGrows, "report-grows", 0, "let a report take so much longer with each minute, so that its margin erodes")
	f.Uint64Var(&s.Load.Seed, "seed", 1, "the same seed draws the same requests, faults, latencies and history")
	f.StringArrayVar(&faults, "fault", nil, "play NAME or NAME=RATE instead of the mix; repeatable")
	f.BoolVar(&none, "no-faults", false, "play no faults")
	f.StringVar(&s.FaultLog, "fault-log", "", "append each fault that took effect to this file, as lines of JSON")
	f.StringVar(&backfill, "backfill", "", "first send so many days of sample history, for example 14d")
	f.BoolVar(&s.NoLoad, "no-load", false, "send the history only")
	f.BoolVar(&s.Quiet, "quiet", false, "print no line for each fault")
	cmd.AddCommand(newDemoFaultCommand())
	return cmd
}

func newDemoFaultCommand() *cobra.Command {
	var edge string
	cmd := &cobra.Command{
		Use:   "fault [NAME[=RATE]…]",
		Short: "List the faults of a running demo, or change how often they are played",
		RunE: func(cmd *cobra.Command, args []string) error {
			remote := demo.Remote("http://" + strings.TrimPrefix(edge, "http://"))
			for _, arg := range args {
				fault, rate, err := demo.ParseFault(arg)
				if err != nil {
					return &usageError{err}
				}
				if _, err := remote.Set(cmd.Context(), fault, rate); err != nil {
					return err
				}
			}
			return printFaults(cmd.Context(), remote, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&edge, "edge", defaultEdge, "address of the demo's edge")
	return cmd
}

func printFaults(ctx context.Context, remote demo.Remote, out io.Writer) error {
	states, err := remote.Faults(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FAULT\tBY\tRATE\tTOOK EFFECT\tWHAT HAPPENS")
	for _, s := range states {
		fmt.Fprintf(table, "%s\t%s\t%.3g\t%d\t%s\n", s.Name, s.Service, s.Rate, s.TookEffect, s.About)
	}
	return table.Flush()
}

func faultTable() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, s := range demo.NewInjector(nil, nil, nil).States() {
		fmt.Fprintf(table, "  %s\t%s\n", s.Name, s.About)
	}
	table.Flush()
	return text.String()
}

// rates is the mix, or the named faults alone.
func rates(faults []string, none bool) (map[demo.Fault]float64, error) {
	switch {
	case none && len(faults) > 0:
		return nil, fmt.Errorf("--fault and --no-faults exclude each other")
	case none:
		return nil, nil
	case len(faults) == 0:
		return demo.DefaultRates(), nil
	}
	named := map[demo.Fault]float64{}
	for _, text := range faults {
		fault, rate, err := demo.ParseFault(text)
		if err != nil {
			return nil, err
		}
		named[fault] = rate
	}
	return named, nil
}

// parseDays reads a whole number of days: 14d, or a duration of whole days such as 336h.
func parseDays(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(number); err == nil && n >= 1 && n <= demo.MaxBackfill {
			return n, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 && d%(24*time.Hour) == 0 && d/(24*time.Hour) <= demo.MaxBackfill {
		return int(d / (24 * time.Hour)), nil
	}
	return 0, fmt.Errorf("--backfill %q: give whole days from 1d to %dd", text, demo.MaxBackfill)
}
