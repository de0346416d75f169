package api

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/storage"
)

type mapAnswer struct {
	rowsAnswer[storage.DependencyRow]
	// Baseline is the time before the window that dependencies are compared with.
	Baseline   windowAnswer             `json:"baseline"`
	Thresholds mapThresholds            `json:"thresholds"`
	Quadrants  map[storage.Quadrant]int `json:"quadrants"`
}

type mapThresholds struct {
	StingyBelow float64 `json:"stingy_below"`
	SlowFrom    float64 `json:"slow_from"`
	MinCalls    int     `json:"min_calls"`
	MinBaseline int     `json:"min_baseline_calls"`
}

// maxMapped bounds the dependencies of one map.
const maxMapped = 10_000

var quadrants = []storage.Quadrant{storage.QuadrantHealthy, storage.QuadrantStingyCaller, storage.QuadrantSlowDependency, storage.QuadrantBoth}

// incidentMap answers with each dependency's place between stingy callers and slow dependencies.
func (s *Server) incidentMap(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, append(withExclusions("service", "stage", "peer"), "from", "to", "environment", "version", "quadrant", "limit", "cursor")...)
	at, limit := p.window(s.config.Now()), p.limit()
	q := storage.ReportQuestion{
		Window: storage.Window{From: at.begin(), To: at.end()}, Limit: maxMapped,
		Service: p.name("service"), Stage: p.name("stage"), Peer: p.name("peer"),
		EntryFilter: storage.EntryFilter{Environment: p.label("environment"), Version: p.label("version")}, Not: p.exclusions(nil),
	}
	quadrant := oneOf(p, "quadrant", quadrants...)
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	q, err := s.config.Store.PlanReport(ctx, q)
	if err != nil {
		s.fail(c, err)
		return
	}
	rows, err := s.config.Store.Dependencies(ctx, q)
	if err != nil {
		s.fail(c, err)
		return
	}
	counts := map[storage.Quadrant]int{}
	for _, known := range quadrants {
		counts[known] = 0
	}
	for i := range rows {
		counts[rows[i].Quadrant]++
	}
	if quadrant != "" {
		rows = slices.DeleteFunc(rows, func(r storage.DependencyRow) bool { return r.Quadrant != quadrant })
	}
	rows = rows[min(at.Offset, len(rows)):]
	rows, next := cut(rows, limit, at)
	until, baseline := s.watermark(), q.Baseline()
	c.JSON(http.StatusOK, mapAnswer{
		rowsAnswer: rowsAnswer[storage.DependencyRow]{Window: shapeWindow(at, 0), Watermark: until, Provisional: provisional(q.Window, until), Approximate: q.Approximate(), Rows: rows,
			Next: next},
		Baseline:   windowAnswer{From: instant(baseline.From), To: instant(baseline.To)},
		Thresholds: mapThresholds{storage.StingyBelow, storage.SlowFrom, storage.MinCalls, storage.MinBaseline},
		Quadrants:  counts,
	})
}
