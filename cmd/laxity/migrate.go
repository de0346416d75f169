package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/laxity-dev/laxity/migrations"
)

func newMigrateCommand() *cobra.Command {
	var (
		config         migrations.Config
		repair, status bool
		to             int
	)
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create and update the tables of a ClickHouse database",
		Long: `Create and update the tables of a ClickHouse database and set how long rows stay. It can be repeated; of several
processes one migrates and the others wait.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var (
				schema migrations.Schema
				err    error
			)
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
			fmt.Fprintf(cmd.OutOrStdout(), "schema version %d of %d%s\n", schema.Version, schema.Latest, dirty)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&config.DSN, "clickhouse", defaultDSN, "DSN of ClickHouse: http://, https:// or clickhouse://")
	f.BoolVar(&repair, "repair", false, "apply an interrupted migration again")
	f.BoolVar(&status, "status", false, "only show the version")
	f.IntVar(&to, "to", -1, "migrate up or down to this version; down drops tables with their rows")
	retentionFlags(f, &config.Retention)
	return cmd
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
