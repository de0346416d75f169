package storage

import (
	"context"
	_ "embed"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/span"
)

// SearchQuestion asks for entry spans whose traces may fit. Empty texts and nil match any.
type SearchQuestion struct {
	Window
	// Of the entry.
	Service, Route string
	EntryFilter
	Exhausted, Answered *bool
	// Of how long the entry took, exclusive.
	DurationLess, DurationMore *time.Duration
	// Not names values that a trace must not have.
	Not Exclusions
	// Of one span anywhere in the trace that fits all of them.
	Stage, Peer, Cause, Phase string
	// Places, if not nil, are calls of which the trace has one.
	Places []CallPlace
	// Rule is a finding of the trace, as a worker judged it until Judged; traces of which something arrived later come too.
	Rule   string
	Judged time.Time
	// Before is where the previous page ended; the zero value means at the end of the window.
	Before Entry
	Limit  int
}

// Exclusions are values that are left out. In a search they leave a trace out: of its entry, of its findings, and of any of its spans. In
// a report they leave out what its rows are made of.
type Exclusions struct {
	Services, Routes, Environments, Versions, Outcomes, Classes []string
	Rules                                                       []string
	Stages, Peers, Causes, Phases                               []string
}

func (e Exclusions) add(parameters map[string]any) {
	for name, values := range map[string][]string{
		"service": e.Services, "route": e.Routes, "environment": e.Environments, "version": e.Versions, "outcome": e.Outcomes, "class": e.Classes,
		"rule": e.Rules, "stage": e.Stages, "peer": e.Peers, "cause": e.Causes, "phase": e.Phases,
	} {
		parameters["not_"+name] = append([]string{}, values...)
	}
}

// CallPlace is a kind of call, at least so long and allowed less than so much.
type CallPlace struct {
	Service, Peer, Stage string
	Long, Short          int64 // nanoseconds
}

// Entry is an entry span and when it started, in nanoseconds since 1970.
type Entry struct {
	Start int64
	Trace span.TraceID
	Span  span.ID
}

//go:embed queries/search.sql
var searchSQL string

// Search answers with entry spans, newest first. A trace comes once for each of its entries that fit.
func (db *DB) Search(ctx context.Context, q SearchQuestion) ([]Entry, error) {
	before := q.Before
	trace, id := before.Trace.String(), before.Span.String()
	if before == (Entry{}) {
		before.Start, trace, id = math.MaxInt64, strings.Repeat("f", 32), strings.Repeat("f", 16)
	} else if rest := time.Unix(0, before.Start+1); rest.Before(q.To) {
		q.To = rest // a shorter window is a cheaper one
	}
	parameters := q.filters()
	maps.Copy(parameters, map[string]any{
		"before_ts": before.Start, "before_trace": trace, "before_span": id, "limit": q.Limit,
		"rule": q.Rule, "judged": max(q.Judged.UnixMilli(), 0),
		"places_service": each(q.Places, func(p *CallPlace) string { return p.Service }),
		"places_peer":    each(q.Places, func(p *CallPlace) string { return p.Peer }),
		"places_stage":   each(q.Places, func(p *CallPlace) string { return p.Stage }),
		"places_long":    each(q.Places, func(p *CallPlace) int64 { return p.Long }),
		"places_short":   each(q.Places, func(p *CallPlace) int64 { return p.Short }),
	})
	var answer []Entry
	// The newest that fit mostly lie in the last minutes, or the last hours.
	for part := (Window{From: q.To, To: q.To}); part.From.After(q.From) && len(answer) < q.Limit; {
		reach := searchReach
		if part.From.Before(part.To) {
			reach = searchGrowth * q.To.Sub(part.From)
		}
		part = Window{From: part.From.Add(-reach), To: part.From}
		if part.From.Before(q.From) || !q.entriesOnly() {
			part.From = q.From
		}
		parameters["limit"] = q.Limit - len(answer)
		maps.Copy(parameters, part.parameters())
		found, err := db.searchPart(ctx, parameters)
		if err != nil {
			return nil, err
		}
		answer = append(answer, found...)
	}
	return answer, nil
}

// How far before its end a window is searched first, and by how much each further part of it is longer than all before.
const (
	searchReach  = 10 * time.Minute
	searchGrowth = 5
)

// entriesOnly reports whether what fits can be told from entries, not from other spans of a trace, which may lie outside a part of the
// window.
func (q SearchQuestion) entriesOnly() bool {
	n := q.Not
	return q.Stage == "" && q.Peer == "" && q.Cause == "" && q.Phase == "" && q.Rule == "" && len(q.Places) == 0 &&
		len(n.Rules)+len(n.Classes)+len(n.Stages)+len(n.Peers)+len(n.Causes)+len(n.Phases) == 0
}

func (db *DB) searchPart(ctx context.Context, parameters map[string]any) ([]Entry, error) {
	var answer []Entry
	err := db.ask(ctx, searchSQL, func(rows driver.Rows) error {
		var e Entry
		var trace, id string
		if err := rows.Scan(&e.Start, &trace, &id); err != nil {
			return err
		}
		var err error
		if e.Trace, err = span.ParseTraceID(trace); err != nil {
			return err
		}
		if e.Span, err = span.ParseID(id); err != nil {
			return err
		}
		answer = append(answer, e)
		return nil
	}, parameters)
	return answer, question("search", err)
}

// filters are the window and what one span has to fit.
func (q SearchQuestion) filters() map[string]any {
	parameters := q.parameters()
	q.EntryFilter.add(parameters)
	q.Not.add(parameters)
	maps.Copy(parameters, map[string]any{
		"service": q.Service, "route": q.Route, "exhausted": flag(q.Exhausted), "answered": flag(q.Answered),
		"duration_lt": length(q.DurationLess), "duration_gt": length(q.DurationMore),
		"stage": q.Stage, "peer": q.Peer, "cause": q.Cause, "phase": q.Phase,
	})
	return parameters
}

// flag and length turn an optional value into a parameter: nil becomes NULL.
func flag(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}

func length(d *time.Duration) any {
	if d == nil {
		return nil
	}
	return int64(*d)
}
