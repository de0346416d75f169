// Package storage is the one place that talks to ClickHouse: it writes hops and quarantined spans, and answers one question
// by one method and one statement.
package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/redact"
)

// DB is a connection pool to one ClickHouse database. It is safe for concurrent use.
type DB struct {
	conn  driver.Conn
	limit time.Duration
	// exact is up to how many hops margins are read from them alone.
	exact uint64
	// exactReports is up to how many hops reports are read from them alone.
	exactReports uint64
	// tallyRows bounds what one statement counts, memory what it may take.
	tallyRows uint64
	memory    int
	// tallies remembers their state for a moment.
	tallies struct {
		sync.Mutex
		state *tallyState
	}
	// database holds our tables.
	database string
	// rules is a file of rows, classifier applies them; redactor is nil if nothing is redacted.
	rules      string
	classifier *classify.Classifier
	redactor   *redact.Redactor
	// attached remembers the table of somebody else whose raw spans are read.
	attached struct {
		sync.Mutex
		table *Attached
		asked time.Time
	}
}

// Open prepares a pool. It does not connect: a ClickHouse that is down, or comes later, shows as errors of the statements.
func Open(config Config) (*DB, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	options, err := config.Options()
	if err != nil {
		return nil, err
	}
	classifier, err := classify.New(classify.Config{RulesFile: config.ClassifyRules})
	if err != nil {
		return nil, err
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	db := &DB{conn: conn, limit: config.maxExecutionTime(), exact: exactHops, exactReports: exactReports, tallyRows: tallyRows,
		memory: maxQuestionMemory, database: config.Database(),
		rules: config.ClassifyRules, classifier: classifier}
	if !config.Redact.Empty() {
		db.redactor = redact.New(config.Redact)
	}
	return db, nil
}

// Classifier derives what spans that another collector wrote do not say; on ours it changes nothing.
func (db *DB) Classifier() *classify.Classifier { return db.classifier }

// Close closes the pool.
func (db *DB) Close() error { return db.conn.Close() }

// Ping asks the server whether it is there.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.conn.Ping(db.limited(ctx, nil)); err != nil {
		return fmt.Errorf("clickhouse: %w", err)
	}
	return nil
}

// limited returns the context for one statement: the server is told the nearer of our own limit and the caller's deadline.
// Every statement must go through it. The client, left alone, replaces a limit by the remainder of the context plus five
// seconds and drops it when less than one second remains, so it is kept from seeing the deadline; the cancellation still
// reaches it. More settings of the statement may be nil.
func (db *DB) limited(ctx context.Context, more clickhouse.Settings, options ...clickhouse.QueryOption) context.Context {
	limit := db.limit
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	settings := clickhouse.Settings{"max_execution_time": seconds(limit)}
	maps.Copy(settings, more)
	return clickhouse.Context(undated{ctx}, append(options, clickhouse.WithSettings(settings))...)
}

// undated is a context that hides its deadline and nothing else.
type undated struct{ context.Context }

// Deadline says that there is none.
func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }

// seconds writes a limit as ClickHouse reads it. Zero would mean no limit, so the least is a millisecond.
func seconds(d time.Duration) float64 {
	return math.Max(0.001, math.Ceil(d.Seconds()*1000)/1000)
}

// IsMissing reports whether the error says that a table or the database does not exist, so that migrations have to run.
func IsMissing(err error) bool {
	var exception *clickhouse.Exception
	return errors.As(err, &exception) && (exception.Code == 60 || exception.Code == 81)
}

// lacksColumn reports whether the error says that a table of somebody else has not the column.
func lacksColumn(err error) bool {
	var exception *clickhouse.Exception
	return errors.As(err, &exception) && (exception.Code == 47 || exception.Code == 16)
}

// IsPermanent reports whether the error would come again if the same statement were repeated. A table or column that is
// missing is not: migrations may bring it.
func IsPermanent(err error) bool {
	var mistyped *errColumn
	if errors.As(err, &mistyped) {
		return true
	}
	var exception *clickhouse.Exception
	return errors.As(err, &exception) && slices.Contains(permanentCodes, int(exception.Code))
}

// permanentCodes: TYPE_MISMATCH, SYNTAX_ERROR, CANNOT_CONVERT_TYPE. Data that could not be read may have been cut on the way.
var permanentCodes = []int{53, 62, 70}

// errColumn is a column that the client could not lay out.
type errColumn struct {
	name string
	err  error
}

func (e *errColumn) Error() string { return fmt.Sprintf("column %s: %v", e.name, e.err) }
func (e *errColumn) Unwrap() error { return e.err }
