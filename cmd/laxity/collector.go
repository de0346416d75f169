package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/laxity-dev/laxity/cmd/laxity/collector"
	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/redact"
)

const (
	defaultDSN     = "http://127.0.0.1:8123/laxity"
	defaultData    = "./laxity-data"
	defaultGRPC    = "127.0.0.1:4317"
	defaultHTTP    = "127.0.0.1:4318"
	defaultMetrics = "127.0.0.1:9464"
)

func newCollectorCommand() *cobra.Command {
	var (
		config collector.Config
		file   string
		data   string
		raw    bool
	)
	cmd := &cobra.Command{
		Use:   "collector",
		Short: "Take spans over OTLP and write them to ClickHouse",
		Long: `Take spans over OTLP (gRPC and HTTP), add what they say about their time budget, and write raw spans and hops to
ClickHouse, each through a queue on disk: what was acknowledged survives a crash of the collector and of ClickHouse.

A configuration file of the OpenTelemetry collector replaces the built-in pipeline; the components are the receiver otlp, the
processors memory_limiter, deadline and redact, the connector quarantine, the exporters clickhouse, deadline and nop, and the
extensions file_storage, health_check and bearertokenauth.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file != "" {
				return collector.RunFile(cmd.Context(), file)
			}
			config.Queue = filepath.Join(data, "queue")
			config.NoRawSpans = !raw
			if err := config.Validate(); err != nil {
				return &usageError{err}
			}
			config, err := config.Resolve()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "laxity collector: OTLP on %s (gRPC) and http://%s, metrics on http://%s/metrics\n", config.GRPC, config.HTTP, config.Metrics)
			return collector.Run(cmd.Context(), config)
		},
	}
	f := cmd.Flags()
	f.StringVar(&config.DSN, "clickhouse", defaultDSN, "DSN of ClickHouse: http://, https:// or clickhouse://")
	f.StringVar(&data, "data", defaultData, "directory whose folder queue holds what is not yet written")
	f.StringVar(&file, "config-file", "", "collector configuration that replaces the built-in pipeline")
	f.BoolVar(&raw, "raw-spans", true, "write raw spans to otel_traces")
	collectorFlags(f, &config)
	return cmd
}

// collectorFlags adds the flags that the collector has alone and under 'up'.
func collectorFlags(f *pflag.FlagSet, config *collector.Config) {
	f.StringVar(&config.GRPC, "otlp-grpc", defaultGRPC, "address for OTLP over gRPC; port 0 takes a free one")
	f.StringVar(&config.HTTP, "otlp-http", defaultHTTP, "address for OTLP over HTTP")
	f.StringVar(&config.Metrics, "metrics-listen", defaultMetrics, "address of the page of Prometheus metrics")
	f.DurationVar(&config.MetricsEvery, "metrics-every", 15*time.Second, "time between two measurements on that page; should equal the scrape interval")
	f.StringVar(&config.TokenFile, "token-file", "", "file with the bearer token that senders must present")
	f.BoolVar(&config.Insecure, "insecure", false, "serve other machines without a token")
	f.BoolVar(&config.Fsync, "fsync", false, "acknowledge only what survives a loss of power")
	f.IntVar(&config.QueueSpans, "queue-spans", collector.DefaultQueueSpans, "spans that may wait on disk for storage; what comes on top is refused, to be sent again")
	f.IntVar(&config.MemoryMiB, "memory-limit", 1024, "MiB above which the collector refuses requests")
	f.Var((*budgetFrom)(&config.BudgetFrom), "budget-from", "foreign attribute that carries a budget, as NAME=UNIT with s, ms, us or ns; may be repeated")
	foreignFlags(f, &config.ClassifyRules, &config.Redact.Keys, &config.Redact.Values, (*string)(&config.Redact.Salt))
	f.StringVar(&config.LogLevel, "log-level", "warn", "debug, info, warn or error")
}

// foreignFlags adds how spans are classified and redacted, for the collector and for who reads spans that another one wrote.
func foreignFlags(f *pflag.FlagSet, rules *string, keys *[]redact.Key, values *[]string, salt *string) {
	f.StringVar(rules, "classify-rules", "", "file of rows that tell causes and phases, before the built-in ones; see docs/classification.md")
	f.Var((*redactKeys)(keys), "redact", "attribute that is not stored, as KEY=drop or KEY=hash, * in KEY for any characters; may be repeated")
	f.Var((*redactValues)(values), "redact-values", "regular expression; what matches it in any text of a span is stored as ****; may be repeated")
	f.StringVar(salt, "redact-salt", "", "secret that goes into hashes; better in LAXITY_REDACT_SALT than on the command line")
}

// budgetFrom is a flag that may be repeated, or list values separated by commas.
type budgetFrom []classify.BudgetFrom

func (b *budgetFrom) String() string {
	var all []string
	for _, f := range *b {
		all = append(all, f.Attribute+"="+f.Unit)
	}
	return strings.Join(all, ",")
}

func (b *budgetFrom) Set(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		attribute, unit, found := strings.Cut(one, "=")
		if !found {
			return fmt.Errorf("%q: want NAME=UNIT", one)
		}
		*b = append(*b, classify.BudgetFrom{Attribute: attribute, Unit: unit})
	}
	return nil
}

func (b *budgetFrom) Type() string { return "NAME=UNIT" }

// redactKeys is a flag that may be repeated, or list values separated by commas.
type redactKeys []redact.Key

func (r *redactKeys) String() string {
	var all []string
	for _, k := range *r {
		all = append(all, k.Pattern+"="+k.Action)
	}
	return strings.Join(all, ",")
}

func (r *redactKeys) Set(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		pattern, action, found := strings.Cut(one, "=")
		if !found {
			action = redact.Drop
		}
		*r = append(*r, redact.Key{Pattern: pattern, Action: action})
	}
	return nil
}

func (r *redactKeys) Type() string { return "KEY=ACTION" }

// redactValues is a flag that may be repeated; commas are part of an expression.
type redactValues []string

func (r *redactValues) String() string { return strings.Join(*r, " ") }

func (r *redactValues) Set(value string) error {
	if value != "" {
		*r = append(*r, value)
	}
	return nil
}

func (r *redactValues) Type() string { return "REGEXP" }
