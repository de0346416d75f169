package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/laxity-dev/laxity/cmd/laxity/collector"
	"github.com/laxity-dev/laxity/engine"
	"github.com/laxity-dev/laxity/internal/listen"
	"github.com/laxity-dev/laxity/migrations"
)

// upConfig says where everything is.
type upConfig struct {
	data      string
	engine    string // address of the embedded engine
	api       apiFlags
	user      string // of the embedded engine
	password  string
	dsn       string // another ClickHouse, "" for the embedded engine
	settings  string // settings file, "" for the default one
	raw       bool
	demo      bool
	edge      string // address of the edge of the sample services
	worker    string // address of the worker's metrics
	collector collector.Config
	retention migrations.Retention
}

func newUpCommand() *cobra.Command {
	var config upConfig
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything on this machine: engine, migrations, collector, worker, API and page",
		Long: `Run everything on this machine: the embedded engine, the migrations, the collector, the worker, and the API with
the page, each started again when it ends.
Interrupt to stop. Rows and queues stay in the data directory.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f := cmd.Flags().Lookup("config"); f != nil && f.Changed {
				config.settings = f.Value.String()
			}
			if err := config.resolve(cmd.Context()); err != nil {
				return err
			}
			return up(cmd.Context(), config, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&config.data, "data", defaultData, "directory of rows and queues")
	config.api.add(f)
	f.StringVar(&config.engine, "engine-listen", "127.0.0.1:8123", "address of the embedded engine")
	f.StringVar(&config.user, "user", "", "user that requests to the embedded engine must carry")
	f.StringVar(&config.password, "password", "", "password of that user; better in LAXITY_PASSWORD than on the command line")
	f.StringVar(&config.dsn, "clickhouse", "", "DSN of a ClickHouse to use instead of the embedded engine")
	f.BoolVar(&config.raw, "raw-spans", true, "write raw spans to otel_traces")
	f.BoolVar(&config.demo, "demo", false, "run the sample services too, after two weeks of sample history")
	f.StringVar(&config.edge, "edge-listen", defaultEdge, "address of the edge of the sample services")
	f.StringVar(&config.worker, "worker-metrics-listen", defaultWorkerMetrics, "address of the worker's Prometheus metrics")
	collectorFlags(f, &config.collector)
	retentionFlags(f, &config.retention)
	return cmd
}

// resolve checks the configuration and replaces every port 0, so that a part that is started again is where it was.
func (c *upConfig) resolve(ctx context.Context) error {
	embedded := c.dsn == ""
	if embedded {
		c.dsn = c.engineDSN()
	}
	c.collector.DSN, c.collector.Queue, c.collector.NoRawSpans = c.dsn, filepath.Join(c.data, "queue"), !c.raw
	open := c.collector.TokenFile != "" || c.collector.Insecure
	err := errors.Join(c.collector.Validate(), collector.CheckListen("listen", c.api.listen, open),
		collector.CheckListen("worker-metrics-listen", c.worker, false), c.retention.Validate())
	if _, wrong := c.api.notifiers(); wrong != nil {
		err = errors.Join(err, wrong)
	}
	if _, wrong := readAlertSettings(c.api.settings); wrong != nil {
		err = errors.Join(err, wrong)
	}
	if embedded {
		err = errors.Join(err, collector.CheckListen("engine-listen", c.engine, c.password != ""))
		if (c.user == "") != (c.password == "") {
			err = errors.Join(err, errors.New("--user and --password go together"))
		}
	}
	if err != nil {
		return &usageError{err}
	}
	if _, err := readToken(c.collector.TokenFile); err != nil {
		return err
	}
	if !embedded {
		c.engine = ""
	}
	if err := c.takePlace(ctx); err != nil {
		return err
	}
	if embedded {
		c.dsn = c.engineDSN()
		c.collector.DSN = c.dsn
	}
	return nil
}

// engineDSN is how the other parts reach the embedded engine.
func (c *upConfig) engineDSN() string {
	dsn := url.URL{Scheme: "http", Host: c.engine, Path: "/laxity"}
	if c.user != "" {
		dsn.User = url.UserPassword(c.user, c.password)
	}
	return dsn.String()
}

// storeEnv tells a part where to store, out of sight of who lists processes: a DSN may hold a password.
func (c *upConfig) storeEnv() []string { return []string{envPrefix + "CLICKHOUSE=" + c.dsn} }

// leave is how long the parts of a run that was killed may take to leave ports and data directory.
const leave = 5 * time.Second

// takePlace finds the addresses and the data directory vacant, so that nothing of another run is taken for a part of this one.
func (c *upConfig) takePlace(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leave)
	defer cancel()
	for {
		next, err := c.vacant()
		if err == nil {
			*c = next
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (c upConfig) vacant() (upConfig, error) {
	addresses := map[string]*string{"listen": &c.api.listen, "worker-metrics-listen": &c.worker}
	if c.engine != "" {
		if err := engine.CheckDir(filepath.Join(c.data, "clickhouse")); err != nil {
			return c, err
		}
		addresses["engine-listen"] = &c.engine
	}
	if c.demo {
		addresses["edge-listen"] = &c.edge
	}
	maps.Copy(addresses, c.collector.Addresses())
	err := listen.FreePorts(addresses)
	return c, err
}

// up starts the parts in their order and, when the context ends, stops them from the last to the first.
func up(ctx context.Context, c upConfig, out, errs io.Writer) error {
	errs = &serial{out: errs}
	log := slog.New(slog.NewTextHandler(errs, nil))
	var started []*part
	defer func() {
		for _, p := range slices.Backward(started) {
			p.stop()
		}
	}()
	run := func(p *part, limit time.Duration) error {
		p.args = append(p.args, c.settingsArgs()...)
		p.start(ctx, log, errs)
		started = append(started, p)
		return p.wait(ctx, limit)
	}
	if c.engine != "" {
		if err := run(c.enginePart(), time.Minute); err != nil {
			return interrupted(ctx, err)
		}
	}
	schema, err := migrations.Up(ctx, migrations.Config{DSN: c.dsn, Retention: c.retention})
	if err != nil {
		return interrupted(ctx, err)
	}
	log.Info("tables are ready", "schema", schema.Version)
	if err := run(c.collectorPart(), time.Minute); err != nil {
		return interrupted(ctx, err)
	}
	if err := run(c.workerPart(), time.Minute); err != nil {
		return interrupted(ctx, err)
	}
	if err := run(c.apiPart(), time.Minute); err != nil {
		return interrupted(ctx, err)
	}
	c.announce(out)
	if c.demo {
		if err := run(c.demoPart(), 2*time.Minute); err != nil {
			return interrupted(ctx, err)
		}
		fmt.Fprintf(out, "demo        http://%s (see laxity demo fault)\n", c.edge)
	}
	<-ctx.Done()
	return nil
}

// interrupted hides errors that come from the end of the context.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *upConfig) announce(out io.Writer) {
	fmt.Fprintf(out, "page        http://%s\n", c.api.listen)
	if c.engine != "" {
		fmt.Fprintf(out, "ClickHouse  http://%s (database laxity)\n", c.engine)
	}
	fmt.Fprintf(out, "OTLP        %s (gRPC), http://%s (HTTP)\n", c.collector.GRPC, c.collector.HTTP)
	fmt.Fprintf(out, "metrics     http://%s/metrics\n", c.collector.Metrics)
	fmt.Fprintf(out, "            http://%s/metrics (worker)\n", c.worker)
	fmt.Fprintf(out, "data        %s\n", c.data)
}

func (c *upConfig) settingsArgs() []string {
	if c.settings == "" {
		return nil
	}
	return []string{"--config", c.settings}
}

func (c *upConfig) enginePart() *part {
	return &part{
		name:  "engine",
		args:  []string{"engine", "--data", filepath.Join(c.data, "clickhouse"), "--listen", c.engine},
		env:   []string{envPrefix + "USER=" + c.user, envPrefix + "PASSWORD=" + c.password},
		ready: func(ctx context.Context) error { return ping(ctx, "http://"+c.engine+"/ping") },
	}
}

func (c *upConfig) collectorPart() *part {
	k := c.collector
	args := []string{
		"collector", "--data", c.data, "--raw-spans=" + strconv.FormatBool(c.raw),
		"--otlp-grpc", k.GRPC, "--otlp-http", k.HTTP, "--metrics-listen", k.Metrics, "--token-file", k.TokenFile,
		"--insecure=" + strconv.FormatBool(k.Insecure), "--fsync=" + strconv.FormatBool(k.Fsync),
		"--memory-limit", strconv.Itoa(k.MemoryMiB), "--queue-spans", strconv.Itoa(k.QueueSpans), "--metrics-every", k.MetricsEvery.String(), "--log-level", k.LogLevel,
	}
	for _, b := range k.BudgetFrom {
		args = append(args, "--budget-from", b.Attribute+"="+b.Unit)
	}
	return &part{
		name: "collector",
		args: append(args, c.foreignArgs()...),
		env:  c.foreignEnv(),
		ready: func(ctx context.Context) error {
			return errors.Join(dial(ctx, k.GRPC), dial(ctx, k.HTTP))
		},
	}
}

// foreignArgs are the flags of foreignFlags, but for the salt, which foreignEnv holds.
func (c *upConfig) foreignArgs() []string {
	args := []string{"--classify-rules", c.collector.ClassifyRules}
	for _, r := range c.collector.Redact.Keys {
		args = append(args, "--redact", r.Pattern+"="+r.Action)
	}
	for _, r := range c.collector.Redact.Values {
		args = append(args, "--redact-values", r)
	}
	return args
}

func (c *upConfig) foreignEnv() []string {
	return append(c.storeEnv(), envPrefix+"REDACT_SALT="+string(c.collector.Redact.Salt))
}

func (c *upConfig) workerPart() *part {
	return &part{
		name: "worker",
		args: append([]string{"worker", "--worker-metrics-listen", c.worker, "--keep-hops", c.retention.Hops.String(),
			"--keep-verdicts", c.retention.Verdicts.String(), "--keep-minutes", c.retention.Minutes.String()}, c.foreignArgs()...),
		env:   c.foreignEnv(),
		ready: func(ctx context.Context) error { return dial(ctx, c.worker) },
	}
}

func (c *upConfig) apiPart() *part {
	k := c.collector
	args := []string{
		"api", "--listen", c.api.listen, "--token-file", k.TokenFile, "--insecure=" + strconv.FormatBool(k.Insecure),
		"--otlp-grpc", k.GRPC, "--otlp-http", k.HTTP, "--alerts=" + strconv.FormatBool(c.api.alerts), "--public-url", c.api.publicURL, "--alert-settings", c.api.settings,
	}
	for _, host := range c.api.allowHosts {
		args = append(args, "--allow-host", host)
	}
	return &part{
		name:  "api",
		args:  append(args, c.foreignArgs()...),
		env:   append(c.foreignEnv(), listEnv("ALERT_WEBHOOK", c.api.webhooks), listEnv("ALERTMANAGER", c.api.alertmanagers)),
		ready: func(ctx context.Context) error { return dial(ctx, c.api.listen) },
	}
}

// listEnv is a flag of several values as a variable: addresses of notifications may hold secrets, too.
func listEnv(name string, values []string) string {
	var text strings.Builder
	if len(values) > 0 {
		w := csv.NewWriter(&text)
		_ = w.Write(values) // a builder takes everything
		w.Flush()
	}
	return envPrefix + name + "=" + strings.TrimSuffix(text.String(), "\n")
}

// demoPart is the sample services; they serve once their history is sent.
func (c *upConfig) demoPart() *part {
	return &part{
		name:  "demo",
		args:  []string{"demo", "--otlp-grpc", c.collector.GRPC, "--edge-listen", c.edge, "--backfill", "14d", "--quiet"},
		ready: func(ctx context.Context) error { return dial(ctx, c.edge) },
	}
}

func ping(ctx context.Context, target string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", target, response.Status)
	}
	return nil
}

func dial(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// serial lets several parts write to one place.
type serial struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *serial) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(b)
}
