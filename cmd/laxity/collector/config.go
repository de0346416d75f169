package collector

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/listen"
	"github.com/laxity-dev/laxity/processor/redactprocessor"
	"github.com/laxity-dev/laxity/storage"
)

// Config of the built-in pipeline.
type Config struct {
	DSN     string // ClickHouse; see storage.Config
	Queue   string // directory of the queues
	GRPC    string // host:port that takes OTLP over gRPC; port 0 takes a free one
	HTTP    string // host:port that takes OTLP over HTTP
	Metrics string // host:port of the page of Prometheus metrics
	// MetricsEvery is the time between two measurements of the deadline metrics on that page. 15 s.
	MetricsEvery time.Duration

	// NoRawSpans keeps spans out of otel_traces; hops are written all the same.
	NoRawSpans bool
	// TokenFile holds the bearer token that senders must present. Without one only loopback is served, unless Insecure.
	TokenFile string
	Insecure  bool
	// Fsync writes the queues through to the disk before a request is acknowledged.
	Fsync bool
	// QueueSpans is how many spans may wait on disk for each exporter; what comes on top is refused, to be sent again. Default 5,000,000.
	QueueSpans int
	// MemoryMiB bounds the heap: above it requests are refused, to be sent again. Default 1024.
	MemoryMiB  int
	LogLevel   string // debug, info, warn or error; default warn
	BudgetFrom []classify.BudgetFrom
	// ClassifyRules is a file of rows that come before the built-in ones; see docs/classification.md.
	ClassifyRules string
	// Redact says what must not be stored.
	Redact redactprocessor.Config
}

// maxMetricsEvery keeps series on the page, which forgets them after a minute.
const maxMetricsEvery = 30 * time.Second

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error {
	errs := []error{storage.Config{DSN: c.DSN}.Validate(), classify.Config{BudgetFrom: c.BudgetFrom, RulesFile: c.ClassifyRules}.Validate(), c.Redact.Validate()}
	if c.Queue == "" {
		errs = append(errs, errors.New("directory of the queues is empty"))
	}
	for _, a := range []struct{ flag, address string }{{"otlp-grpc", c.GRPC}, {"otlp-http", c.HTTP}} {
		errs = append(errs, CheckListen(a.flag, a.address, c.TokenFile != "" || c.Insecure))
	}
	errs = append(errs, CheckListen("metrics-listen", c.Metrics, true))
	if c.MetricsEvery != 0 && (c.MetricsEvery < 10*time.Millisecond || c.MetricsEvery > maxMetricsEvery) {
		errs = append(errs, fmt.Errorf("--metrics-every is %s; use 10ms to %s", c.MetricsEvery, maxMetricsEvery))
	}
	if !slices.Contains([]string{"", "debug", "info", "warn", "error"}, c.LogLevel) {
		errs = append(errs, fmt.Errorf("log level %q is not known; use debug, info, warn or error", c.LogLevel))
	}
	if c.MemoryMiB < 0 || c.MemoryMiB > 0 && c.MemoryMiB < 128 {
		errs = append(errs, fmt.Errorf("memory limit is %d MiB; the least is 128", c.MemoryMiB))
	}
	if c.QueueSpans != 0 && c.QueueSpans < leastQueueSpans {
		errs = append(errs, fmt.Errorf("--queue-spans is %d; the least is %d", c.QueueSpans, leastQueueSpans))
	}
	return errors.Join(errs...)
}

// CheckListen refuses an address that is not host:port, and one that others can reach unless that is allowed.
func CheckListen(flag, address string, open bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--%s %q: want host:port", flag, address)
	}
	if ip := net.ParseIP(host); open || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--%s %s can be reached from other machines; name a --token-file, or allow it with --insecure", flag, address)
}

// Resolve replaces every port 0 by a free port, so that a restart keeps the addresses. A port that is taken is an error.
func (c Config) Resolve() (Config, error) {
	err := listen.FreePorts(c.Addresses())
	return c, err
}

// Addresses are the listening addresses of the configuration by the name of their flag.
func (c *Config) Addresses() map[string]*string {
	return map[string]*string{"otlp-grpc": &c.GRPC, "otlp-http": &c.HTTP, "metrics-listen": &c.Metrics}
}

//go:embed config.yaml.tmpl
var text string

var tmpl = template.Must(template.New("config.yaml").Funcs(template.FuncMap{"quote": quote}).Parse(text))

// quote writes a YAML string; the collector would expand dollar signs.
func quote(s string) (string, error) {
	b, err := json.Marshal(s)
	return strings.ReplaceAll(string(b), "$", "$$"), err
}

// YAML returns the configuration as the collector reads it.
func (c Config) YAML() ([]byte, error) {
	if c.MemoryMiB == 0 {
		c.MemoryMiB = defaultMemoryMiB
	}
	if c.QueueSpans == 0 {
		c.QueueSpans = DefaultQueueSpans
	}
	if c.LogLevel == "" {
		c.LogLevel = "warn"
	}
	var out bytes.Buffer
	err := tmpl.Execute(&out, struct {
		Config
		Database string
		RawSpans bool
		Redacts  bool
		Salt     string
		SpikeMiB int
	}{c, storage.Config{DSN: c.DSN}.Database(), !c.NoRawSpans, len(c.Redact.Keys)+len(c.Redact.Values) > 0, string(c.Redact.Salt), c.MemoryMiB / 5})
	if err != nil {
		return nil, fmt.Errorf("collector configuration: %w", err)
	}
	return out.Bytes(), nil
}

const defaultMemoryMiB = 1024

// DefaultQueueSpans is how many spans may wait for each exporter.
const (
	DefaultQueueSpans = 5_000_000
	leastQueueSpans   = 1000
)

// AtMost is a size of batches: as wanted, but no more than one of parts of what the queue holds.
func (c Config) AtMost(wanted, parts int) int { return min(wanted, c.QueueSpans/parts) }
