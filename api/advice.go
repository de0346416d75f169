package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/internal/policy"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/storage"
)

type adviceAnswer struct {
	rowsAnswer[storage.AdviceRow]
	// FalseTimeoutRate is the accepted share of false timeouts that the advice rests on.
	FalseTimeoutRate float64 `json:"false_timeout_rate"`
	// Routes are the budgets that the busiest routes would need.
	Routes []storage.RouteAdviceRow `json:"routes"`
}

const defaultFalseTimeoutRate = 0.001

// advice answers with the terms that dependencies need, and with the budgets that routes need.
func (s *Server) advice(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, append(withExclusions("service", "route", "stage", "peer"), "from", "to", "environment", "false_timeout_rate", "format", "limit", "cursor")...)
	at, limit := p.window(s.config.Now()), p.limit()
	q := storage.AdviceQuestion{
		ReportQuestion: storage.ReportQuestion{
			Window: storage.Window{From: at.begin(), To: at.end()}, Limit: limit + 1, Skip: at.Offset,
			Service: p.name("service"), Route: p.name("route"), Stage: p.name("stage"), Peer: p.name("peer"),
			EntryFilter: storage.EntryFilter{Environment: p.label("environment")}, Not: p.exclusions(nil),
		},
		Rate: p.share("false_timeout_rate", defaultFalseTimeoutRate),
	}
	format := oneOf(p, "format", "json", "file")
	if format == "file" {
		limit = maxAdvised
		q.Limit, q.Skip = limit+1, 0
	}
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	answer, err := s.advise(ctx, q, at, limit)
	if err != nil {
		s.fail(c, err)
		return
	}
	if format != "file" {
		c.JSON(http.StatusOK, answer)
		return
	}
	file, err := answer.file(q.Window).Encode()
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Header("Content-Disposition", `attachment; filename="laxity-policy.json"`)
	c.Data(http.StatusOK, "application/json; charset=utf-8", file)
}

// maxAdvised bounds the dependencies of a policy file.
const maxAdvised = 10_000

// file is the policy file of all that has enough calls.
func (a *adviceAnswer) file(w storage.Window) policy.File {
	file := policy.New(policy.Window{From: w.From.UTC().Format(time.RFC3339Nano), To: w.To.UTC().Format(time.RFC3339Nano)}, a.FalseTimeoutRate)
	for _, r := range a.Rows {
		if r.Enough {
			file.Dependencies = append(file.Dependencies, policy.Dependency{
				Service: r.Service, Stage: r.Stage, Peer: r.Peer,
				Terms: policy.Terms{Cap: decimal(r.Advised.Cap), Observed: decimal(r.Advised.Observed), Reserve: decimal(r.Advised.Reserve), MinUseful: decimal(r.Advised.MinUseful)},
				Why:   map[string]string{"cap": r.Reasons.Cap, "observed_limit": r.Reasons.Observed, "reserve": r.Reasons.Reserve, "min_useful": r.Reasons.MinUseful},
			})
		}
	}
	for _, r := range a.Routes {
		file.Routes = append(file.Routes, policy.Route{Service: r.Service, Route: r.Route, Safe: decimal(r.Safe), Why: r.Reason})
	}
	return file
}

func decimal(s *span.Seconds) *float64 {
	if s == nil {
		return nil
	}
	f := s.Float()
	return &f
}

func (s *Server) advise(ctx context.Context, q storage.AdviceQuestion, at page, limit int) (*adviceAnswer, error) {
	planned, err := s.config.Store.PlanReport(ctx, q.ReportQuestion)
	if err != nil {
		return nil, err
	}
	q.ReportQuestion = planned
	rows, err := s.config.Store.Advice(ctx, q)
	if err != nil {
		return nil, err
	}
	routes := q
	routes.Limit, routes.Skip = limit, 0
	budgets, err := s.config.Store.SafeBudgets(ctx, routes)
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, limit, at)
	until := s.watermark()
	return &adviceAnswer{
		rowsAnswer: rowsAnswer[storage.AdviceRow]{Window: shapeWindow(at, 0), Watermark: until, Provisional: provisional(q.Window, until), Approximate: q.Approximate(), Rows: rows,
			Next: next},
		FalseTimeoutRate: q.Rate, Routes: budgets,
	}, nil
}

// share returns a parameter that lies between 0 and 1, both exclusive.
func (p *params) share(name string, fallback float64) float64 {
	value := p.values.Get(name)
	if value == "" {
		return fallback
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || !(f > 0 && f < 1) {
		p.fail(invalid(name, strconv.Quote(value)+" is no share", "use a number above 0 and below 1, such as 0.001"))
		return fallback
	}
	return f
}
