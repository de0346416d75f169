package api

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/storage"
)

type cellsAnswer struct {
	rowsAnswer[storage.CellRow]
	Measure storage.Measure `json:"measure"`
}

// cells answers with how requests are spread over time and what they had left, or took.
func (s *Server) cells(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, slices.Concat(withExclusions("service", "route", "rule"), []string{"measure"}, reportKnown, entryFilters)...)
	at, limit := p.window(s.config.Now()), p.limit()
	q := storage.CellQuestion{
		ReportQuestion: p.report(at, limit),
		Measure:        cmp.Or(oneOf(p, "measure", storage.MeasureMargin, storage.MeasureDuration), storage.MeasureMargin),
	}
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	until, err := s.judgedUntil(ctx)
	if err != nil {
		s.fail(c, err)
		return
	}
	q.Width = bucketWidth(q.To.Sub(q.From))
	rows, err := s.config.Store.Cells(ctx, q)
	if err != nil {
		s.fail(c, err)
		return
	}
	rows, next := cut(rows, limit, at)
	c.JSON(http.StatusOK, cellsAnswer{
		rowsAnswer: rowsAnswer[storage.CellRow]{Window: shapeWindow(at, q.Width), Watermark: until, Provisional: provisional(q.Window, until), Rows: rows, Next: next},
		Measure:    q.Measure,
	})
}

type patienceAnswer struct {
	rowsAnswer[storage.PatienceRow]
	storage.Patience
}

// patience answers with when clients leave.
func (s *Server) patience(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, slices.Concat(withExclusions("service", "route"), []string{"cause"}, reportKnown, entryFilters)...)
	at, limit := p.window(s.config.Now()), p.limit()
	q := p.report(at, limit)
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	found, err := s.config.Store.Patience(ctx, q)
	if err != nil {
		s.fail(c, err)
		return
	}
	rows, next := cut(found.Rows, limit, at)
	until := s.watermark()
	c.JSON(http.StatusOK, patienceAnswer{
		rowsAnswer: rowsAnswer[storage.PatienceRow]{Window: shapeWindow(at, 0), Watermark: until, Provisional: provisional(q.Window, until), Rows: rows, Next: next},
		Patience:   found,
	})
}

// spendRow is what the requests of one route spent at one place, on average; the part budget is what they were granted.
type spendRow struct {
	Service         string        `json:"service"`
	Route           string        `json:"route"`
	Part            string        `json:"part"`
	Stage           string        `json:"stage"`
	Peer            string        `json:"peer"`
	Requests        float64       `json:"requests"`
	Mean            span.Seconds  `json:"mean_s"`
	Share           *float64      `json:"share_of_budget"`
	CallsPerRequest float64       `json:"calls_per_request"`
	DegradedRatio   *float64      `json:"degraded_ratio"`
	Buckets         []spendBucket `json:"buckets"`
}

type spendBucket struct {
	At       instant      `json:"at"`
	Requests float64      `json:"requests"`
	Mean     span.Seconds `json:"mean_s"`
}

// spend answers with what requests spend where, over time.
func (s *Server) spend(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, slices.Concat(withExclusions("service", "route", "rule"), reportKnown, entryFilters)...)
	at, limit := p.window(s.config.Now()), p.limit()
	q := p.report(at, limit)
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	until, err := s.judgedUntil(ctx)
	if err != nil {
		s.fail(c, err)
		return
	}
	width := bucketWidth(q.To.Sub(q.From))
	found, err := s.config.Store.Spend(ctx, q, width)
	if err != nil {
		s.fail(c, err)
		return
	}
	found, next := cut(found, limit, at)
	rows := make([]spendRow, 0, len(found))
	for _, r := range found {
		row := spendRow{
			Service: r.Service, Route: r.Route, Part: partName(r.Kind), Stage: r.Stage, Peer: r.Peer, Requests: sixDecimals(r.Requests), Mean: r.Mean, Share: r.Share,
			CallsPerRequest: r.Calls, DegradedRatio: r.Degraded, Buckets: make([]spendBucket, 0, len(r.Buckets)),
		}
		for _, b := range r.Buckets {
			row.Buckets = append(row.Buckets, spendBucket{At: instant(b.At), Requests: sixDecimals(b.Requests), Mean: b.Mean})
		}
		rows = append(rows, row)
	}
	c.JSON(http.StatusOK, rowsAnswer[spendRow]{
		Window: shapeWindow(at, width), Watermark: until, Provisional: provisional(q.Window, until), Rows: rows, Next: next,
	})
}

func sixDecimals(f float64) float64 { return *rounded(&f) }
