package promrule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/slo"
)

type tree = map[string]any

// OpenSLO returns the indicators as documents of OpenSLO v1: bad and total events of all services together, and of each route that has an
// objective of its own.
func OpenSLO(settings slo.Settings) ([]any, error) {
	indicators, err := settings.Indicators()
	if err != nil {
		return nil, err
	}
	documents := []any{tree{
		"apiVersion": openSLOVersion, "kind": "Service",
		"metadata": tree{"name": "laxity", "displayName": "Services with a budget"},
		"spec":     tree{"description": "Every service whose spans carry a budget."},
	}}
	for _, s := range indicators {
		name := strings.ReplaceAll(s.Name, "_", "-")
		documents = append(documents, objective(s, name, s.Title))
		for n, r := range settings.Routes {
			if own, ok := r.Objectives[s.Name]; ok {
				s.Objective = own
				documents = append(documents, objective(s, fmt.Sprintf("%s-route-%d", name, n+1), strings.TrimSpace(r.Service+" "+r.Route)+": "+s.Title,
					"service="+strconv.Quote(r.Service), "route="+strconv.Quote(r.Route)))
			}
		}
	}
	return documents, nil
}

const openSLOVersion = "openslo/v1"

func objective(s slo.SLI, name, title string, only ...string) tree {
	metric := func(m slo.Measure) tree {
		return tree{"metricSource": tree{"type": "Prometheus", "spec": tree{"query": Events(m, nil, 5*time.Minute, only...)}}}
	}
	return tree{
		"apiVersion": openSLOVersion, "kind": "SLO",
		"metadata": tree{"name": name, "displayName": title},
		"spec": tree{
			"description": title, "service": "laxity", "budgetingMethod": "Occurrences",
			"timeWindow": []tree{{"duration": "30d", "isRolling": true}},
			"indicator": tree{
				"metadata": tree{"name": name},
				"spec":     tree{"ratioMetric": tree{"counter": false, "bad": metric(s.Bad), "total": metric(s.Total)}},
			},
			"objectives": []tree{{"displayName": title, "target": s.Objective}},
		},
	}
}
