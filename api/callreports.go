package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/storage"
)

// rowsAnswer is the envelope of reports whose rows come from storage as they are.
type rowsAnswer[Row any] struct {
	Window    windowAnswer `json:"window"`
	Watermark *instant     `json:"watermark"`
	// Provisional: the window reaches beyond the watermark.
	Provisional bool `json:"provisional"`
	// Approximate: lengths come from the buckets of rollups.
	Approximate bool    `json:"approximate,omitempty"`
	Rows        []Row   `json:"rows"`
	Next        *string `json:"next"`
}

// basis is what a report rests on: how far that reaches, and whether tallies may answer.
type basis struct {
	until   func(context.Context) (*instant, error)
	tallied bool
}

// reportRoutes adds the reports whose rows come from storage as they are.
func (s *Server) reportRoutes(group *gin.RouterGroup) {
	db := s.config.Store
	entry := slices.Clip(entryFilters)
	read, judged, learned := basis{s.readUntil, true}, basis{s.judgedUntil, true}, basis{until: s.learnedUntil}
	group.GET("/orphans", serveReport(s, judged, db.Orphans, "service", "stage", "peer", "cause"))
	group.GET("/findings", serveReport(s, judged, db.Findings, "service", "route", "stage", "peer", "cause", "rule"))
	group.GET("/stages", serveReport(s, read, s.stages, append(entry, "service", "route", "stage", "peer", "cause")...))
	group.GET("/cancellations", serveReport(s, read, db.Cancellations, append(entry, "service", "route", "cause")...))
	group.GET("/local", serveReport(s, read, db.Local, append(entry, "service", "route")...))
	group.GET("/phases", serveReport(s, read, db.Phases, "service", "peer", "phase", "environment", "version"))
	group.GET("/retries", serveReport(s, read, db.Retries, "service", "stage", "peer", "environment", "version"))
	group.GET("/propagation", serveReport(s, read, db.Propagation, "service", "peer", "environment"))
	group.GET("/dependencies", serveReport(s, read, db.Dependencies, "service", "stage", "peer", "environment", "version"))
	group.GET("/conformance", serveReport(s, read, db.Conformance, "service"))
	group.GET("/limits", serveReport(s, learned, db.Limits, "service", "peer"))
	group.GET("/reserves", serveReport(s, read, db.Reserves, "service", "route", "stage", "peer", "environment", "version"))
	group.GET("/cells", s.cells)
	group.GET("/patience", s.patience)
	group.GET("/spend", s.spend)
	group.GET("/map", s.incidentMap)
	group.GET("/attribution", s.attribution)
}

// readUntil is the watermark of reports that read hops.
func (s *Server) readUntil(context.Context) (*instant, error) { return s.watermark(), nil }

// learnedUntil is the watermark of what is learned from many traces; nil where no worker has learned anything.
func (s *Server) learnedUntil(ctx context.Context) (*instant, error) {
	return s.doneUntil(ctx, storage.StepLimits)
}

// judgedUntil is the watermark of reports that read findings; nil where no worker has judged anything.
func (s *Server) judgedUntil(ctx context.Context) (*instant, error) {
	return s.doneUntil(ctx, storage.StepVerdicts)
}

func (s *Server) doneUntil(ctx context.Context, step storage.Step) (*instant, error) {
	progress, err := s.config.Store.Progress(ctx)
	if err != nil {
		return nil, err
	}
	at, ok := progress[step]
	if !ok {
		return nil, nil
	}
	until := s.watermark()
	if at.Before(time.Time(*until)) {
		*until = instant(at.Truncate(time.Second))
	}
	return until, nil
}

// provisional reports whether a window reaches beyond a watermark.
func provisional(w storage.Window, until *instant) bool {
	return until == nil || w.To.After(time.Time(*until))
}

// report reads the question of a report, with one row beyond the limit.
func (p *params) report(at page, limit int) storage.ReportQuestion {
	return storage.ReportQuestion{
		Window: storage.Window{From: at.begin(), To: at.end()}, Limit: limit + 1, Skip: at.Offset,
		Service: p.name("service"), Route: p.name("route"), Stage: p.name("stage"), Peer: p.name("peer"),
		Cause: string(oneOf(p, "cause", causes...)), Phase: string(oneOf(p, "phase", phases...)),
		Rule: string(oneOf(p, "rule", rules()...)), EntryFilter: p.entryFilter(), Not: p.exclusions(rules()),
	}
}

// reportKnown are the parameters that every report knows.
var reportKnown = []string{"from", "to", "limit", "cursor"}

// leftOut are the filters of reports that leave values out too: not.service and the like.
var leftOut = []string{"service", "route", "stage", "peer", "cause", "phase", "rule"}

// withExclusions adds to the filters of a report what they leave out.
func withExclusions(filters ...string) []string {
	all := slices.Clone(filters)
	for _, name := range filters {
		if slices.Contains(leftOut, name) {
			all = append(all, excluding+name)
		}
	}
	return all
}

// serveReport answers one report; filters are the parameters it knows beside window, limit and cursor.
func serveReport[Row any](s *Server, on basis,
	ask func(context.Context, storage.ReportQuestion) ([]Row, error), filters ...string) gin.HandlerFunc {
	known := slices.Concat(reportKnown, withExclusions(filters...))
	return func(c *gin.Context) {
		p := readParams(c.Request.URL.RawQuery, known...)
		at, limit := p.window(s.config.Now()), p.limit()
		q := p.report(at, limit)
		if p.problem != nil {
			p.problem.write(c)
			return
		}
		ctx, cancel := question(c)
		defer cancel()
		until, err := on.until(ctx)
		if err != nil {
			s.fail(c, err)
			return
		}
		if on.tallied {
			if q, err = s.config.Store.PlanReport(ctx, q); err != nil {
				s.fail(c, err)
				return
			}
		}
		rows, err := ask(ctx, q)
		if err != nil {
			s.fail(c, err)
			return
		}
		rows, next := cut(rows, limit, at)
		c.JSON(http.StatusOK, rowsAnswer[Row]{
			Window: shapeWindow(at, 0), Watermark: until, Provisional: provisional(q.Window, until), Approximate: q.Approximate(),
			Rows: rows, Next: next,
		})
	}
}
