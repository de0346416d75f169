package storage

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/redact"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
)

// Attached is a table of raw spans in the stock layout that somebody else owns. It is read and never changed.
type Attached struct {
	Database, Table string
	// BudgetFrom are attributes of theirs that carry a budget.
	BudgetFrom []classify.BudgetFrom
	// Since is the start of the oldest spans that are read.
	Since time.Time

	classifier *classify.Classifier
	redactor   *redact.Redactor
}

// String names the table.
func (a *Attached) String() string { return a.Database + "." + a.Table }

func (a *Attached) parameters(more map[string]any) map[string]any {
	more["database"], more["table"] = a.Database, a.Table
	return more
}

// annotate does for a span of theirs what the collector does for one of ours: what it says about its budget is read before it is
// redacted.
func (a *Attached) annotate(s *span.Span) {
	a.classifier.Annotate(s)
	verdict.JudgeSpan(s).Annotate(s)
	if a.redactor != nil {
		a.redactor.Span(s)
	}
}

// BucketWidth is the length of what is read of an attached table at a time.
const BucketWidth = 10 * time.Second

// ForeignError says that a deletion is somebody else's to make.
type ForeignError struct{ Table string }

func (e *ForeignError) Error() string {
	return "the raw spans of this trace are in " + e.Table + ", which is not Laxity's to change; delete them there first, then here"
}

//go:embed queries/attached.sql
var attachedSQL string

// attachedFor bounds how long an attachment is remembered.
const attachedFor = 30 * time.Second

// Attached answers with the attached table, nil if there is none.
func (db *DB) Attached(ctx context.Context) (*Attached, error) {
	db.attached.Lock()
	defer db.attached.Unlock()
	if time.Since(db.attached.asked) < attachedFor {
		return db.attached.table, nil
	}
	var answer *Attached
	err := db.ask(ctx, attachedSQL, func(rows driver.Rows) error {
		var from []string
		var since int64
		answer = &Attached{redactor: db.redactor}
		if err := rows.Scan(&answer.Database, &answer.Table, &from, &since); err != nil {
			return err
		}
		answer.Since = time.Unix(since, 0).UTC()
		for _, text := range from {
			name, unit, _ := strings.Cut(text, "=")
			answer.BudgetFrom = append(answer.BudgetFrom, classify.BudgetFrom{Attribute: name, Unit: unit})
		}
		var err error
		answer.classifier, err = classify.New(classify.Config{BudgetFrom: answer.BudgetFrom, RulesFile: db.rules})
		return err
	}, nil)
	if err != nil && !IsMissing(err) {
		return nil, question("attached table", err)
	}
	db.attached.table, db.attached.asked = answer, time.Now()
	return answer, nil
}

// Attach notes the table whose raw spans are read from now on.
func (db *DB) Attach(ctx context.Context, a Attached) error {
	if err := db.checkLayout(ctx, &a); err != nil {
		return err
	}
	from := make([]string, len(a.BudgetFrom))
	for i, b := range a.BudgetFrom {
		from[i] = b.Attribute + "=" + b.Unit
	}
	db.attached.Lock()
	db.attached.asked = time.Time{}
	db.attached.Unlock()
	return question("attached table", db.insert(ctx, "attached", []column{
		{"name", "String", []string{string(SourceRaw)}},
		{"source_database", "String", []string{a.Database}},
		{"source_table", "String", []string{a.Table}},
		{"budget_from", "Array(String)", [][]string{from}},
		{"since", "Int64", []int64{a.Since.Unix()}},
	}))
}

// stockColumns are the columns that are read of a table in the stock layout.
var stockColumns = []string{
	"Timestamp", "TraceId", "SpanId", "ParentSpanId", "TraceState", "SpanName", "SpanKind", "ServiceName", "ResourceAttributes", "ScopeName",
	"SpanAttributes", "Duration", "StatusCode", "StatusMessage", "Events.Timestamp", "Events.Name", "Events.Attributes", "Links.TraceId",
	"Links.SpanId", "Links.Attributes",
}

//go:embed queries/attached_columns.sql
var attachedColumnsSQL string

