// Package migrations brings the tables of a ClickHouse database to the version this binary knows. Files are named
// NNNNNN_noun.up.sql and .down.sql, hold one idempotent statement each, and are never edited after a release.
package migrations

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/golang-migrate/migrate/v4"
	chdriver "github.com/golang-migrate/migrate/v4/database/clickhouse"
	"github.com/golang-migrate/migrate/v4/source/iofs"

	"github.com/laxity-dev/laxity/storage"
)

//go:embed *.sql
var files embed.FS

const (
	versionTable = "schema_migrations"
	// ddlLimit bounds one statement of a migration.
	ddlLimit = 10 * time.Minute
)

// Config says which database to migrate and how long to keep what.
type Config struct {
	DSN       string
	Retention Retention
	// Attach, if not nil, is a table of raw spans that somebody else owns. It is never changed.
	Attach *storage.Attached
	// Cluster, if not empty, is the name of the cluster whose servers get the tables.
	Cluster string
	// LockWait is how long to wait for another process that migrates; default one minute.
	LockWait time.Duration
}

// Schema is the state of a database. Version 0 means that nothing was applied.
type Schema struct {
	Version uint
	Dirty   bool
	// Latest is the version this binary knows.
	Latest uint
	// ForeignRaw: the database has a table otel_traces that somebody else made.
	ForeignRaw bool
}

// check refuses a schema that must not be migrated.
func (s Schema) check() error {
	if s.Dirty {
		return &SchemaError{Schema: s, Advice: "a migration was interrupted; run 'laxity migrate --repair', which applies it again (every step can be repeated)"}
	}
	if s.Version > s.Latest {
		return &SchemaError{Schema: s, Advice: "the database was migrated by a newer laxity; use that version or newer, or name another database in the DSN"}
	}
	return nil
}

// SchemaError is a schema that was refused, with what to do.
type SchemaError struct {
	Schema Schema
	Advice string
}

func (e *SchemaError) Error() string {
	state := ""
	if e.Schema.Dirty {
		state = " (dirty)"
	}
	return fmt.Sprintf("schema version %d%s, this laxity knows %d: %s", e.Schema.Version, state, e.Schema.Latest, e.Advice)
}

// Latest returns the newest version this binary knows.
func Latest() uint { return slices.Max(versions()) }

func versions() []uint {
	names, err := fs.Glob(files, "*.up.sql")
	if err != nil || len(names) == 0 {
		panic("migrations: no files embedded")
	}
	all := make([]uint, len(names))
	for i, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			panic("migrations: file name " + name)
		}
		all[i] = uint(version)
	}
	return all
}

// Up creates the database if it is missing, applies what is missing, sets the retention and notes the attached table. Only one
// process migrates at a time, others wait for it.
func Up(ctx context.Context, config Config) (Schema, error) {
	return run(ctx, config, func(m *migrate.Migrate, schema Schema) error {
		if err := schema.check(); err != nil {
			return err
		}
		if schema.ForeignRaw && schema.Version == 0 {
			if config.Attach == nil || config.Attach.Table != rawTable {
				return &SchemaError{Schema: schema, Advice: "the database has a table otel_traces that is not Laxity's; name another database in the DSN, or read that table by 'laxity migrate --attach otel_traces'"}
			}
			// Neither table nor view of ours goes where theirs is.
			if err := m.Force(rawVersions); err != nil {
				return err
			}
		}
		return m.Up()
	})
}

// The first migrations make the tables of raw spans.
const (
	rawTable    = "otel_traces"
	rawVersions = 3
)

// Repair applies an interrupted migration again and then all that is missing.
func Repair(ctx context.Context, config Config) (Schema, error) {
	return run(ctx, config, func(m *migrate.Migrate, schema Schema) error {
		if schema.Dirty {
			if err := m.Force(before(schema.Version)); err != nil {
				return err
			}
			schema.Dirty = false
		}
		if err := schema.check(); err != nil {
			return err
		}
		return m.Up()
	})
}

// To migrates up or down to one version; 0 drops every table and what is in it.
func To(ctx context.Context, config Config, version uint) (Schema, error) {
	return run(ctx, config, func(m *migrate.Migrate, schema Schema) error {
		if err := schema.check(); err != nil {
			return err
		}
		if schema.ForeignRaw && version < rawVersions {
			return &SchemaError{Schema: schema, Advice: "the tables of raw spans are not Laxity's to drop; the least version of this database is 3"}
		}
		if version == 0 {
			return m.Down()
		}
		return m.Migrate(version)
	})
}

// before returns the version that comes before one, -1 for none, as golang-migrate counts.
func before(version uint) int {
	last := -1
	for _, v := range slices.Sorted(slices.Values(versions())) {
		if v >= version {
			break
		}
		last = int(v)
	}
	return last
}

// Status reads the state of the schema; a database that does not exist has version 0.
func Status(ctx context.Context, config Config) (Schema, error) {
	conn, _, err := open(config)
	if err != nil {
		return Schema{}, err
	}
	defer conn.Close()
	return status(ctx, conn)
}

