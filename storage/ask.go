package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Guards of one question. A question that would take more fails; the engine goes on.
const (
	maxQuestionMemory = 1 << 30
	maxQuestionRows   = 2_000_000_000
	spillBytes        = 640 << 20
)

// ask runs one question. The parameters are sent apart from the statement, so no value can become part of it. Each row is
// given to scan, which must not keep it.
func (db *DB) ask(ctx context.Context, sql string, scan func(driver.Rows) error, parameters map[string]any) error {
	sql, args, settings := bind(asked(sql, parameters), parameters, db.guards())
	rows, err := db.conn.Query(db.limited(ctx, settings), sql, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// maxParameter is how long a parameter may be that is sent apart: it travels in the URL, of which ClickHouse takes 128 KiB for each
// value and 1 MiB in all.
const maxParameter = 64 << 10

var (
	textParameter = regexp.MustCompile(`\{\w+:String\}`)
	quotes        = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
)

// bind returns a statement with its arguments, and settings, to which it may add. A text too long for a parameter becomes a literal in the
// statement.
func bind(sql string, parameters map[string]any, settings clickhouse.Settings) (string, []any, clickhouse.Settings) {
	args := make([]any, 0, len(parameters))
	long := map[string]string{}
	for name, value := range parameters {
		if text, ok := value.(string); ok && len(text) > maxParameter {
			long["{"+name+":String}"] = "'" + quotes.Replace(text) + "'"
			continue
		}
		args = append(args, clickhouse.Named(name, value))
	}
	if len(long) > 0 {
		// At one go: what stands in a text is never looked at.
		sql = textParameter.ReplaceAllStringFunc(sql, func(placeholder string) string { return cmp.Or(long[placeholder], placeholder) })
	}
	if len(sql) > maxParameter {
		settings["max_query_size"] = 2 * len(sql)
	}
	return sql, args, settings
}

// guards are the settings of statements beside the time limit.
func (db *DB) guards() clickhouse.Settings {
	return clickhouse.Settings{
		"max_memory_usage":                   db.memory,
		"max_rows_to_read":                   maxQuestionRows,
		"max_bytes_before_external_group_by": spillBytes,
		"max_bytes_before_external_sort":     spillBytes,
		// All rows of one span lie in one partition, because the partition follows from the key.
		"do_not_merge_across_partitions_select_final": 1,
	}
}

// codes of ClickHouse that say that a question costs too much: too many rows, timeout, too slow, memory, bytes, rows or
// bytes, cancelled.
var tooExpensive = map[int32]bool{158: true, 159: true, 160: true, 241: true, 307: true, 394: true, 396: true}

// IsTooExpensive reports whether the error says that a question was ended because it cost too much.
func IsTooExpensive(err error) bool {
	var exception *clickhouse.Exception
	return errors.As(err, &exception) && tooExpensive[exception.Code]
}

// IsBusy reports whether the error says that too many other questions are being answered.
func IsBusy(err error) bool {
	const tooManyQueries = 202
	var exception *clickhouse.Exception
	return errors.Is(err, clickhouse.ErrAcquireConnTimeout) || errors.As(err, &exception) && exception.Code == tooManyQueries
}

// IsUnreachable reports whether the error says that the database could not be asked at all.
func IsUnreachable(err error) bool {
	var network *net.OpError
	var exchange *url.Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	// A database that ends while it is asked closes the connection, and no system call fails.
	return errors.As(err, &network) || errors.As(err, &exchange) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// question wraps an error with what was asked.
func question(noun string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", noun, err)
}