// checkLayout refuses a table that is not there, is not in the stock layout, or is ours.
func (db *DB) checkLayout(ctx context.Context, a *Attached) error {
	types := map[string]string{}
	err := db.ask(ctx, attachedColumnsSQL, func(rows driver.Rows) error {
		var name, typ string
		err := rows.Scan(&name, &typ)
		types[name] = typ
		return err
	}, map[string]any{"database": a.Database, "table": a.Table})
	if err != nil {
		return question("columns of "+a.String(), err)
	}
	if len(types) == 0 {
		return fmt.Errorf("attach: there is no table %s, or this user may not see it; name it as DATABASE.TABLE", a)
	}
	if types["IngestedAt"] != "" && a.Database == db.database {
		return fmt.Errorf("attach: %s is Laxity's own table; it needs no attaching", a)
	}
	var missing []string
	for _, name := range stockColumns {
		if types[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("attach: %s lacks %s: it is not in the layout of the collector's ClickHouse exporter", a, strings.Join(missing, ", "))
	}
	for _, name := range []string{"ResourceAttributes", "SpanAttributes"} {
		if !strings.HasPrefix(types[name], "Map(") {
			return fmt.Errorf("attach: %s keeps %s as %s; only maps can be read, which the exporter writes without its setting json", a, name, types[name])
		}
	}
	return nil
}

// AttachedBucket is ten seconds of an attached table.
type AttachedBucket struct {
	At    int64 // seconds since 1970
	Spans uint64
}

//go:embed queries/attached_due.sql
var attachedDueSQL string

// AttachedDue answers with what of the window holds another number of spans than was read, newest first.
func (db *DB) AttachedDue(ctx context.Context, a *Attached, w Window, shard Shard) ([]AttachedBucket, error) {
	var answer []AttachedBucket
	err := db.ask(ctx, attachedDueSQL, func(rows driver.Rows) error {
		var b AttachedBucket
		err := rows.Scan(&b.At, &b.Spans)
		answer = append(answer, b)
		return err
	}, a.parameters(map[string]any{
		"source": a.String(), "from": w.From.Unix(), "to": w.To.Unix(), "shard": shard.Number - 1, "shards": shard.Of,
	}))
	return answer, question("spans due in "+a.String(), err)
}

//go:embed queries/attached_spans.sql
var attachedSpansSQL string

// AttachedSpans gives each span of the buckets to take, annotated as the collector does.
func (db *DB) AttachedSpans(ctx context.Context, a *Attached, buckets []int64, take func(*span.Span) error) error {
	if len(buckets) == 0 {
		return nil
	}
	reader := newRawReader()
	err := db.ask(ctx, attachedSpansSQL, func(rows driver.Rows) error {
		s, err := reader.read(rows)
		if err != nil {
			return err
		}
		a.annotate(&s)
		return take(&s)
	}, a.parameters(map[string]any{
		"from": slices.Min(buckets), "to": slices.Max(buckets) + int64(BucketWidth.Seconds()), "buckets": buckets,
	}))
	return question("spans of "+a.String(), err)
}

// SetAttached notes how many spans of each bucket were read.
func (db *DB) SetAttached(ctx context.Context, a *Attached, read map[int64]uint64) error {
	if len(read) == 0 {
		return nil
	}
	var sources []string
	var at []int64
	var spans []uint64
	for bucket, n := range read {
		sources, at, spans = append(sources, a.String()), append(at, bucket), append(spans, n)
	}
	return question("progress of "+a.String(), db.insert(ctx, "attached_buckets", []column{
		{"source", "String", sources}, {"at", "Int64", at}, {"spans", "UInt64", spans},
	}))
}

//go:embed queries/attached_has.sql
var attachedHasSQL string

// notForeign refuses to delete a trace whose raw spans somebody else keeps: what is deleted here would come back.
func (db *DB) notForeign(ctx context.Context, id span.TraceID) error {
	a, err := db.Attached(ctx)
	if a == nil || err != nil {
		return err
	}
	var spans uint64
	err = db.ask(ctx, attachedHasSQL, func(rows driver.Rows) error { return rows.Scan(&spans) }, a.parameters(map[string]any{"id": id.String()}))
	if err != nil {
		return question("raw spans of "+a.String(), err)
	}
	if spans > 0 {
		return &ForeignError{Table: a.String()}
	}
	return nil
}

// IsForeign reports whether the error is a ForeignError.
func IsForeign(err error) bool {
	var foreign *ForeignError
	return errors.As(err, &foreign)
}
