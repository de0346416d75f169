package storage

import (
	"context"
	_ "embed"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/span"
)

// AccountKey is what makes two rows the same account.
type AccountKey struct {
	Service, Route string
	Start          int64 // of the entry, nanoseconds since 1970
	Trace          span.TraceID
	Span           span.ID
	Kind           string
}

// Account is what one entry of a trace was granted and what it was spent on, as a row of accounts.
type Account struct {
	AccountKey
	// Holder: the account of the trace as a whole.
	Holder                                              bool
	Weight                                              float64
	Environment, Version, Channel, PayloadClass, Region string
	Sample, Complete                                    bool
	Duration                                            int64 // nanoseconds
	Budget, Margin                                      *int64
	Outcome, Class                                      string
	Answered, Late, Exhausted                           bool
	FirstViolation                                      string
	Rules                                               []string
	Spent                                               []Spent
	Services, Stages, Peers, Causes, Phases             []string // of a holder
}

// Place is a kind of debit, and for hops where they went.
type Place struct{ Kind, Stage, Peer string }

// Spent sums the debits of one place, in nanoseconds. Calls counts its hops, Degraded those that were not run.
type Spent struct {
	Place
	Amount          int64
	Calls, Degraded uint32
}

//go:embed queries/accounts_of.sql
var accountsOfSQL string

// AnyTime is a window that holds every account.
var AnyTime = Window{From: time.Unix(0, 0), To: time.Unix(0, math.MaxInt64)}

// AccountKeys answers with the accounts that are kept of some traces. Entries start in the window; a narrow one is cheap.
func (db *DB) AccountKeys(ctx context.Context, ids []span.TraceID, w Window) ([]AccountKey, error) {
	var answer []AccountKey
	if len(ids) == 0 {
		return answer, nil
	}
	parameters := w.parameters()
	parameters["ids"] = hexIDs(ids)
	err := db.ask(ctx, accountsOfSQL, func(rows driver.Rows) error {
		var k AccountKey
		var trace, id string
		if err := rows.Scan(&k.Service, &k.Route, &k.Start, &trace, &id, &k.Kind); err != nil {
			return err
		}
		var err error
		if k.Trace, err = span.ParseTraceID(trace); err != nil {
			return err
		}
		if k.Span, err = span.ParseID(id); err != nil {
			return err
		}
		answer = append(answer, k)
		return nil
	}, parameters)
	return answer, question("accounts", err)
}

// WriteAccounts writes accounts and takes back those that are no longer drawn, in one insert.
func (db *DB) WriteAccounts(ctx context.Context, hold []Account, taken []AccountKey) error {
	rows := make([]Account, 0, len(hold)+len(taken))
	for _, key := range taken {
		rows = append(rows, Account{AccountKey: key})
	}
	rows = append(rows, hold...)
	if len(rows) == 0 {
		return nil
	}
	deleted := make([]uint8, len(rows))
	for i := range taken {
		deleted[i] = 1
	}
	text := func(f func(*Account) string) []string { return each(rows, f) }
	flag := func(f func(*Account) bool) []bool { return each(rows, f) }
	list := func(f func(*Account) []string) [][]string {
		return each(rows, func(a *Account) []string { return append([]string{}, f(a)...) })
	}
	spent := func(f func(*Spent) string) [][]string {
		return each(rows, func(a *Account) []string { return each(a.Spent, f) })
	}
	return question("accounts", db.insert(ctx, "accounts", []column{
		{"service", "String", text(func(a *Account) string { return a.Service })},
		{"route", "String", text(func(a *Account) string { return a.Route })},
		{"ts", "DateTime64(9, 'UTC')", each(rows, func(a *Account) time.Time { return time.Unix(0, a.Start).UTC() })},
		{"trace_id", "FixedString(16)", text(func(a *Account) string { return string(a.Trace[:]) })},
		{"span_id", "FixedString(8)", text(func(a *Account) string { return string(a.Span[:]) })},
		{"kind", "String", text(func(a *Account) string { return a.Kind })},
		{"holder", "Bool", flag(func(a *Account) bool { return a.Holder })},
		{"weight", "Float64", each(rows, func(a *Account) float64 { return a.Weight })},
		{"environment", "String", text(func(a *Account) string { return a.Environment })},
		{"service_version", "String", text(func(a *Account) string { return a.Version })},
		{"channel", "String", text(func(a *Account) string { return a.Channel })},
		{"payload_class", "String", text(func(a *Account) string { return a.PayloadClass })},
		{"region", "String", text(func(a *Account) string { return a.Region })},
		{"sample", "Bool", flag(func(a *Account) bool { return a.Sample })},
		{"complete", "Bool", flag(func(a *Account) bool { return a.Complete })},
		{"duration_ns", "Int64", each(rows, func(a *Account) int64 { return a.Duration })},
		{"budget_ns", "Nullable(Int64)", each(rows, func(a *Account) *int64 { return a.Budget })},
		{"margin_ns", "Nullable(Int64)", each(rows, func(a *Account) *int64 { return a.Margin })},
		{"outcome", "String", text(func(a *Account) string { return a.Outcome })},
		{"class", "String", text(func(a *Account) string { return a.Class })},
		{"answered", "Bool", flag(func(a *Account) bool { return a.Answered })},
		{"late", "Bool", flag(func(a *Account) bool { return a.Late })},
		{"exhausted", "Bool", flag(func(a *Account) bool { return a.Exhausted })},
		{"first_violation", "String", text(func(a *Account) string { return a.FirstViolation })},
		{"rules", "Array(String)", list(func(a *Account) []string { return a.Rules })},
		{"spent.kind", "Array(String)", spent(func(s *Spent) string { return s.Kind })},
		{"spent.stage", "Array(String)", spent(func(s *Spent) string { return s.Stage })},
		{"spent.peer", "Array(String)", spent(func(s *Spent) string { return s.Peer })},
		{"spent.ns", "Array(Int64)", each(rows, func(a *Account) []int64 { return each(a.Spent, func(s *Spent) int64 { return s.Amount }) })},
		{"spent.calls", "Array(UInt32)", each(rows, func(a *Account) []uint32 { return each(a.Spent, func(s *Spent) uint32 { return s.Calls }) })},
		{"spent.degraded", "Array(UInt32)", each(rows, func(a *Account) []uint32 { return each(a.Spent, func(s *Spent) uint32 { return s.Degraded }) })},
		{"services", "Array(String)", list(func(a *Account) []string { return a.Services })},
		{"stages", "Array(String)", list(func(a *Account) []string { return a.Stages })},
		{"peers", "Array(String)", list(func(a *Account) []string { return a.Peers })},
		{"causes", "Array(String)", list(func(a *Account) []string { return a.Causes })},
		{"phases", "Array(String)", list(func(a *Account) []string { return a.Phases })},
		{"is_deleted", "UInt8", deleted},
	}))
}
