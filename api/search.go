package api

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
)

// Bounds of one search: what it judges at most, and what it takes from storage at a time.
const (
	maxExamined    = 2000
	searchTime     = 8 * time.Second
	entryBatch     = 1000
	traceBatch     = 50
	spansPerSearch = 5000
	// searchNear is how far from its entry the hops of a trace are judged where its raw spans are gone.
	searchNear = 24 * time.Hour
)

type searchAnswer struct {
	Window    windowAnswer `json:"window"`
	Watermark *instant     `json:"watermark"`
	Rows      []traceRow   `json:"rows"`
	Next      *string      `json:"next"`
	Examined  int          `json:"examined"`
	Exhausted bool         `json:"exhausted"`
}

type traceRow struct {
	TraceID     string             `json:"trace_id"`
	EntrySpanID string             `json:"entry_span_id"`
	StartedAt   instant            `json:"started_at"`
	Service     string             `json:"service"`
	Route       string             `json:"route"`
	Duration    span.Seconds       `json:"duration_s"`
	Budget      *span.Seconds      `json:"budget_s"`
	Margin      *span.Seconds      `json:"margin_s"`
	Outcome     budgetattr.Outcome `json:"outcome"`
	Class       verdict.Class      `json:"class"`
	Late        bool               `json:"late"`
	Complete    bool               `json:"complete"`
	// Sample: sample services made it.
	Sample         bool           `json:"sample"`
	FirstViolation verdict.Rule   `json:"first_violation"`
	Rules          []verdict.Rule `json:"rules"`
}

// search is one search while it runs: pages of entry spans from storage, their traces judged, rows kept that fit.
type search struct {
	store    *storage.DB
	question storage.SearchQuestion
	class    verdict.Class
	rule     verdict.Rule
	without  []string // rules that a row must not have
	limit    int

	rows     []traceRow
	examined int
	seen     map[span.TraceID]map[span.ID]traceRow // per trace the row of each entry that was judged
	last     storage.Entry
	ended    bool
}

// searchFilters are the parameters by which traces are narrowed.
var searchFilters = []string{"from", "to", "service", "route", "environment", "version", "stage", "peer", "rule", "outcome", "class", "cause",
	"phase", "late", "margin_lt", "margin_gt", "answered", "duration_lt", "duration_gt", "not.service", "not.route", "not.environment", "not.version",
	"not.stage", "not.peer", "not.rule", "not.outcome", "not.class", "not.cause", "not.phase"}

// searchTraces answers with one row per trace, newest first.
func (s *Server) searchTraces(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, append(searchFilters, "limit", "cursor")...)
	at := p.window(s.config.Now())
	run := s.readSearch(p, at)
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	if err := run.narrow(ctx); err != nil {
		s.fail(c, err)
		return
	}
	if err := run.run(ctx); err != nil {
		s.fail(c, err)
		return
	}
	answer := searchAnswer{
		Window: shapeWindow(at, 0), Watermark: s.watermark(), Rows: run.rows, Examined: run.examined, Exhausted: run.ended,
	}
	if !run.ended {
		at.At, at.Trace, at.Span = run.last.Start, run.last.Trace.String(), run.last.Span.String()
		next := at.String()
		answer.Next = &next
	}
	c.JSON(http.StatusOK, answer)
}

func (s *Server) readSearch(p *params, at page) *search {
	run := &search{
		store: s.config.Store, limit: p.limit(), rows: []traceRow{}, seen: map[span.TraceID]map[span.ID]traceRow{},
		rule:  oneOf(p, "rule", rules()...),
		class: oneOf(p, "class", classes...),
		question: storage.SearchQuestion{
			Window:  storage.Window{From: at.begin(), To: at.end()},
			Service: p.name("service"), Route: p.name("route"), Stage: p.name("stage"), Peer: p.name("peer"),
			EntryFilter: p.entryFilter(), Cause: string(oneOf(p, "cause", causes...)), Phase: string(oneOf(p, "phase", phases...)),
			Answered: p.boolean("answered"), DurationLess: p.seconds("duration_lt"), DurationMore: p.seconds("duration_gt"), Not: p.exclusions(slices.DeleteFunc(rules(), verdict.Rule.OverMany)),
			Before: at.entry(p), Limit: entryBatch,
		},
	}
	run.without = run.question.Not.Rules
	yes := true
	switch run.rule {
	case verdict.RuleLate:
		run.question.Late = &yes
	case verdict.RuleExhausted:
		run.question.Exhausted = &yes
	}
	return run
}

