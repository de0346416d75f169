package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/engine/chdb"
)

// chunked are the formats whose output in parts, one after the other, is the output of the whole: no header, no frame.
var chunked = []string{
	"Native", "RowBinary", "TabSeparated", "TSV", "TabSeparatedRaw", "TSVRaw", "CSV", "TSKV",
	"JSONEachRow", "JSONLines", "NDJSON", "JSONStringsEachRow", "JSONCompactEachRow", "JSONCompactStringsEachRow",
	"LineAsString", "RawBLOB", "Null",
}

// run executes a query and writes its result to r. Whoever ends ctx ends the statement in the engine.
func (e *Engine) run(ctx context.Context, q *query, r *reply) error {
	if err := e.gate.enter(ctx); err != nil {
		return err
	}
	defer e.gate.leave()
	conn, err := e.db.Connect()
	if err != nil {
		return fmt.Errorf("connection: %w", err)
	}
	defer conn.Close()
	marker := fmt.Sprintf("laxity/%d ", e.sequence.Add(1))
	if err := e.setUp(conn, q, marker); err != nil {
		return err
	}
	stop := e.killWhenDone(ctx, marker)
	defer stop()

	sql := q.text
	if q.data != "" {
		sql = q.fromFile(q.data)
	}
	if q.streamable() && !q.totals && slices.Contains(chunked, q.format) && !q.has("output_format_json_array_of_rows") {
		stream, err := conn.Stream(sql, q.format, q.params...)
		if err == nil {
			return copyStream(ctx, stream, r)
		}
		if err != chdb.ErrNotStreamable {
			return err
		}
	}
	result, err := conn.Exec(sql, q.format, q.params...)
	if e := new(chdb.Error); q.data != "" && errors.As(err, &e) {
		e.Message = strings.ReplaceAll(e.Message, "in file/uri "+q.data, "in the body")
	}
	if err != nil {
		return err
	}
	defer result.Close()
	r.stats = result.Stats()
	_, err = r.sink.Write(result.Bytes())
	return err
}

func copyStream(ctx context.Context, stream *chdb.Stream, r *reply) error {
	defer stream.Close()
	for {
		chunk, err := stream.Next()
		r.stats = stream.Stats()
		if err != nil || chunk == nil {
			return err
		}
		if _, err := r.sink.Write(chunk); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func (q *query) has(name string) bool {
	return slices.ContainsFunc(q.settings, func(s setting) bool { return s.name == name })
}

// setUp gives a fresh connection the database and settings of one query.
func (e *Engine) setUp(conn *chdb.Conn, q *query, marker string) error {
	if q.database != "" && q.database != "default" {
		if err := conn.Run("USE " + quote(q.database, '`')); err != nil {
			return err
		}
	}
	// The library's own defaults serve its command line; these are a server's.
	settings := map[string]string{"implicit_select": "0", "allow_introspection_functions": "0", "async_insert": "0"}
	maps.Copy(settings, e.config.Settings)
	for _, s := range q.settings {
		settings[s.name] = s.value
	}
	settings["log_comment"] = marker + q.description
	assignments := make([]string, 0, len(settings))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		assignments = append(assignments, name+" = "+quote(settings[name], '\''))
	}
	if err := conn.Run("SET " + strings.Join(assignments, ", ")); err != nil {
		return err
	}
	if q.readonly && !q.has("readonly") {
		return conn.Run("SET readonly = 2")
	}
	return nil
}

func quote(s string, mark byte) string {
	m := string(mark)
	return m + strings.NewReplacer(`\`, `\\`, m, `\`+m, "\x00", `\0`).Replace(s) + m
}

// killWhenDone ends the statement with that marker when ctx ends. The returned function stops watching and waits for it.
func (e *Engine) killWhenDone(ctx context.Context, marker string) func() {
	over, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		// Again and again: a statement that has not begun yet cannot be found yet.
		for {
			if err := e.kill(marker); err != nil {
				e.config.Logger.Warn("cannot cancel a statement", "error", err)
			}
			select {
			case <-over:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(over)
		<-stopped
	}
}

func (e *Engine) kill(marker string) error {
	conn, err := e.db.Connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	// SYNC would wait for the end, which is the business of the one who runs the statement.
	return conn.Run("KILL QUERY WHERE startsWith(Settings['log_comment'], " + quote(marker, '\'') + ") ASYNC")
}