func status(ctx context.Context, conn driver.Conn) (Schema, error) {
	schema := Schema{Latest: Latest()}
	rows, err := conn.Query(ctx, "SELECT version, dirty FROM "+versionTable+" ORDER BY sequence DESC LIMIT 1")
	if storage.IsMissing(err) {
		return schema, nil
	}
	if err != nil {
		return schema, fmt.Errorf("schema version: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var version int64
		var dirty uint8
		if err := rows.Scan(&version, &dirty); err != nil {
			return schema, fmt.Errorf("schema version: %w", err)
		}
		schema.Version, schema.Dirty = uint(max(version, 0)), dirty == 1
	}
	if err := rows.Err(); err != nil {
		if storage.IsMissing(err) {
			return schema, nil
		}
		return schema, fmt.Errorf("schema version: %w", err)
	}
	return schema, nil
}

// open connects to the database the DSN names.
func open(config Config) (driver.Conn, *clickhouse.Options, error) {
	options, err := (storage.Config{DSN: config.DSN, MaxExecutionTime: ddlLimit, MaxConnections: 4}).Options()
	if err != nil {
		return nil, nil, err
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, nil, fmt.Errorf("clickhouse: %w", err)
	}
	return conn, options, nil
}

// run applies change under the lock and returns the schema afterwards.
func run(ctx context.Context, config Config, change func(*migrate.Migrate, Schema) error) (Schema, error) {
	if err := (storage.Config{DSN: config.DSN}).Validate(); err != nil {
		return Schema{}, err
	}
	if err := config.Retention.Validate(); err != nil {
		return Schema{}, err
	}
	if err := storage.CheckServer(ctx, storage.Config{DSN: config.DSN}); err != nil {
		return Schema{}, err
	}
	if err := createDatabase(ctx, config); err != nil {
		return Schema{}, err
	}
	conn, options, err := open(config)
	if err != nil {
		return Schema{}, err
	}
	defer conn.Close()
	wait := config.LockWait
	if wait == 0 {
		wait = time.Minute
	}
	held, release, err := acquire(ctx, conn, wait)
	if err != nil {
		return Schema{}, err
	}
	defer release()
	schema, err := status(ctx, conn)
	if err != nil {
		return schema, err
	}
	if schema.ForeignRaw, err = foreignRaw(ctx, conn); err != nil {
		return schema, err
	}
	if err := migrateWith(held, config, options, schema, change); err != nil {
		return schema, err
	}
	if schema, err = status(ctx, conn); err != nil {
		return schema, err
	}
	if err := config.Retention.apply(held, conn, config.Cluster); err != nil {
		return schema, err
	}
	if err := withoutStatistics(held, conn, config.Cluster); err != nil {
		return schema, err
	}
	return schema, attach(held, config)
}

// foreignRaw reports whether otel_traces is there without the column that ours has.
func foreignRaw(ctx context.Context, conn driver.Conn) (bool, error) {
	var columns, ours uint64
	err := conn.QueryRow(ctx, "SELECT count(), countIf(name = 'IngestedAt') FROM system.columns WHERE database = currentDatabase() AND table = '"+
		rawTable+"'").Scan(&columns, &ours)
	if err != nil {
		return false, fmt.Errorf("raw spans: %w", err)
	}
	return columns > 0 && ours == 0, nil
}

// attach notes the table that somebody else owns.
func attach(ctx context.Context, config Config) error {
	if config.Attach == nil {
		return nil
	}
	db, err := storage.Open(storage.Config{DSN: config.DSN})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	table := *config.Attach
	table.Database = cmp.Or(table.Database, storage.Config{DSN: config.DSN}.Database())
	return db.Attach(ctx, table)
}

func migrateWith(ctx context.Context, config Config, options *clickhouse.Options, schema Schema, change func(*migrate.Migrate, Schema) error) error {
	source, err := iofs.New(files, ".")
	engine, cluster := "MergeTree", ""
	if config.Cluster != "" {
		cluster = text(config.Cluster)
		source, err = newClusterSource(config.Cluster, options.Auth.Database)
		// One table on all servers, whatever their shard.
		engine = "ReplicatedMergeTree('/clickhouse/tables/{uuid}/all', '{shard}-{replica}') ORDER BY sequence"
	}
	if err != nil {
		return fmt.Errorf("migration files: %w", err)
	}
	database, err := chdriver.WithInstance(clickhouse.OpenDB(options), &chdriver.Config{
		DatabaseName: options.Auth.Database, MigrationsTable: versionTable, MigrationsTableEngine: engine,
		ClusterName: cluster, MultiStatementEnabled: config.Cluster != "",
	})
	if err != nil {
		return fmt.Errorf("migration table: %w", err)
	}
	m, err := migrate.NewWithInstance("embedded", source, "clickhouse", database)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	defer m.Close()
	// The channel has room for one, so this never blocks; what runs is finished first.
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
	defer stop()
	if err := change(m, schema); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		var refused *SchemaError
		if errors.As(err, &refused) {
			return err
		}
		return fmt.Errorf("migrate: %w", err)
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// createDatabase creates the database if it is missing; where it exists no right to create one is needed.
func createDatabase(ctx context.Context, config Config) error {
	options, err := (storage.Config{DSN: config.DSN, MaxExecutionTime: ddlLimit}).Options()
	if err != nil {
		return err
	}
	name := options.Auth.Database
	options.Auth.Database = "default"
	conn, err := clickhouse.Open(options)
	if err != nil {
		return fmt.Errorf("clickhouse: %w", err)
	}
	defer conn.Close()
	var found uint64
	if err := conn.QueryRow(ctx, "SELECT count() FROM system.databases WHERE name = {name:String}",
		clickhouse.Named("name", name)).Scan(&found); err != nil {
		return fmt.Errorf("database %s: %w", name, err)
	}
	if found > 0 && config.Cluster == "" {
		return nil
	}
	if err := conn.Exec(ctx, createDatabaseSQL(name, config.Cluster)); err != nil {
		return fmt.Errorf("database %s: %w", name, err)
	}
	return nil
}

func createDatabaseSQL(name, cluster string) string {
	sql := "CREATE DATABASE IF NOT EXISTS " + quote(name)
	if cluster != "" {
		sql += " ON CLUSTER " + text(cluster)
	}
	return sql
}

func quote(identifier string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(identifier) + "`"
}
