package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

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
	p := readParams(c.Request.URL.RawQuery, "from", "to", "service", "route", "stage", "peer", "environment", "false_timeout_rate", "limit", "cursor")
	at, limit := p.window(s.config.Now()), p.limit()
	q := storage.AdviceQuestion{
		ReportQuestion: storage.ReportQuestion{
			Window: storage.Window{From: at.begin(), To: at.end()}, Limit: limit + 1, Skip: at.Offset,
			Service: p.text("service", 300), Route: p.text("route", 1000), Stage: p.text("stage", 300), Peer: p.text("peer", 300),
			EntryFilter: storage.EntryFilter{Environment: p.text("environment", 300)},
		},
		Rate: p.share("false_timeout_rate", defaultFalseTimeoutRate),
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
	c.JSON(http.StatusOK, answer)
}

func (s *Server) advise(ctx context.Context, q storage.AdviceQuestion, at page, limit int) (*adviceAnswer, error) {
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
		rowsAnswer:       rowsAnswer[storage.AdviceRow]{Window: shapeWindow(at, 0), Watermark: until, Provisional: provisional(q.Window, until), Rows: rows, Next: next},
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
