package worker

import (
	"cmp"
	"maps"
	"slices"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/storage"
)

// Bounds of what is kept of one trace: accounts, and values in each of its lists.
const (
	maxAccounts = 20
	maxValues   = 100
)

// accounts returns the accounts of one trace as rows: that of its holder, and those of other entries with budgets of their own.
func accounts(trace *storage.Trace, holder *verdict.Statement, c *verdict.Case) []storage.Account {
	var rows []storage.Account
	seen := map[storage.AccountKey]bool{}
	put := func(s *span.Span, v *verdict.SpanVerdict, statement *verdict.Statement) {
		row := account(s, v, statement)
		if !seen[row.AccountKey] {
			seen[row.AccountKey] = true
			rows = append(rows, row)
		}
	}
	top, _ := span.ParseID(holder.EntrySpanID)
	for i := range trace.Spans {
		s := &trace.Spans[i]
		if s.ID == top && s.Service == holder.Service && hop.Is(s) {
			v := verdict.JudgeSpan(s)
			put(s, &v, holder)
			rows[len(rows)-1].Holder = true
			about(&rows[len(rows)-1], trace.Spans)
			break
		}
	}
	for i := range trace.Spans {
		s := &trace.Spans[i]
		if len(rows) >= maxAccounts {
			break
		}
		if s.ID == top {
			continue
		}
		if v := verdict.JudgeSpan(s); v.HasBudget {
			if statement := c.Statement(s.ID); statement.EntrySpanID == s.ID.String() {
				put(s, &v, statement)
			}
		}
	}
	return rows
}

// account lays out one statement. What the entry did not record itself is no budget here, as it is none in hops.
func account(s *span.Span, v *verdict.SpanVerdict, statement *verdict.Statement) storage.Account {
	of, _ := hop.FromSpan(s)
	row := storage.Account{
		AccountKey: storage.AccountKey{Service: of.Service, Route: of.Route, Start: s.Start, Trace: s.Trace, Span: s.ID, Kind: s.Kind.String()},
		Weight:     of.Weight, Environment: of.Environment, Version: of.ServiceVersion, Channel: s.Attrs.String(budgetattr.ChannelKey),
		PayloadClass: s.Attrs.String(budgetattr.PayloadClassKey), Region: cmp.Or(s.Attrs.String(budgetattr.RegionKey), s.Resource.String("cloud.region")),
		Sample: s.Sample(), Complete: statement.Complete, Duration: int64(statement.Duration),
		Outcome: string(statement.Outcome), Class: string(statement.Class), Answered: of.Answered, Late: statement.Late, Exhausted: of.Exhausted,
		FirstViolation: string(statement.FirstViolation),
	}
	if v.HasBudget && statement.Budget != nil && statement.Margin != nil {
		received, margin := int64(statement.Budget.Received), int64(*statement.Margin)
		row.Budget, row.Margin = &received, &margin
	}
	row.Spent = spent(s, statement.Lines)
	for i := range statement.Findings {
		row.Rules = append(row.Rules, string(statement.Findings[i].Rule))
	}
	row.Rules = distinct(row.Rules)
	return row
}

// spent sums the debits of a statement by place. Own work of the entry itself has no stage.
func spent(entry *span.Span, lines []verdict.Line) []storage.Spent {
	sums := map[storage.Place]storage.Spent{}
	self := entry.ID.String()
	for i := range lines {
		line := &lines[i]
		if !line.Kind.Debit() {
			continue
		}
		at := storage.Place{Kind: string(line.Kind)}
		if line.SpanID != self {
			at.Stage, at.Peer = hop.Name(line.Stage), hop.Name(line.Peer)
		}
		sum := sums[at]
		sum.Place = at
		sum.Amount += int64(line.Amount)
		if line.Kind == verdict.LineHop {
			sum.Calls++
			if line.Decision != "" && line.Decision != budgetattr.DecisionRun {
				sum.Degraded++
			}
		}
		sums[at] = sum
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b storage.Spent) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Peer, b.Peer))
	})
}

// about adds what is told of the whole trace.
func about(row *storage.Account, spans []span.Span) {
	for i := range spans {
		s := &spans[i]
		row.Sample = row.Sample || s.Sample()
		row.Services = append(row.Services, hop.Name(s.Service))
		if !hop.Is(s) {
			continue
		}
		v := verdict.JudgeSpan(s)
		if !v.Entry || s.Attrs.Has(budgetattr.StageKey) {
			row.Stages = append(row.Stages, hop.Name(verdict.StageOf(s)))
		}
		row.Peers = append(row.Peers, hop.Name(verdict.PeerOf(s)))
		row.Causes = append(row.Causes, string(v.Cause))
		row.Phases = append(row.Phases, string(v.Phase))
		if s.Kind == span.KindServer || s.Kind == span.KindConsumer {
			row.Peers = append(row.Peers, hop.Name(s.Service))
		}
	}
	for _, list := range []*[]string{&row.Services, &row.Stages, &row.Peers, &row.Causes, &row.Phases} {
		*list = distinct(*list)
	}
}

// distinct returns each text that is not empty once, in order, as many as are kept.
func distinct(texts []string) []string {
	set := map[string]bool{}
	for _, text := range texts {
		set[text] = true
	}
	delete(set, "")
	all := slices.Sorted(maps.Keys(set))
	return all[:min(len(all), maxValues)]
}
