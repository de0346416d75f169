package main

import "github.com/laxity-dev/laxity/internal/promrule"

// tree is a mapping of YAML; its keys are written in their order.
type tree = map[string]any

// scraping is a configuration of Prometheus that scrapes what `laxity up` serves by default.
func scraping() tree {
	job := func(name, target string) tree {
		return tree{"job_name": name, "static_configs": []tree{{"targets": []string{target}}}}
	}
	return tree{
		"global":         tree{"scrape_interval": "15s", "evaluation_interval": "1m"},
		"rule_files":     []string{"laxity.rules.yaml"},
		"alerting":       tree{"alertmanagers": []tree{{"static_configs": []tree{{"targets": []string{"127.0.0.1:9093"}}}}}},
		"scrape_configs": []tree{job(promrule.JobCollector, "127.0.0.1:9464"), job(promrule.JobWorker, "127.0.0.1:9465")},
	}
}

// routing is a configuration of Alertmanager. Alerts of one service come together, whatever stage and cause they name at the
// moment, and an overload hides what follows from it.
func routing() tree {
	return tree{
		"route": tree{
			"receiver": "tickets", "group_by": []string{"alertname", "service"}, "group_wait": "30s", "group_interval": "5m", "repeat_interval": "12h",
			"routes": []tree{{"receiver": "pages", "matchers": []string{`severity="page"`}, "repeat_interval": "1h"}},
		},
		"receivers": []tree{
			{"name": "pages", "webhook_configs": []tree{{"url": "http://127.0.0.1:9095/pages"}}},
			{"name": "tickets", "webhook_configs": []tree{{"url": "http://127.0.0.1:9095/tickets"}}},
		},
		"inhibit_rules": []tree{
			{"source_matchers": []string{`alertname="Overload"`}, "target_matchers": []string{`alertname=~"BudgetMissedFast|BudgetMissedSlow"`}, "equal": []string{"service"}},
			{"source_matchers": []string{`alertname="BudgetMissedFast"`}, "target_matchers": []string{`alertname="BudgetMissedSlow"`}, "equal": []string{"service", "route"}},
		},
	}
}
