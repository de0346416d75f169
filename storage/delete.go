package storage

import (
	"context"
	_ "embed"

	"github.com/laxity-dev/laxity/internal/span"
)

//go:embed queries/delete_hops.sql
var deleteHopsSQL string

//go:embed queries/delete_raw.sql
var deleteRawSQL string

//go:embed queries/delete_times.sql
var deleteTimesSQL string

// DeleteTrace deletes what is kept of one trace: raw spans, hops and findings at once; the worker then computes the rollups
// without it. Spans of it that arrive later are kept. Where raw spans of it are in an attached table, it is a ForeignError.
func (db *DB) DeleteTrace(ctx context.Context, id span.TraceID) error {
	if err := db.notForeign(ctx, id); err != nil {
		return err
	}
	parameters := map[string]any{"id": id.String()}
	for _, sql := range []string{deleteRawSQL, deleteTimesSQL} {
		if err := db.run(ctx, sql, parameters); err != nil && !IsMissing(err) {
			return question("deletion of raw spans", err)
		}
	}
	if err := db.run(ctx, deleteHopsSQL, parameters); err != nil {
		return question("deletion of hops", err)
	}
	kept, err := db.Verdicts(ctx, []span.TraceID{id})
	if err != nil {
		return err
	}
	return db.WriteVerdicts(ctx, nil, kept)
}
