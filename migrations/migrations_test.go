package migrations

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/hop"
)

var engine *enginetest.Engine

const childVariable = "LAXITY_TEST_MIGRATE"

func TestMain(m *testing.M) {
	// A child of the tests of the lock: migrate, say how it went, and for "hold" keep the lock until the input ends.
	if dsn := os.Getenv(childVariable); dsn != "" {
		os.Exit(child(dsn))
	}
	dir, err := os.MkdirTemp("", "laxity-migrations")
	if err != nil {
		panic(err)
	}
	if engine, err = enginetest.New(enginetest.Options{Data: dir}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	engine.Kill()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func child(dsn string) int {
	if dsn, hold := strings.CutPrefix(dsn, "hold "); hold {
		conn, _, err := open(Config{DSN: dsn})
		if err == nil {
			_, _, err = acquire(context.Background(), conn, time.Second)
		}
		fmt.Println("held", err)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		return 0
	}
	schema, err := Up(context.Background(), Config{DSN: dsn})
	fmt.Println(schema.Version, err)
	return 0
}

// database returns the configuration of a database that does not exist yet.
func database(t *testing.T) Config {
	t.Helper()
	name := strings.ToLower(regexp.MustCompile(`\W`).ReplaceAllString(t.Name(), "_"))
	t.Cleanup(func() { _, _ = engine.Query("DROP DATABASE IF EXISTS " + name) })
	return Config{DSN: engine.DSN(name)}
}

// tables returns what SHOW TABLES and the columns say, without the runner's own tables.
func tables(t *testing.T, c Config) string {
	t.Helper()
	name := strings.ToLower(regexp.MustCompile(`\W`).ReplaceAllString(t.Name(), "_"))
	out, err := engine.Query(`SELECT table, name, type, default_kind, is_in_sorting_key FROM system.columns WHERE database = '` + name + `'
		AND NOT startsWith(table, 'schema_') ORDER BY table, position`)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func up(t *testing.T, c Config) Schema {
	t.Helper()
	schema, err := Up(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func to(t *testing.T, c Config, version uint) {
	t.Helper()
	schema, err := To(t.Context(), c, version)
	if err != nil {
		t.Fatal(err)
	}
	if schema.Version != version {
		t.Fatalf("version %d, want %d", schema.Version, version)
	}
}

func TestUpDownAndUpAgain(t *testing.T) {
	c := database(t)
	if schema := up(t, c); schema.Version != Latest() || schema.Dirty {
		t.Fatalf("schema %+v", schema)
	}
	first := tables(t, c)
	up(t, c)
	if got := tables(t, c); got != first {
		t.Error("a second run changed the tables")
	}
	to(t, c, 0)
	if got := tables(t, c); got != "" {
		t.Errorf("left after going down:\n%s", got)
	}
	up(t, c)
	if got := tables(t, c); got != first {
		t.Errorf("up again:\n%s\nwant\n%s", got, first)
	}
}

func TestUpFromEveryPrefix(t *testing.T) {
	c := database(t)
	up(t, c)
	whole := tables(t, c)
	for _, version := range versions() {
		to(t, c, version)
		up(t, c)
		if got := tables(t, c); got != whole {
			t.Errorf("from version %d:\n%s", version, got)
		}
	}
}

func TestEveryStatementCanBeRepeated(t *testing.T) {
	c := database(t)
	up(t, c)
	whole := tables(t, c)
	conn, _, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	names, _ := fs.Glob(files, "*.up.sql")
	for _, name := range names {
		statement, _ := fs.ReadFile(files, name)
		if err := conn.Exec(t.Context(), string(statement)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(regexp.MustCompile(`(?m)^--.*$`).ReplaceAllString(string(statement), ""), ";") {
			t.Errorf("%s holds more than one statement", name)
		}
	}
	if got := tables(t, c); got != whole {
		t.Error("repeating the statements changed the tables")
	}
}

func TestDirtyIsRefusedAndRepaired(t *testing.T) {
	c := database(t)
	up(t, c)
	to(t, c, 3)
	conn, _, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s VALUES (4, 1, %d)", versionTable, time.Now().UnixNano())); err != nil {
		t.Fatal(err)
	}
	_, err = Up(t.Context(), c)
	var refused *SchemaError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "laxity migrate --repair") {
		t.Fatalf("dirty schema: %v", err)
	}
	if schema, err := Repair(t.Context(), c); err != nil || schema.Dirty || schema.Version != Latest() {
		t.Fatalf("repair: %+v, %v", schema, err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	c := database(t)
	up(t, c)
	conn, _, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s VALUES (%d, 0, %d)", versionTable, Latest()+1, time.Now().UnixNano())); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(context.Context, Config) (Schema, error){"up": Up, "repair": Repair} {
		if _, err := run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "newer laxity") {
			t.Errorf("%s of a newer schema: %v", name, err)
		}
	}
}

func TestProcessesMigrateOneAfterTheOther(t *testing.T) {
	c := database(t)
	const processes = 4
	outputs := make(chan string, processes)
	for range processes {
		go func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childVariable+"="+c.DSN)
			out, err := cmd.CombinedOutput()
			if err != nil {
				out = fmt.Appendf(out, "%v", err)
			}
			outputs <- string(out)
		}()
	}
	want := fmt.Sprintf("%d <nil>\n", Latest())
	for range processes {
		if out := <-outputs; out != want {
			t.Errorf("a process said %q, want %q", out, want)
		}
	}
	conn, _, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var applied uint64
	if err := conn.QueryRow(t.Context(), "SELECT count() FROM "+versionTable).Scan(&applied); err != nil {
		t.Fatal(err)
	}
	if applied != 2*uint64(len(versions())) { // each is marked dirty, then clean
		t.Errorf("%d marks for %d migrations: some were applied twice", applied, len(versions()))
	}
}

func TestLockOfAnotherProcess(t *testing.T) {
	c := database(t)
	up(t, c)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=hold "+c.DSN)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held <nil>\n" {
		t.Fatalf("the other process said %q", line)
	}
	short := c
	short.LockWait = 300 * time.Millisecond
	_, err = Up(t.Context(), short)
	var locked *LockedError
	if !errors.As(err, &locked) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", cmd.Process.Pid)) {
		t.Fatalf("while another process holds the lock: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := Up(t.Context(), short); err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
}

func TestStaleHolder(t *testing.T) {
	other := generation{number: 1, holder: "host elsewhere pid 1 renewal 0"}
	if !other.taken() {
		t.Error("a holder on another host must count")
	}
	if other.age = lease; other.taken() {
		t.Error("a holder that did not renew for a lease must not count")
	}
	if (generation{number: 3, holder: freeMarker}).taken() || (generation{}).taken() {
		t.Error("a free lock counts as taken")
	}
}

func TestRetention(t *testing.T) {
	c := database(t)
	up(t, c)
	c.Retention = Retention{Raw: 48 * time.Hour, Hops: 240 * time.Hour}
	up(t, c)
	out, err := engine.Query("SELECT name, extract(engine_full, 'TTL (.*?) SETTINGS') FROM system.tables WHERE database = 'testretention' AND engine_full LIKE '%TTL%' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	want := `accounts	toDateTime(ingested_at) + toIntervalSecond(7776000)
alert_history	toDateTime(ingested_at) + toIntervalSecond(7776000)
alert_leases	toDateTime(ingested_at) + toIntervalSecond(604800)
alert_minutes	toDateTime(ingested_at) + toIntervalSecond(691200)
alert_states	toDateTime(ingested_at) + toIntervalSecond(7776000)
hops	toDateTime(ingested_at) + toIntervalSecond(864000)
limits	toDateTime(ingested_at) + toIntervalSecond(7776000)
markers	toDateTime(ingested_at) + toIntervalSecond(69120000)
offsets	toDateTime(ingested_at) + toIntervalSecond(7776000)
otel_traces	IngestedAt + toIntervalSecond(172800)
otel_traces_trace_id_ts	IngestedAt + toIntervalSecond(172800)
quarantine	toDateTime(ingested_at) + toIntervalSecond(2592000)
rollup_1d	toDateTime(ingested_at) + toIntervalSecond(69120000)
rollup_1h	toDateTime(ingested_at) + toIntervalSecond(7776000)
rollup_1m	toDateTime(ingested_at) + toIntervalSecond(604800)
silences	toDateTime(ingested_at) + toIntervalSecond(69120000)
tally_1d	toDateTime(ingested_at) + toIntervalSecond(69120000)
tally_1h	toDateTime(ingested_at) + toIntervalSecond(7776000)
tally_5m	toDateTime(ingested_at) + toIntervalSecond(604800)
trace_extents	ingested_at + toIntervalSecond(864000)
verdicts	toDateTime(ingested_at) + toIntervalSecond(7776000)
`
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	c.Retention.Raw = time.Minute
	if _, err := Up(t.Context(), c); err == nil {
		t.Error("a retention of a minute was taken")
	}
}

func TestHopsHasAColumnForEveryFact(t *testing.T) {
	c := database(t)
	up(t, c)
	have := map[string]string{}
	for line := range strings.SplitSeq(tables(t, c), "\n") {
		if f := strings.Split(line, "\t"); f[0] == "hops" {
			have[f[1]] = f[2]
		}
	}
	types := map[hop.Type]string{hop.Nanoseconds: "Nullable(Int64)", hop.Count: "Nullable(Int64)", hop.Number: "Nullable(Float64)",
		hop.Flag: "Nullable(Bool)", hop.Code: "LowCardinality(String)", hop.Text: "String"}
	for _, f := range hop.Facts {
		if have[f.Column] != types[f.Type] {
			t.Errorf("column %s is %q, want %q", f.Column, have[f.Column], types[f.Type])
		}
	}
}