// narrow lets storage leave out traces that a worker found without the rule. What remains is judged all the same. Whether an answer
// was late or its budget missing depends on whose account is drawn, and the worker draws one for each trace: late and exhausted
// are looked for on entries, a missing budget of one service by reading.
func (r *search) narrow(ctx context.Context) error {
	q := &r.question
	q.Not.Rules = nil
	for _, rule := range r.without {
		if r.storedAlike(verdict.Rule(rule)) {
			q.Not.Rules = append(q.Not.Rules, rule)
		}
	}
	if r.rule.OverMany() {
		q.Not.Rules = nil
		blamed, err := r.store.Blamed(ctx, storage.ReportQuestion{Window: q.Window}, r.rule)
		for _, d := range blamed {
			q.Places = append(q.Places, d.Place(r.rule))
		}
		r.ended = len(blamed) == 0
		return err
	}
	if !r.storedAlike(r.rule) && len(q.Not.Rules) == 0 {
		return nil
	}
	progress, err := r.store.Progress(ctx)
	if err != nil {
		return err
	}
	judged, ok := progress[storage.StepVerdicts]
	if !ok {
		q.Not.Rules = nil
		return nil
	}
	q.Judged = judged
	if r.storedAlike(r.rule) {
		q.Rule = string(r.rule)
	}
	return nil
}

// storedAlike reports whether the findings that a worker stored tell of a rule what judging the row does.
func (r *search) storedAlike(rule verdict.Rule) bool {
	switch rule {
	case "", verdict.RuleLate, verdict.RuleExhausted:
		return false
	case verdict.RuleMissingBudget:
		return r.question.Service == "" && r.question.Route == ""
	}
	return !rule.OverMany()
}

func rules() []verdict.Rule {
	var all []verdict.Rule
	for _, entry := range verdict.Catalogue() {
		all = append(all, entry.Rule)
	}
	return all
}

// run fills rows until the limit, the end of the window or a bound is reached. last is then the entry to go on after.
func (r *search) run(ctx context.Context) error {
	end := time.Now().Add(searchTime)
	for !r.ended {
		entries, err := r.store.Search(ctx, r.question)
		if err != nil {
			return err
		}
		for batch := range slices.Chunk(entries, traceBatch) {
			if err := r.judge(ctx, batch); err != nil {
				return err
			}
			for _, entry := range batch {
				r.last = entry
				if row, ok := r.seen[entry.Trace][entry.Span]; ok && r.fits(row) {
					r.rows = append(r.rows, row)
					delete(r.seen[entry.Trace], entry.Span) // written twice, it comes twice
				}
				if len(r.rows) == r.limit {
					return nil
				}
			}
			if r.examined >= maxExamined || time.Now().After(end) {
				return nil
			}
		}
		if len(entries) < r.question.Limit {
			r.ended = true
			return nil
		}
		r.question.Before = r.last
	}
	return nil
}

// judge judges the traces of the entries that have not been judged yet.
func (r *search) judge(ctx context.Context, entries []storage.Entry) error {
	var ids []span.TraceID
	for _, entry := range entries {
		if r.seen[entry.Trace] == nil {
			r.seen[entry.Trace] = map[span.ID]traceRow{}
			ids = append(ids, entry.Trace)
		}
	}
	near := storage.Window{From: time.Unix(0, entries[len(entries)-1].Start).Add(-searchNear), To: time.Unix(0, entries[0].Start).Add(searchNear)}
	traces, err := r.store.TracesNear(ctx, ids, near, spansPerSearch)
	if err != nil {
		return err
	}
	for id, trace := range traces {
		if trace.Truncated { // few are so long, and what is looked for may lie at their end
			whole, err := r.store.Traces(ctx, []span.TraceID{id}, storage.SpansPerTrace)
			if err != nil {
				return err
			}
			if whole[id] != nil {
				trace = whole[id]
			}
		}
		r.examined++
		annotate(r.store.Classifier(), trace)
		entry := r.topmost(trace.Spans)
		if entry == nil {
			continue // its raw spans are not all there
		}
		row := shapeRow(verdict.Judge(trace.Spans, verdict.Options{Entry: entry.ID}))
		if r.rule.OverMany() { // what many traces show, storage has found in this one
			row.Rules = append(row.Rules, r.rule)
			slices.SortFunc(row.Rules, func(a, b verdict.Rule) int { return a.Rank() - b.Rank() })
		}
		row.Sample = slices.ContainsFunc(trace.Spans, func(s span.Span) bool { return s.Sample() })
		r.seen[id][entry.ID] = row
	}
	return nil
}

// topmost returns the entry that the row of a trace is about: the topmost one with a budget, else the topmost one, of the
// entries that hops keep; with a service or route asked for, of those that are of them and fit. nil if there is none.
func (r *search) topmost(spans []span.Span) *span.Span {
	parents := make(map[span.ID]span.ID, len(spans))
	for i := range spans {
		parents[spans[i].ID] = spans[i].Parent
	}
	var best *span.Span
	var bestRank rank
	for i := range spans {
		s := &spans[i]
		judged := verdict.JudgeSpan(s)
		if !judged.Entry || !hop.Is(s) || !r.about(s, judged) {
			continue
		}
		found := rank{withoutBudget: !judged.HasBudget, depth: depth(parents, s.ID), start: s.Start, id: s.ID}
		if best == nil || found.before(bestRank) {
			best, bestRank = s, found
		}
	}
	return best
}

