package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/laxity-dev/laxity/engine"
)

func newEngineCommand() *cobra.Command {
	var (
		config      engine.Config
		maxMemory   string
		addressFile string
	)
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Run the embedded ClickHouse engine behind its HTTP interface",
		Long: `Run the embedded ClickHouse engine behind ClickHouse's HTTP interface, for every client that speaks it:

  laxity engine --data ./laxity-data
  curl 'http://127.0.0.1:8123/?query=SELECT+version()'

Without a password it listens on loopback only. The library it needs is installed by 'make engine-lib'.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if config.MaxMemory, err = parseSize(maxMemory); err != nil {
				return &usageError{fmt.Errorf("--max-memory: %w", err)}
			}
			if err := config.Validate(); err != nil {
				return &usageError{err}
			}
			e, err := engine.Open(config)
			if err != nil {
				return err
			}
			if addressFile != "" {
				if err := writeWhole(addressFile, e.Address()+"\n"); err != nil {
					_ = e.Close()
					return fmt.Errorf("address file: %w", err)
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "laxity engine: ClickHouse %s listening on %s\n", e.Version(), e.URL())
			return e.Serve(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.Listen, "listen", engine.DefaultListen, "host:port to listen on; port 0 takes a free one")
	flags.StringVar(&config.Data, "data", "./laxity-data", "data directory; one process at a time")
	flags.StringVar(&config.User, "user", "", "user that requests must carry")
	flags.StringVar(&config.Password, "password", "", "password that requests must carry; better in LAXITY_PASSWORD than on the command line")
	flags.IntVar(&config.MaxQueries, "max-queries", 0, "statements that run at once (default twice the processors, at least 4)")
	flags.IntVar(&config.MaxWaiting, "max-waiting", 0, "requests that may wait for their turn (default 128, negative for none)")
	flags.StringVar(&maxMemory, "max-memory", "", "memory for all statements together, like 2GiB (default half of the machine's)")
	flags.DurationVar(&config.Grace, "grace", 0, "what running statements may take to end at a stop (default 10s)")
	flags.StringVar(&config.Library, "library", "", "path of libchdb (default where 'make engine-lib' puts it)")
	flags.StringVar(&addressFile, "address-file", "", "file to write the address to once the engine listens")
	return cmd
}

// writeWhole writes a file that nobody sees half written.
func writeWhole(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// noArguments refuses words that are no flags.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}

// parseSize reads bytes: a number with KiB, MiB, GiB or without a unit; empty is 0.
func parseSize(s string) (int64, error) {
	number, factor := strings.TrimSpace(s), int64(1)
	for unit, f := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if n, ok := strings.CutSuffix(number, unit); ok {
			number, factor = strings.TrimSpace(n), f
		}
	}
	if number == "" && factor == 1 {
		return 0, nil
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is no size; write it like 512MiB or 2GiB", s)
	}
	return n * factor, nil
}
