package worker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/redact"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// theirBudget is an attribute of somebody else's, in milliseconds.
const theirBudget = "app.timeout_ms"

var theirUnit = []classify.BudgetFrom{{Attribute: theirBudget, Unit: "ms"}}

// theirs changes traces to what an installation writes that does not know us: the entry's budget under another name.
func theirs(spans []span.Span) []span.Span {
	changed := slices.Clone(spans)
	for i := range changed {
		attrs := span.Attributes{}
		for key, value := range changed[i].Attrs {
			if key == budgetattr.BudgetReceivedKey {
				attrs[theirBudget] = fmt.Sprint(value.(float64) * 1000)
			} else {
				attrs[key] = value
			}
		}
		changed[i].Attrs = attrs
	}
	return changed
}

// stock makes a database with the contrib exporter's own table, which somebody else fills.
func stock(t *testing.T, engine *enginetest.Engine) *storagetest.Stock {
	t.Helper()
	ddl, err := os.ReadFile("testdata/stock_traces.sql")
	if err != nil {
		t.Fatal(err)
	}
	database := engine.NewDatabase(t)
	if _, err := engine.Query(strings.ReplaceAll(string(ddl), "stock.spans", database+".spans")); err != nil {
		t.Fatal(err)
	}
	return &storagetest.Stock{Engine: engine, Table: database + ".spans"}
}

