package migrations

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/laxity-dev/laxity/engine/enginetest"
)

// The engine reads every statement of the cluster's form, and finds in it what a cluster needs.
func TestClusterStatements(t *testing.T) {
	engine := enginetest.Start(t)
	single, err := Statements("laxity", "")
	if err != nil {
		t.Fatal(err)
	}
	up, err := Statements("laxity", "it's main")
	if err != nil {
		t.Fatal(err)
	}
	down := takeBack(t)
	for _, statement := range append(up, down...) {
		formatted, err := format(t, engine, statement)
		if err != nil {
			t.Errorf("%v\n%s", err, statement)
			continue
		}
		if !strings.Contains(formatted, " ON CLUSTER ") {
			t.Errorf("for one server only:\n%s", statement)
		}
	}
	all := strings.Join(up, "\n")
	for _, want := range []string{
		"CREATE TABLE IF NOT EXISTS hops_local ON CLUSTER",
		"ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}', version, is_deleted)",
		"ENGINE = ReplicatedMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')",
		"ENGINE = Distributed('it\\'s main', 'laxity', hops_local, cityHash64(trace_id))",
		"ENGINE = Distributed('it\\'s main', 'laxity', otel_traces_local, cityHash64(TraceId))",
		"ENGINE = Distributed('it\\'s main', 'laxity', rollup_1m_local, cityHash64(service))",
		"TO otel_traces_trace_id_ts_local AS",
		"FROM otel_traces_local",
		"ALTER TABLE verdicts_local ON CLUSTER",
		"ALTER TABLE verdicts ON CLUSTER",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q", want)
		}
	}
	// One source: every table of a single server is there twice, and every statement once or twice.
	tables := regexp.MustCompile(`CREATE TABLE IF NOT EXISTS (\w+)`)
	for _, statement := range single {
		if m := tables.FindStringSubmatch(statement); m != nil && strings.Count(all, "IF NOT EXISTS "+m[1]+" ON CLUSTER")+strings.Count(all, "IF NOT EXISTS "+m[1]+"_local ON CLUSTER") != 2 {
			t.Errorf("table %s is not there as a distributed and a local one", m[1])
		}
	}
}

// The statements of the cluster's form run one after the other, on one server that stands for every: with keepers that are not
// replicated, and a table without rows for what is distributed. After each migration both tables of a pair have the same columns.
func TestClusterTablesAgree(t *testing.T) {
	engine := enginetest.Start(t)
	database := engine.NewDatabase(t)
	statements, err := Statements(database, "main")
	if err != nil {
		t.Fatal(err)
	}
	alone := strings.NewReplacer(" ON CLUSTER 'main'", "", "'/clickhouse/tables/{uuid}/{shard}', '{replica}', ", "",
		"'/clickhouse/tables/{uuid}/{shard}', '{replica}'", "", "ENGINE = Replicated", "ENGINE = ")
	distributed := regexp.MustCompile(`ENGINE = Distributed\(.*\)`)
	name := regexp.MustCompile(`\b(CREATE TABLE IF NOT EXISTS|CREATE MATERIALIZED VIEW IF NOT EXISTS|ALTER TABLE|TO|FROM|AS|VIEW IF EXISTS|TABLE IF EXISTS) ([a-z]\w*)`)
	for _, statement := range statements {
		if strings.Contains(statement, "schema_migrations") {
			continue
		}
		sql := name.ReplaceAllString(distributed.ReplaceAllString(alone.Replace(statement), "ENGINE = Null"), "${1} "+database+".${2}")
		if _, err := engine.Query(sql); err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
	}
	out, err := engine.Query("SELECT table, toString(groupArray((name, type, default_kind, default_expression))) FROM (SELECT * FROM system.columns WHERE database = '" +
		database + "' ORDER BY table, position) GROUP BY table FORMAT TSVRaw")
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string]string{}
	for line := range strings.Lines(out) {
		table, list, _ := strings.Cut(line, "\t")
		columns[table] = list
	}
	pairs := 0
	for table, list := range columns {
		whole, local := strings.CutSuffix(table, localSuffix)
		if !local {
			continue
		}
		pairs++
		if columns[whole] != list {
			t.Errorf("%s has the columns\n%s\n%s has\n%s", whole, columns[whole], table, list)
		}
	}
	if pairs < 10 {
		t.Errorf("%d pairs of tables", pairs)
	}
}

func takeBack(t *testing.T) (all []string) {
	t.Helper()
	source, err := newClusterSource("it's main", "laxity")
	if err != nil {
		t.Fatal(err)
	}
	version, err := source.First()
	for err == nil {
		down, _, readErr := source.ReadDown(version)
		if readErr != nil {
			t.Fatalf("version %d: %v", version, readErr)
		}
		text, readErr := io.ReadAll(down)
		if readErr != nil {
			t.Fatal(readErr)
		}
		all = append(all, strings.Split(string(text), ";\n")...)
		version, err = source.Next(version)
	}
	if version != Latest() && len(all) < int(Latest()) {
		t.Errorf("%d statements down to version %d", len(all), Latest())
	}
	return all
}

// format lets the engine parse a statement.
func format(t *testing.T, engine *enginetest.Engine, statement string) (string, error) {
	t.Helper()
	if strings.Contains(statement, ";") {
		t.Errorf("golang-migrate would cut this:\n%s", statement)
	}
	return engine.Query("SELECT formatQuerySingleLine(" + text(statement) + ") FORMAT TSVRaw")
}

func TestStatementsWithoutAFormOnAClusterAreErrors(t *testing.T) {
	for _, statement := range []string{"INSERT INTO hops SELECT 1", "CREATE TABLE IF NOT EXISTS a (x Int64) ENGINE = Memory"} {
		if all, err := onCluster(statement, "main", "laxity"); err == nil {
			t.Errorf("%s became %v", statement, all)
		}
	}
	all, err := onCluster("-- why\nALTER TABLE hops ADD INDEX IF NOT EXISTS i x TYPE minmax", "main", "laxity")
	if err != nil || len(all) != 1 || all[0] != "ALTER TABLE hops_local ON CLUSTER 'main' ADD INDEX IF NOT EXISTS i x TYPE minmax" {
		t.Errorf("%v, %v", all, err)
	}
}
