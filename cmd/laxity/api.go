package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/laxity-dev/laxity/storage"
)

const defaultListen = "127.0.0.1:8484"

// apiFlags are the settings of API and page, alone and under 'up'.
type apiFlags struct {
	listen     string
	tokenFile  string
	insecure   bool
	allowHosts []string
}

func (f *apiFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "listen", defaultListen, "address of API and page; port 0 takes a free one")
	flags.StringSliceVar(&f.allowHosts, "allow-host", nil, "host names under which the page may be opened without a token, beside addresses and localhost")
}

func newAPICommand() *cobra.Command {
	var flags apiFlags
	var dsn string
	cmd := &cobra.Command{
		Use:   "api",
		Short: "Serve the API and the page over a ClickHouse database",
		Long: `Serve the API and the page over a ClickHouse database that 'laxity migrate' has prepared. Without a token file it listens
on loopback only. The API is described at /api/v1/openapi.yaml.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := storage.Open(storage.Config{DSN: dsn})
			if err != nil {
				return &usageError{err}
			}
			defer func() { _ = store.Close() }()
			server, err := newAPI(flags, store, nil, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
			if err != nil {
				return err
			}
			if err := server.listen(); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "laxity api: %s\n", server.url())
			return server.serve(cmd.Context())
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().StringVar(&flags.tokenFile, "token-file", "", "file with the bearer token that requests must carry")
	cmd.Flags().BoolVar(&flags.insecure, "insecure", false, "serve other machines without a token")
	cmd.Flags().StringVar(&dsn, "clickhouse", defaultDSN, "DSN of ClickHouse: http://, https:// or clickhouse://")
	return cmd
}
