package main

import (
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/promrule"
	"github.com/laxity-dev/laxity/internal/slo"
)

// openSLO returns the indicators as documents of OpenSLO v1: bad and total events of all services together.
func openSLO(indicators []slo.SLI) (documents []any) {
	const version = "openslo/v1"
	documents = append(documents, tree{
		"apiVersion": version, "kind": "Service",
		"metadata": tree{"name": "laxity", "displayName": "Services with a budget"},
		"spec":     tree{"description": "Every service whose spans carry a budget."},
	})
	for _, s := range indicators {
		name := strings.ReplaceAll(s.Name, "_", "-")
		metric := func(m slo.Measure) tree {
			return tree{"metricSource": tree{"type": "Prometheus", "spec": tree{"query": promrule.Events(m, nil, 5*time.Minute)}}}
		}
		documents = append(documents, tree{
			"apiVersion": version, "kind": "SLO",
			"metadata": tree{"name": name, "displayName": s.Title},
			"spec": tree{
				"description": s.Title, "service": "laxity", "budgetingMethod": "Occurrences",
				"timeWindow": []tree{{"duration": "30d", "isRolling": true}},
				"indicator": tree{
					"metadata": tree{"name": name},
					"spec":     tree{"ratioMetric": tree{"counter": false, "bad": metric(s.Bad), "total": metric(s.Total)}},
				},
				"objectives": []tree{{"displayName": s.Title, "target": s.Objective}},
			},
		})
	}
	return documents
}
