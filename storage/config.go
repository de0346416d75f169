package storage

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/redact"
)

// DefaultDatabase is the database used when the DSN names none.
const DefaultDatabase = "laxity"

// Config says which ClickHouse to use and how. The zero value of every field but DSN works.
type Config struct {
	// DSN is http://, https:// or clickhouse://[user:password@]host:port[/database][?setting=value].
	DSN string
	// MaxExecutionTime bounds every statement in the server; default 30 s. A nearer deadline of the caller's context wins.
	MaxExecutionTime time.Duration
	// ClassifyRules is a file of rows by which spans that another collector wrote are classified, before the built-in ones.
	ClassifyRules string
	// Redact says what of the spans in an attached table is not stored in our tables, and not shown.
	Redact redact.Config
	// MaxConnections bounds the statements in flight; default 4 for each CPU, at least 8. Callers beyond it wait.
	MaxConnections int
}

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.DSN == "" {
		errs = append(errs, errors.New("clickhouse DSN is empty; give one such as http://127.0.0.1:8123/laxity"))
	} else if scheme, _, _ := strings.Cut(c.DSN, "://"); !slices.Contains([]string{"http", "https", "clickhouse", "tcp", "native"}, scheme) {
		errs = append(errs, fmt.Errorf("clickhouse DSN begins with %q; want http://, https:// or clickhouse://", scheme))
	} else if _, err := clickhouse.ParseDSN(c.DSN); err != nil {
		errs = append(errs, fmt.Errorf("clickhouse DSN: %w", err))
	}
	errs = append(errs, classify.Config{RulesFile: c.ClassifyRules}.Validate(), c.Redact.Validate())
	if c.MaxExecutionTime < 0 {
		errs = append(errs, fmt.Errorf("max execution time is %s; it must not be negative", c.MaxExecutionTime))
	}
	if c.MaxConnections < 0 {
		errs = append(errs, fmt.Errorf("max connections is %d; it must not be negative", c.MaxConnections))
	}
	return errors.Join(errs...)
}

// Database returns the database the DSN names, or the default one.
func (c Config) Database() string {
	if options, err := clickhouse.ParseDSN(c.DSN); err == nil && options.Auth.Database != "" {
		return options.Auth.Database
	}
	return DefaultDatabase
}

// Options returns the client's options. Settings that decide correctness are sent with every statement, so that neither a
// server's profile nor the DSN changes them.
func (c Config) Options() (*clickhouse.Options, error) {
	options, err := clickhouse.ParseDSN(c.DSN)
	if err != nil {
		return nil, fmt.Errorf("clickhouse DSN: %w", err)
	}
	if options.Auth.Database == "" {
		options.Auth.Database = DefaultDatabase
	}
	if options.Settings == nil {
		options.Settings = clickhouse.Settings{}
	}
	options.Settings["async_insert"] = 0
	options.Settings["insert_deduplicate"] = 0
	options.Settings["session_timezone"] = "UTC"
	// On a cluster an insert is done when the shards have it, and a subquery is about all of them.
	options.Settings["distributed_foreground_insert"] = 1
	options.Settings["distributed_product_mode"] = "global"
	options.Settings["max_execution_time"] = seconds(c.maxExecutionTime())
	if options.Compression == nil {
		options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	if options.DialTimeout == 0 {
		options.DialTimeout = 5 * time.Second
	}
	if options.ReadTimeout == 0 {
		// The server ends a statement first; this is for a server that no longer answers.
		options.ReadTimeout = c.maxExecutionTime() + 30*time.Second
	}
	options.MaxOpenConns = c.MaxConnections
	if options.MaxOpenConns == 0 {
		options.MaxOpenConns = max(8, 4*runtime.GOMAXPROCS(0))
	}
	options.MaxIdleConns = options.MaxOpenConns
	return options, nil
}

func (c Config) maxExecutionTime() time.Duration {
	if c.MaxExecutionTime == 0 {
		return 30 * time.Second
	}
	return c.MaxExecutionTime
}
