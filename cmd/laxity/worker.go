package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/laxity-dev/laxity/cmd/laxity/collector"
	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/worker"
)

const defaultWorkerMetrics = "127.0.0.1:9465"

func newWorkerCommand() *cobra.Command {
	var (
		metrics, shard string
		nice           int
		database       storage.Config
		config         worker.Config
	)
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Judge traces that arrived and keep the rollups",
		Long: `Judge the traces of which something arrived, and compute the rollups of the minutes, hours and days that changed. What it
does can be repeated, so it may be stopped at any time. Where one worker falls behind, several share the traces by --shard.
On a machine that is busy it lets others go first (--nice): spans that are not taken in are lost, what is not judged yet is
judged later.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if nice < 0 || nice > 19 {
				return &usageError{fmt.Errorf("--nice is %d; it goes from 0, as much of the processors as others, to 19", nice)}
			}
			collectLess()
			if err := collector.CheckListen("worker-metrics-listen", metrics, false); err != nil {
				return &usageError{err}
			}
			var err error
			if config.Shard, err = storage.ParseShard(shard); err != nil {
				return &usageError{err}
			}
			// A statement of the worker may read a month.
			database.MaxExecutionTime = 5 * time.Minute
			store, err := storage.Open(database)
			if err != nil {
				return &usageError{err}
			}
			defer func() { _ = store.Close() }()
			config.Store, config.Logger = store, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			w, err := worker.New(config)
			if err != nil {
				return &usageError{err}
			}
			if err := yield(nice); err != nil {
				config.Logger.Warn("the worker competes with what takes spans in", "error", err)
			}
			listener, err := net.Listen("tcp", metrics)
			if err != nil {
				return fmt.Errorf("worker metrics: %w; name another address with --worker-metrics-listen", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "laxity worker: http://%s/metrics\n", listener.Addr())
			return work(cmd.Context(), w, listener)
		},
	}
	f := cmd.Flags()
	foreignFlags(f, &database.ClassifyRules, &database.Redact.Keys, &database.Redact.Values, &database.Redact.Salt)
	f.StringVar(&database.DSN, "clickhouse", defaultDSN, "DSN of ClickHouse: http://, https:// or clickhouse://")
	f.StringVar(&metrics, "worker-metrics-listen", defaultWorkerMetrics, "address of the worker's Prometheus metrics, on loopback")
	f.StringVar(&shard, "shard", "1/1", "part of the traces to judge, as NUMBER/OF; the first also computes the rollups")
	f.IntVar(&config.Parallel, "parallel", 0, "batches of traces judged at a time; 0 for one a processor, at most 4")
	f.IntVar(&nice, "nice", 10, "how much it lets other processes of this machine go first, 0 to 19; on Linux")
	f.DurationVar(&config.Trail, "trail", worker.DefaultTrail, "how far the watermark stays behind the server's clock")
	f.DurationVar(&config.Every, "every", 10*time.Second, "time between two passes")
	f.DurationVar(&config.KeepHops, "keep-hops", migrations.DefaultHops, "how long hops stay, as 'laxity migrate' was told")
	f.DurationVar(&config.KeepVerdicts, "keep-verdicts", migrations.DefaultVerdicts, "how long findings and accounts stay, as 'laxity migrate' was told")
	f.DurationVar(&config.KeepMinutes, "keep-minutes", migrations.DefaultMinutes, "how long rollups by the minute stay, as 'laxity migrate' was told")
	return cmd
}

// collectLess lets more garbage come together than Go does by itself: a worker makes much, and little of it lives long. The
// environment variables GOGC and GOMEMLIMIT say otherwise.
func collectLess() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(300)
		debug.SetMemoryLimit(1 << 30)
	}
}

// work runs the worker and serves its metrics until the context ends.
func work(ctx context.Context, w *worker.Worker, listener net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = w.WriteMetrics(out) // the reader has left
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	w.Run(ctx)
	_ = server.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("worker metrics: %w", err)
	}
	return nil
}
