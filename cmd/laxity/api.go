package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/laxity-dev/laxity/api"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/watch"
	"github.com/laxity-dev/laxity/web"
)

const defaultListen = "127.0.0.1:8484"

// apiFlags are the settings of API and page, alone and under 'up'.
type apiFlags struct {
	listen     string
	tokenFile  string
	insecure   bool
	allowHosts []string
	// Where the collector takes OTLP, to tell readers; "" is unknown.
	otlpGRPC, otlpHTTP string

	// Whether alerts are evaluated here, and whom to tell of them.
	alerts                  bool
	webhooks, alertmanagers []string
	publicURL               string
	settings                string // file of objectives and limits of alerts
}

// add adds the flags that 'up' has too, beside those of the collector.
func (f *apiFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "listen", defaultListen, "address of API and page; port 0 takes a free one")
	flags.StringSliceVar(&f.allowHosts, "allow-host", nil, "host names under which the page may be opened without a token, beside addresses and localhost")
	flags.BoolVar(&f.alerts, "alerts", true, "evaluate alerts; of several processes on one database one does at a time")
	flags.StringVar(&f.settings, "alert-settings", "", "file of objectives and limits of alerts; see docs/alerts-settings.md")
	flags.StringSliceVar(&f.webhooks, "alert-webhook", nil, "address that is told of each alert that fires or is resolved, as JSON")
	flags.StringSliceVar(&f.alertmanagers, "alertmanager", nil, "address of an Alertmanager to tell, such as http://127.0.0.1:9093")
	flags.StringVar(&f.publicURL, "public-url", "", "address of the page for links in notifications")
}

func newAPICommand() *cobra.Command {
	var flags apiFlags
	var database storage.Config
	cmd := &cobra.Command{
		Use:   "api",
		Short: "Serve the API and the page over a ClickHouse database",
		Long: `Serve the API and the page over a ClickHouse database that 'laxity migrate' has prepared. Without a token file it listens
on loopback only. The API is described at /api/v1/openapi.yaml.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			token, err := readToken(flags.tokenFile)
			if err != nil {
				return err
			}
			store, err := storage.Open(database)
			if err != nil {
				return &usageError{err}
			}
			defer func() { _ = store.Close() }()
			logger := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			alerts, definitions, err := newWatch(flags, store, logger)
			if err != nil {
				return err
			}
			server, err := newAPI(flags, token, store, alerts, definitions, logger)
			if err != nil {
				return err
			}
			listener, err := api.Listen(flags.listen, token, flags.insecure)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "laxity api: http://%s\n", listener.Addr())
			if flags.alerts {
				var watching sync.WaitGroup
				defer watching.Wait()
				ctx, cancel := context.WithCancel(cmd.Context())
				defer cancel()
				watching.Go(func() { alerts.Run(ctx) })
			}
			return server.Serve(cmd.Context(), listener)
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().StringVar(&flags.tokenFile, "token-file", "", "file with the bearer token that requests must carry")
	cmd.Flags().BoolVar(&flags.insecure, "insecure", false, "serve other machines without a token")
	cmd.Flags().StringVar(&flags.otlpGRPC, "otlp-grpc", "", "address where the collector takes OTLP over gRPC, to tell readers")
	cmd.Flags().StringVar(&flags.otlpHTTP, "otlp-http", "", "address where the collector takes OTLP over HTTP, to tell readers")
	foreignFlags(cmd.Flags(), &database.ClassifyRules, &database.Redact.Keys, &database.Redact.Values, &database.Redact.Salt)
	cmd.Flags().StringVar(&database.DSN, "clickhouse", defaultDSN, "DSN of ClickHouse: http://, https:// or clickhouse://")
	return cmd
}

// newWatch returns what evaluates alerts and tells people.
func newWatch(flags apiFlags, store *storage.DB, logger *slog.Logger) (*watch.Watch, []slo.Alert, error) {
	settings, err := readAlertSettings(flags.settings)
	if err != nil {
		return nil, nil, err
	}
	definitions, err := slo.Alerts(settings)
	if err != nil {
		return nil, nil, err
	}
	notifiers, err := flags.notifiers()
	if err != nil {
		return nil, nil, &usageError{err}
	}
	watching, err := watch.New(watch.Config{
		Store: store, Alerts: definitions, MinAnswers: settings.MinAnswers, Notifiers: notifiers, PublicURL: flags.publicURL, Logger: logger,
	})
	return watching, definitions, err
}

// readAlertSettings reads a file of objectives and limits; no file means the defaults.
func readAlertSettings(path string) (slo.Settings, error) {
	if path == "" {
		return slo.DefaultSettings(), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return slo.Settings{}, &usageError{fmt.Errorf("settings of alerts: %w", err)}
	}
	settings, err := slo.ParseSettings(path, data)
	if err != nil {
		return settings, &usageError{err}
	}
	return settings, nil
}

// notifiers returns whom to tell.
func (f *apiFlags) notifiers() ([]watch.Notifier, error) {
	var all []watch.Notifier
	for _, address := range f.webhooks {
		all = append(all, watch.Notifier{Kind: watch.KindWebhook, URL: address})
	}
	for _, address := range f.alertmanagers {
		all = append(all, watch.Notifier{Kind: watch.KindAlertmanager, URL: address})
	}
	for _, n := range all {
		if err := n.Validate(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// newAPI returns the server; alerts may be nil.
func newAPI(flags apiFlags, token string, store *storage.DB, alerts *watch.Watch, definitions []slo.Alert, logger *slog.Logger) (*api.Server, error) {
	var ingest *api.Ingest
	if flags.otlpGRPC != "" && flags.otlpHTTP != "" {
		ingest = &api.Ingest{OTLPGRPC: flags.otlpGRPC, OTLPHTTP: flags.otlpHTTP}
	}
	page, _ := web.Files() // a binary without the page has one that says so
	return api.New(api.Config{
		Store: store, Web: page, Token: token, AllowedHosts: flags.allowHosts, SchemaVersion: uint32(migrations.Latest()),
		Version: version(), Ingest: ingest, Watch: alerts, Alerts: definitions, Logger: logger,
	})
}