func attachTo(t *testing.T, store *storagetest.Store, table string) {
	t.Helper()
	database, name, _ := strings.Cut(table, ".")
	_, err := migrations.Up(t.Context(), migrations.Config{DSN: store.DSN(), Attach: &storage.Attached{
		Database: database, Table: name, BudgetFrom: theirUnit,
		Since: time.Now().Add(-20 * 24 * time.Hour),
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// described is all that says what a table is.
func described(t *testing.T, engine *enginetest.Engine, table string) string {
	t.Helper()
	database, _, _ := strings.Cut(table, ".")
	out, err := engine.Query("SELECT name, create_table_query, total_rows FROM system.tables WHERE database = '" + database + "' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// From a table that somebody else fills, the worker reaches the rows that it reaches from our own collector, in whatever order
// and however late spans arrive, and wherever it ends.
func TestAttached(t *testing.T) {
	engine := enginetest.Start(t)
	spans := manyTraces(60)
	reference := storagetest.OpenOn(t, engine)
	reference.Collector.BudgetFrom = theirUnit
	reference.Insert(t, theirs(spans)...)
	passes(t, on(t, reference))
	want := dump(t, reference)
	const hops = "SELECT * EXCEPT (version, ingested_at) FROM hops FINAL ORDER BY ALL"
	wantHops := count(t, reference, hops)

	t.Run("the same rows", func(t *testing.T) {
		table := stock(t, engine)
		table.Insert(t, theirs(spans)...)
		before := described(t, engine, table.Table)
		store := storagetest.OpenOn(t, engine)
		attachTo(t, store, table.Table)
		w := on(t, store)
		passes(t, w)
		same(t, store, strings.ReplaceAll(want, reference.Database, store.Database))
		if got := count(t, store, hops); got != wantHops {
			g, w := strings.Split(got, "\n"), strings.Split(wantHops, "\n")
			for i := range w {
				if i >= len(g) || g[i] != w[i] {
					t.Errorf("%d hops, want %d; the first that differs:\n%s\nwant\n%s", len(g), len(w), g[min(i, len(g)-1)], w[i])
					break
				}
			}
		}
		passes(t, on(t, store)) // a new process counts again
		if got := count(t, store, "SELECT count() FROM hops"); got != count(t, store, "SELECT count() FROM hops FINAL") {
			t.Errorf("%s hops: what did not change was read again", got)
		}
		if after := described(t, engine, table.Table); after != before {
			t.Errorf("their database was changed:\n%s\nbefore\n%s", after, before)
		}
		// A statement reads their raw spans, with the spans inside a process.
		traces, err := store.Traces(t.Context(), []span.TraceID{spans[0].Trace}, 100)
		if err != nil || len(traces) != 1 || traces[spans[0].Trace].Source != storage.SourceRaw {
			t.Fatalf("%v, %v", traces, err)
		}
		if s := traces[spans[0].Trace].Spans[0]; s.Attrs[budgetattr.BudgetReceivedKey] != 1.0 {
			t.Errorf("the statement does not see their budget: %v", s.Attrs)
		}
		if err := store.DeleteTrace(t.Context(), spans[0].Trace); !storage.IsForeign(err) {
			t.Errorf("deletion of what is theirs: %v", err)
		}
		if after := described(t, engine, table.Table); after != before {
			t.Errorf("their database was changed by a deletion:\n%s", after)
		}
	})
	t.Run("late, twice, with a worker that ends at any statement", func(t *testing.T) {
		table := stock(t, engine)
		store := storagetest.OpenOn(t, engine)
		attachTo(t, store, table.Table)
		mixed := theirs(spans)
		random := rand.New(rand.NewPCG(7, 8))
		random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		errKilled := errors.New("killed")
		for batch := range slices.Chunk(mixed, len(mixed)/2) {
			table.Insert(t, batch...)
			table.Insert(t, batch[:len(batch)/3]...)
			for n := 0; ; n++ {
				w := on(t, store)
				left := n + random.IntN(3)
				if n > 10 {
					left = 1000
				}
				w.before = func(string) error {
					if left--; left < 0 {
						return errKilled
					}
					return nil
				}
				err := w.PassNow(t.Context())
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
			}
		}
		same(t, store, strings.ReplaceAll(want, reference.Database, store.Database))
	})
	t.Run("in our own database", func(t *testing.T) {
		database := engine.NewDatabase(t)
		ddl, err := os.ReadFile("testdata/stock_traces.sql")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Query(strings.ReplaceAll(string(ddl), "stock.spans", database+".otel_traces")); err != nil {
			t.Fatal(err)
		}
		dsn := engine.DSN(database)
		if _, err := migrations.Up(t.Context(), migrations.Config{DSN: dsn}); err == nil || !strings.Contains(err.Error(), "--attach") {
			t.Fatalf("tables were made around one of theirs: %v", err)
		}
		table := &storagetest.Stock{Engine: engine, Table: database + ".otel_traces"}
		table.Insert(t, theirs(spans)...)
		db, err := storage.Open(storage.Config{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		store := &storagetest.Store{DB: db, Engine: engine, Database: database}
		attachTo(t, store, table.Table)
		passes(t, on(t, store))
		same(t, store, strings.ReplaceAll(want, reference.Database, database))
		if got := count(t, store, "SELECT count() FROM otel_traces"); got != fmt.Sprint(len(spans)) {
			t.Errorf("%s of their spans are left of %d", got, len(spans))
		}
		out, err := engine.Query("SELECT groupArray(name) FROM system.tables WHERE database = '" + database + "' AND (engine = 'MaterializedView' OR name LIKE 'otel_traces_%')")
		if err != nil || strings.TrimSpace(out) != "[]" {
			t.Errorf("views and tables on theirs: %s, %v", out, err)
		}
		// Later runs leave it alone, and so does the way back.
		if _, err := migrations.Up(t.Context(), migrations.Config{DSN: dsn}); err != nil {
			t.Error(err)
		}
		if _, err := migrations.To(t.Context(), migrations.Config{DSN: dsn}, 0); err == nil {
			t.Error("their table was dropped")
		}
	})
	t.Run("what cannot be attached", func(t *testing.T) {
		store := storagetest.OpenOn(t, engine)
		for table, want := range map[string]string{
			"nowhere.spans":                    "there is no table",
			store.Database + ".otel_traces":    "own table",
			store.Database + ".schema_version": "there is no table",
			store.Database + ".hops":           "lacks Timestamp",
		} {
			database, name, _ := strings.Cut(table, ".")
			_, err := migrations.Up(t.Context(), migrations.Config{DSN: store.DSN(), Attach: &storage.Attached{Database: database, Table: name}})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", table, err, want)
			}
		}
	})
}

// A span inside a process that arrives late, alone in its ten seconds, changes what is known of its trace.
func TestAttachedLateInnerSpan(t *testing.T) {
	engine := enginetest.Start(t)
	table := stock(t, engine)
	store := storagetest.OpenOn(t, engine)
	attachTo(t, store, table.Table)
	trace := theirs(traceOf(1))
	inner := innerOf(trace[0], -time.Minute)
	trace[1].Parent = inner.ID // its call is under it
	table.Insert(t, trace...)
	w := on(t, store)
	passes(t, w)
	if got := count(t, store, incompleteFindings); got != "1" {
		t.Fatalf("%s findings without the inner span", got)
	}
	table.Insert(t, inner)
	passes(t, w)
	if got := count(t, store, incompleteFindings); got != "0" {
		t.Errorf("%s findings with the inner span", got)
	}
}

// What the collector would do by its settings, the worker does for spans that it reads itself: users' rows tell why a call ended,
// and what is redacted is in no table of ours and in no statement.
func TestAttachedByUsersSettings(t *testing.T) {
	engine := enginetest.Start(t)
	table := stock(t, engine)
	store := storagetest.OpenOn(t, engine)
	attachTo(t, store, table.Table)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("rules:\n  - {type: acme.Gone, rule: acme_gone, cause: local_deadline}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := storage.Open(storage.Config{DSN: store.DSN(), MaxExecutionTime: 5 * time.Minute, ClassifyRules: rules, Redact: redact.Config{
		Keys: []redact.Key{{Pattern: "user.*", Action: redact.Drop}}, Values: []string{"card [0-9]{4}"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	store = &storagetest.Store{DB: db, Engine: engine, Database: store.Database}

	spans := theirs(traceOf(1))
	for i := range spans {
		s := &spans[i]
		s.Name += " card 4711"
		s.Attrs["user.mail"], s.Attrs[budgetattr.StageKey] = "sesame", "charge card 4711"
		if s.Kind == span.KindClient {
			s.Status, s.StatusMessage = span.StatusError, "card 4711 refused"
			delete(s.Attrs, budgetattr.CancelCauseKey)
			s.Attrs["error.type"] = "acme.Gone"
		}
	}
	table.Insert(t, spans...)
	passes(t, on(t, store))
	if got := count(t, store, "SELECT DISTINCT cancel_cause, inferred_rule FROM hops FINAL WHERE kind = 'Client'"); got != "local_deadline\tacme_gone" {
		t.Errorf("calls were classified %q, not by the row of the user", got)
	}
	for _, name := range []string{"hops", "verdicts", "accounts"} {
		if got := count(t, store, "SELECT count() > 0, countIf(match(toString(tuple(*)), 'sesame|4711')) FROM "+name); got != "1\t0" {
			t.Errorf("%s: rows, and rows with what is redacted: %s", name, got)
		}
	}
	traces, err := db.Traces(t.Context(), []span.TraceID{spans[0].Trace}, 100)
	if err != nil || traces[spans[0].Trace] == nil {
		t.Fatal(traces, err)
	}
	if text := fmt.Sprint(traces[spans[0].Trace].Spans); strings.Contains(text, "4711") || strings.Contains(text, "sesame") {
		t.Errorf("a statement shows what is redacted: %s", text)
	}
}

// innerOf is what a span does by itself, a while after it began and to its end: no hop.
func innerOf(of span.Span, after time.Duration) span.Span {
	inner := of
	inner.ID, inner.Parent, inner.Kind, inner.Name, inner.Attrs = span.ID{9}, of.ID, span.KindInternal, "work", span.Attributes{}
	inner.Start += int64(after)
	return inner
}
