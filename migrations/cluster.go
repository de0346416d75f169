package migrations

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/golang-migrate/migrate/v4/source"
)

// On a cluster every table becomes two: NAME_local on each server, replicated within its shard, and NAME, distributed over the
// shards by a hash of the trace, or of the first column of the order where a table knows no trace. The rest of the product uses
// NAME and cannot tell. Both come from the same files as the tables of a single server.
const localSuffix = "_local"

var (
	comments    = regexp.MustCompile(`(?m)^\s*--.*\n?`)
	createTable = regexp.MustCompile(`^CREATE TABLE IF NOT EXISTS (\w+)`)
	createView  = regexp.MustCompile(`^CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) TO (\w+) AS`)
	fromTable   = regexp.MustCompile(`\nFROM (\w+)`)
	alterTable  = regexp.MustCompile(`^ALTER TABLE (\w+)`)
	dropped     = regexp.MustCompile(`^DROP (TABLE|VIEW) IF EXISTS (\w+)`)
	keeps       = regexp.MustCompile(`ENGINE = (\w*MergeTree)(?:\(([^)]*)\))?`)
	orderedBy   = regexp.MustCompile(`ORDER BY \(?(\w+)`)
	traceColumn = regexp.MustCompile(`(?m)^\s+(trace_id|TraceId) `)
	// What only a table that keeps rows can do.
	keepersOnly = regexp.MustCompile(`\b(INDEX|TTL|SETTING|PROJECTION|STATISTICS|CODEC)\b`)
)

// onCluster returns the statements that do on a cluster what one statement does on a server.
func onCluster(statement, cluster, database string) ([]string, error) {
	statement = strings.TrimSpace(comments.ReplaceAllString(statement, ""))
	on := " ON CLUSTER " + text(cluster)
	if m := createTable.FindStringSubmatch(statement); m != nil {
		kept := keeps.FindStringSubmatch(statement)
		order := orderedBy.FindStringSubmatch(statement)
		if kept == nil || order == nil {
			return nil, fmt.Errorf("table %s: no engine of the MergeTree family, or no order", m[1])
		}
		key := order[1]
		if c := traceColumn.FindStringSubmatch(statement); c != nil {
			key = c[1]
		}
		arguments := "'/clickhouse/tables/{uuid}/{shard}', '{replica}'"
		if kept[2] != "" {
			arguments += ", " + kept[2]
		}
		local := strings.Replace(statement, m[0], m[0]+localSuffix+on, 1)
		local = strings.Replace(local, kept[0], "ENGINE = Replicated"+kept[1]+"("+arguments+")", 1)
		return []string{local, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s%s AS %s\nENGINE = Distributed(%s, %s, %s, cityHash64(%s))",
			m[1], on, m[1]+localSuffix, text(cluster), text(database), m[1]+localSuffix, key)}, nil
	}
	if m := createView.FindStringSubmatch(statement); m != nil {
		view := strings.Replace(statement, m[0], "CREATE MATERIALIZED VIEW IF NOT EXISTS "+m[1]+on+" TO "+m[2]+localSuffix+" AS", 1)
		return []string{fromTable.ReplaceAllString(view, "\nFROM ${1}"+localSuffix)}, nil
	}
	if m := alterTable.FindStringSubmatch(statement); m != nil {
		rest := strings.TrimPrefix(statement, m[0])
		all := []string{"ALTER TABLE " + m[1] + localSuffix + on + rest}
		if !keepersOnly.MatchString(rest) {
			all = append(all, "ALTER TABLE "+m[1]+on+rest)
		}
		return all, nil
	}
	if m := dropped.FindStringSubmatch(statement); m != nil {
		all := []string{"DROP " + m[1] + " IF EXISTS " + m[2] + on}
		if m[1] == "TABLE" {
			all = append(all, "DROP TABLE IF EXISTS "+m[2]+localSuffix+on)
		}
		return all, nil
	}
	first, _, _ := strings.Cut(statement, "\n")
	return nil, fmt.Errorf("a statement that has no form on a cluster: %s", first)
}

// text quotes a string of SQL.
func text(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }

// Statements returns what Up does to an empty database, in order, without what keeps account of it. Cluster may be empty.
func Statements(database, cluster string) ([]string, error) {
	all := []string{createDatabaseSQL(database, cluster)}
	names, err := fs.Glob(files, "*.up.sql")
	if err != nil {
		return nil, fmt.Errorf("migration files: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		statements, err := statementsOf(name, cluster, database)
		if err != nil {
			return nil, err
		}
		all = append(all, statements...)
	}
	return all, nil
}

func statementsOf(name, cluster, database string) ([]string, error) {
	content, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("migration files: %w", err)
	}
	if cluster == "" {
		return []string{strings.TrimSpace(string(content))}, nil
	}
	statements, err := onCluster(string(content), cluster, database)
	if err != nil {
		return nil, fmt.Errorf("migration %s: %w", name, err)
	}
	return statements, nil
}

// clusterSource gives golang-migrate the files as they are on a cluster.
type clusterSource struct {
	cluster, database string
	files             *source.Migrations
}

func newClusterSource(cluster, database string) (*clusterSource, error) {
	s := &clusterSource{cluster, database, source.NewMigrations()}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		m, err := source.DefaultParse(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.files.Append(m)
	}
	return s, nil
}

// Open is not used: the source is given as an instance.
func (s *clusterSource) Open(string) (source.Driver, error) { return s, nil }

// Close has nothing to close.
func (s *clusterSource) Close() error { return nil }

// First returns the first version.
func (s *clusterSource) First() (uint, error) { return found(s.files.First()) }

// Prev returns the version before one.
func (s *clusterSource) Prev(version uint) (uint, error) { return found(s.files.Prev(version)) }

// Next returns the version after one.
func (s *clusterSource) Next(version uint) (uint, error) { return found(s.files.Next(version)) }

func found(version uint, ok bool) (uint, error) {
	if !ok {
		return 0, os.ErrNotExist
	}
	return version, nil
}

// ReadUp returns the statements of a version.
func (s *clusterSource) ReadUp(version uint) (io.ReadCloser, string, error) {
	return s.read(s.files.Up(version))
}

// ReadDown returns the statements that take a version back.
func (s *clusterSource) ReadDown(version uint) (io.ReadCloser, string, error) {
	return s.read(s.files.Down(version))
}

func (s *clusterSource) read(m *source.Migration, ok bool) (io.ReadCloser, string, error) {
	if !ok {
		return nil, "", os.ErrNotExist
	}
	statements, err := statementsOf(m.Raw, s.cluster, s.database)
	if err != nil {
		return nil, "", err
	}
	return io.NopCloser(bytes.NewBufferString(strings.Join(statements, ";\n"))), m.Identifier, nil
}
