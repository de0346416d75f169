package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/internal/contract"
	"github.com/laxity-dev/laxity/storage"
)

type measuredAnswer struct {
	Window    windowAnswer `json:"window"`
	Watermark *instant     `json:"watermark"`
	// Judged: traces that arrived before it are judged; nil while no worker has.
	Judged *instant `json:"judged_until"`
	contract.Measured
}

// measured answers with everything that a contract of one route can promise.
func (s *Server) measured(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, "from", "to", "service", "route", "environment")
	at := p.window(s.config.Now())
	q := storage.ContractQuestion{
		Window:  storage.Window{From: at.begin(), To: at.end()},
		Service: p.name("service"), Route: p.name("route"), Environment: p.label("environment"),
	}
	for _, needed := range []struct{ name, value string }{{"service", q.Service}, {"route", q.Route}} {
		if needed.value == "" {
			p.fail(invalid(needed.name, "missing", "name the route of one service; GET /services lists them"))
		}
	}
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	answer := measuredAnswer{Window: shapeWindow(at, 0), Watermark: s.watermark()}
	progress, err := s.config.Store.Progress(ctx)
	if err == nil {
		answer.Measured, err = s.config.Store.Measured(ctx, q)
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	if judged, ok := progress[storage.StepVerdicts]; ok {
		answer.Judged = (*instant)(&judged)
	}
	c.JSON(http.StatusOK, answer)
}
