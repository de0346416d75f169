package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/storage"
)

type facetsAnswer struct {
	Window      windowAnswer `json:"window"`
	Watermark   *instant     `json:"watermark"`
	Provisional bool         `json:"provisional"`
	// Traces counts what fits over the whole window.
	Traces uint64  `json:"traces"`
	Facets []facet `json:"facets"`
}

// facet is one thing that traces may be narrowed by. Distinct counts its values, of which Values holds the most frequent.
type facet struct {
	Facet    string       `json:"facet"`
	Distinct uint64       `json:"distinct"`
	Values   []facetValue `json:"values"`
}

type facetValue struct {
	Value  string `json:"value"`
	Traces uint64 `json:"traces"`
}

// facetNames are the facets in the order of the answer. All but the last three are parameters of the search.
var facetNames = []string{"service", "route", "class", "outcome", "late", "rule", "cause", "phase", "stage", "peer", "environment", "version",
	"first_violation", "channel", "sample"}

// facets answers with how many traces of the window have which value, under the filters of the search.
func (s *Server) facets(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, append([]string{"limit"}, searchFilters...)...)
	at := p.window(s.config.Now())
	search := s.readSearch(p, at)
	if search.rule.OverMany() {
		p.fail(invalid("rule", string(search.rule)+" is about many traces, not a finding of one", "search for it, or see /reports/map"))
	}
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	q := storage.FacetQuestion{SearchQuestion: search.question, Class: string(search.class)}
	q.Rule, q.Limit = string(search.rule), search.limit
	ctx, cancel := question(c)
	defer cancel()
	until, err := s.judgedUntil(ctx)
	if err != nil {
		s.fail(c, err)
		return
	}
	found, err := s.config.Store.Facets(ctx, q)
	if err != nil {
		s.fail(c, err)
		return
	}
	answer := facetsAnswer{Window: shapeWindow(at, 0), Watermark: until, Provisional: provisional(q.Window, until), Traces: found.Traces, Facets: []facet{}}
	for _, name := range facetNames {
		one := facet{Facet: name, Values: []facetValue{}}
		for _, v := range found.Values {
			if v.Facet == name {
				one.Distinct = v.Distinct
				one.Values = append(one.Values, facetValue{Value: v.Value, Traces: v.Traces})
			}
		}
		answer.Facets = append(answer.Facets, one)
	}
	c.JSON(http.StatusOK, answer)
}
