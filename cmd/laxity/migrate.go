package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/storage"
)

func newMigrateCommand() *cobra.Command {
	var (
		config         migrations.Config
		repair, status bool
		print          bool
		to             int
		attach         string
		attachFor      time.Duration
		from           budgetFrom
	)
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create and update the tables of a ClickHouse database",
		Long: `Create and update the tables of a ClickHouse database and set how long rows stay. It can be repeated; of several
processes one migrates and the others wait.

With --attach the worker reads a table of raw spans that somebody else writes, in the layout of the collector's ClickHouse
exporter. Nothing is put on that table and nothing in it is changed.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var (
				schema migrations.Schema
				err    error
			)
			if print {
				statements, err := migrations.Statements(storage.Config{DSN: config.DSN}.Database(), config.Cluster)
				if err == nil {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(statements, ";\n\n")+";")
				}
				return err
			}
			if attach == "" && len(from) > 0 {
				return &usageError{errors.New("--budget-from belongs to --attach; the collector has its own")}
			}
			if attach != "" {
				if config.Attach, err = attached(attach, from, attachFor); err != nil {
					return &usageError{err}
				}
			}
			switch {
			case status:
				schema, err = migrations.Status(ctx, config)
			case repair:
				schema, err = migrations.Repair(ctx, config)
			case to >= 0:
				schema, err = migrations.To(ctx, config, uint(to))
			default:
				schema, err = migrations.Up(ctx, config)
			}
			if err != nil {
				return err
			}
			dirty := ""
			if schema.Dirty {
				dirty = ", interrupted: run 'laxity migrate --repair'"
			}
			if config.Attach != nil {
				fmt.Fprintf(cmd.OutOrStdout(), "attached %s: laxity worker reads it, spans since %s\n", attach, config.Attach.Since.Format(time.RFC3339))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "schema version %d of %d%s\n", schema.Version, schema.Latest, dirty)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&config.DSN, "clickhouse", defaultDSN, "DSN of ClickHouse: http://, https:// or clickhouse://")
	f.BoolVar(&repair, "repair", false, "apply an interrupted migration again")
	f.BoolVar(&status, "status", false, "only show the version")
	f.IntVar(&to, "to", -1, "migrate up or down to this version; down drops tables with their rows")
	f.StringVar(&config.Cluster, "cluster", "", "name of a ClickHouse cluster: replicated tables on its servers, and tables distributed over its shards")
	f.BoolVar(&print, "print", false, "only print the statements")
	f.StringVar(&attach, "attach", "", "table of raw spans of somebody else for the worker to read, as [DATABASE.]TABLE")
	f.DurationVar(&attachFor, "attach-for", migrations.DefaultHops, "how far back spans of the attached table are read")
	f.Var(&from, "budget-from", "attribute in the attached table that carries a budget, as NAME=UNIT with s, ms, us or ns; may be repeated")
	retentionFlags(f, &config.Retention)
	return cmd
}

// attached reads the flags about a table of somebody else.
func attached(name string, from budgetFrom, back time.Duration) (*storage.Attached, error) {
	table := &storage.Attached{Table: name, BudgetFrom: from, Since: time.Now().Add(-back).UTC().Truncate(time.Second)}
	if database, rest, dotted := strings.Cut(name, "."); dotted {
		table.Database, table.Table = database, rest
	}
	if table.Table == "" || back <= 0 {
		return nil, fmt.Errorf("--attach %q --attach-for %s: want a table and a time", name, back)
	}
	return table, classify.Config{BudgetFrom: from}.Validate()
}

// retentionFlags adds how long rows stay.
func retentionFlags(f *pflag.FlagSet, r *migrations.Retention) {
	f.DurationVar(&r.Raw, "keep-raw", migrations.DefaultRaw, "how long raw spans stay, from their ingest")
	f.DurationVar(&r.Hops, "keep-hops", migrations.DefaultHops, "how long hops stay, from their ingest")
	f.DurationVar(&r.Verdicts, "keep-verdicts", migrations.DefaultVerdicts, "how long verdicts stay")
	f.DurationVar(&r.Minutes, "keep-minutes", migrations.DefaultMinutes, "how long rollups by the minute stay")
	f.DurationVar(&r.Hours, "keep-hours", migrations.DefaultHours, "how long rollups by the hour stay")
	f.DurationVar(&r.Days, "keep-days", migrations.DefaultDays, "how long rollups by the day stay")
	f.DurationVar(&r.Quarantine, "keep-quarantine", migrations.DefaultQuarantine, "how long refused spans stay")
}
