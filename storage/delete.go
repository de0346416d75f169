package storage

import (
	"context"
	_ "embed"
	"regexp"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/span"
)

//go:embed queries/delete_hops.sql
var deleteHopsSQL string

//go:embed queries/delete_raw.sql
var deleteRawSQL string

//go:embed queries/cluster.sql
var clusterSQL string

// cluster returns the name of the cluster over which otel_traces is distributed, "" on a single server.
func (db *DB) cluster(ctx context.Context) (name string, err error) {
	err = db.ask(ctx, clusterSQL, func(rows driver.Rows) error { return rows.Scan(&name) }, nil)
	return name, question("cluster", err)
}

var deleteFrom = regexp.MustCompile(`(?m)^DELETE FROM (\w+)`)

// onCluster makes a deletion one of the tables that keep the rows, on every server.
func onCluster(sql, cluster string) string {
	if cluster == "" {
		return sql
	}
	return deleteFrom.ReplaceAllString(sql, "DELETE FROM ${1}_local ON CLUSTER '"+strings.NewReplacer(`\`, `\\`, "'", `\'`, "$", "$$").Replace(cluster)+"'")
}

//go:embed queries/delete_times.sql
var deleteTimesSQL string

// DeleteTrace deletes what is kept of one trace: raw spans, hops and findings at once; the worker then computes the rollups
// without it. Spans of it that arrive later are kept. Where raw spans of it are in an attached table, it is a ForeignError.
func (db *DB) DeleteTrace(ctx context.Context, id span.TraceID) error {
	if err := db.notForeign(ctx, id); err != nil {
		return err
	}
	parameters := map[string]any{"id": id.String()}
	cluster, err := db.cluster(ctx)
	if err != nil {
		return err
	}
	for _, sql := range []string{deleteRawSQL, deleteTimesSQL} {
		if err := db.run(ctx, onCluster(sql, cluster), parameters); err != nil && !IsMissing(err) {
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
	if err := db.WriteVerdicts(ctx, nil, kept); err != nil {
		return err
	}
	drawn, err := db.AccountKeys(ctx, []span.TraceID{id}, AnyTime)
	if err != nil {
		return err
	}
	return db.WriteAccounts(ctx, nil, drawn)
}
