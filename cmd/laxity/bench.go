package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/laxity-dev/laxity/api"
	"github.com/laxity-dev/laxity/internal/bench/load"
	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/storage"
)

func newBenchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Fill a database with weeks of traces and look at the reports",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("bench: there is no %q; use load", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchLoadCommand())
	return cmd
}

func newBenchLoadCommand() *cobra.Command {
	var (
		dsn, hops string
		into      bool
	)
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Fill 30 days with planted changes and see whether the reports find them",
		Long: `Fill a database with 30 days of traces of 50 services and 200 routes, made on the engine itself, and ask the reports for what
was planted: three routes whose margins shrink at known rates, a step, another mix of traffic, a smaller budget, noise without a
direction, a weekly season. Fails if a report misses one, tells another value, or finds something else.

  laxity engine --data ./bench-data --listen 127.0.0.1:8199
  laxity bench load --clickhouse http://127.0.0.1:8199/laxity --hops 10M

A database that holds other traces is refused, one that was filled before is only asked.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			count, err := parseCount(hops)
			if err != nil {
				return &usageError{fmt.Errorf("--hops: %w", err)}
			}
			plan, err := load.NewPlan(count, time.Now())
			if err != nil {
				return &usageError{fmt.Errorf("--hops: %w", err)}
			}
			return benchLoad(cmd.Context(), cmd.OutOrStdout(), dsn, plan, into)
		},
	}
	f := cmd.Flags()
	f.StringVar(&dsn, "clickhouse", defaultDSN, "DSN of ClickHouse: http://, https:// or clickhouse://")
	f.StringVar(&hops, "hops", "10M", "hops to fill, such as 500k, 10M or 100M")
	f.BoolVar(&into, "into-other-data", false, "fill a database that holds other traces too; they stay, and reports see both")
	return cmd
}

// parseCount reads a number with k or M behind it.
func parseCount(text string) (int, error) {
	number, factor := text, 1
	for unit, f := range map[string]int{"k": 1_000, "M": 1_000_000} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			number, factor = n, f
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > 1_000_000_000/factor {
		return 0, fmt.Errorf("%q is no number from 1 to 1000M", text)
	}
	return n * factor, nil
}

// benchLoad fills a database and prints what the reports say of it.
func benchLoad(ctx context.Context, out io.Writer, dsn string, plan load.Plan, into bool) error {
	// A statement makes a day of hops.
	store, err := storage.Open(storage.Config{DSN: dsn, MaxExecutionTime: time.Hour})
	if err != nil {
		return &usageError{err}
	}
	defer func() { _ = store.Close() }()
	if _, err := migrations.Up(ctx, migrations.Config{DSN: dsn}); err != nil {
		return fmt.Errorf("bench load: %w", err)
	}
	if plan, err = load.Prepare(ctx, store, plan, into, out); err != nil {
		return fmt.Errorf("bench load: %w", err)
	}
	server, err := api.New(api.Config{Store: store})
	if err != nil {
		return fmt.Errorf("bench load: %w", err)
	}
	results, err := load.Check(ctx, server, plan)
	wrong := load.Print(out, results)
	if err != nil {
		return fmt.Errorf("bench load: %w", err)
	}
	if wrong > 0 {
		return fmt.Errorf("bench load: %d of %d results are not what was planted", wrong, len(results))
	}
	return nil
}
