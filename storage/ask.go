package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"

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
	args := make([]any, 0, len(parameters))
	for name, value := range parameters {
		args = append(args, clickhouse.Named(name, value))
	}
	rows, err := db.conn.Query(db.limited(ctx, db.guards()), asked(sql, parameters), args...)
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