// about reports whether a row may be about this entry. A service may be entered several times in one trace; then the row is
// about one that fits, or a retried call that failed at first could not be found.
func (r *search) about(s *span.Span, judged verdict.SpanVerdict) bool {
	q := r.question
	if q.Service == "" && q.Route == "" && q.Environment == "" && q.Version == "" {
		return true
	}
	// What was asked for is as rows keep it, a span is as it was sent.
	service, route := hop.Name(s.Service), hop.Name(verdict.RouteOf(s))
	environment, version := hop.Label(hop.EnvironmentOf(s)), hop.Label(s.Resource.String("service.version"))
	switch {
	case q.Service != "" && service != q.Service,
		q.Route != "" && route != q.Route,
		q.Environment != "" && environment != q.Environment,
		q.Version != "" && version != q.Version,
		q.Outcome != "" && string(judged.Outcome) != q.Outcome,
		q.Late != nil && judged.Late != *q.Late,
		q.Exhausted != nil && judged.Exhausted != *q.Exhausted,
		q.Answered != nil && judged.Answered != *q.Answered,
		q.DurationLess != nil && s.Duration() >= *q.DurationLess,
		q.DurationMore != nil && s.Duration() <= *q.DurationMore,
		slices.Contains(q.Not.Services, service),
		slices.Contains(q.Not.Routes, route),
		slices.Contains(q.Not.Environments, environment),
		slices.Contains(q.Not.Versions, version),
		slices.Contains(q.Not.Outcomes, string(judged.Outcome)),
		q.MarginLess != nil && (!judged.HasMargin || judged.Margin >= *q.MarginLess),
		q.MarginMore != nil && (!judged.HasMargin || judged.Margin <= *q.MarginMore):
		return false
	}
	return true
}

// rank orders the entries of one trace.
type rank struct {
	withoutBudget bool
	depth         int
	start         int64
	id            span.ID
}

func (r rank) before(other rank) bool {
	if r.withoutBudget != other.withoutBudget {
		return other.withoutBudget
	}
	return cmp.Or(cmp.Compare(r.depth, other.depth), cmp.Compare(r.start, other.start), bytes.Compare(r.id[:], other.id[:])) < 0
}

// depth counts the ancestors of a span that are here; parents that run in a circle count at most once each.
func depth(parents map[span.ID]span.ID, id span.ID) int {
	for n := 0; ; n++ {
		parent, ok := parents[id]
		if !ok || parent.IsZero() || n > len(parents) {
			return n
		}
		id = parent
	}
}

// fits reports whether a judged row is what was asked for. What storage filtered is checked again, because spans that
// arrived in between may have changed it.
func (r *search) fits(row traceRow) bool {
	q := r.question
	switch {
	case r.class != "" && row.Class != r.class,
		r.rule != "" && !slices.Contains(row.Rules, r.rule),
		q.Outcome != "" && string(row.Outcome) != q.Outcome,
		q.Late != nil && row.Late != *q.Late,
		q.MarginLess != nil && (row.Margin == nil || row.Margin.Duration() >= *q.MarginLess),
		q.MarginMore != nil && (row.Margin == nil || row.Margin.Duration() <= *q.MarginMore),
		q.Answered != nil && row.Outcome.Answered() != *q.Answered,
		q.DurationLess != nil && row.Duration.Duration() >= *q.DurationLess,
		q.DurationMore != nil && row.Duration.Duration() <= *q.DurationMore,
		slices.Contains(q.Not.Services, hop.Name(row.Service)),
		slices.Contains(q.Not.Routes, hop.Name(row.Route)),
		slices.Contains(q.Not.Outcomes, string(row.Outcome)),
		slices.Contains(q.Not.Classes, string(row.Class)),
		slices.ContainsFunc(row.Rules, func(rule verdict.Rule) bool { return slices.Contains(r.without, string(rule)) }):
		return false
	}
	return true
}

func shapeRow(s *verdict.Statement) traceRow {
	row := traceRow{
		TraceID: s.TraceID, EntrySpanID: s.EntrySpanID, StartedAt: instant(s.StartedAt), Service: s.Service, Route: s.Route,
		Duration: s.Duration, Margin: s.Margin, Outcome: s.Outcome, Class: s.Class, Late: s.Late, Complete: s.Complete,
		FirstViolation: s.FirstViolation, Rules: []verdict.Rule{},
	}
	if s.Budget != nil {
		row.Budget = &s.Budget.Received
	}
	for _, finding := range s.Findings {
		if !slices.Contains(row.Rules, finding.Rule) {
			row.Rules = append(row.Rules, finding.Rule)
		}
	}
	slices.SortFunc(row.Rules, func(a, b verdict.Rule) int { return a.Rank() - b.Rank() })
	return row
}
