package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/laxity-dev/laxity/internal/promrule"
	"github.com/laxity-dev/laxity/internal/slo"
)

const preface = `<!-- Generated from internal/slo by ` + "`make generate`" + `. -->
# Alerts

The same definitions (` + "`internal/slo`" + `) make the Prometheus rules, the OpenSLO file, and what Laxity evaluates itself over ClickHouse
([alerts-native.md](alerts-native.md)). Objectives and limits are yours to set, for single routes too: [alerts-settings.md](alerts-settings.md).

` + "```" + `
dashboards/prometheus/laxity.rules.yaml   rules with the default settings; with yours: laxity alert rules --alert-settings FILE
dashboards/prometheus/prometheus.yaml     an example that scrapes what laxity up serves
dashboards/prometheus/alertmanager.yaml   an example that groups by alert and service, and pages only for pages
dashboards/openslo/laxity.yaml            the indicators as OpenSLO v1; with your objectives: laxity alert openslo --alert-settings FILE
` + "```" + `

The rules read two jobs, ` + "`laxity-collector`" + ` (port 9464) and ` + "`laxity-worker`" + ` (port 9465). Metrics of the same names that the sdk exports
have other jobs and are left out: adding both would count a service twice. Rules keep three days of windows and a week of
margins, which Prometheus' default retention of 15 days covers.

Labels stage, peer and cause of alerts on a service name what was cancelled or refused most there in the alert's first window;
cancellations that say nothing bad about the service (its client left, a sibling failed, a shutdown) are not counted. No label
holds a deadline, a window or a trace. They may change while an alert fires: group by alertname and service, as the example does.

A count that begins with its first event is seen from that event on, if the page was scraped one window before: Prometheus alone
would miss it.

## Indicators

| name | good | of | objective |
|---|---|---|---|
`

// runbook is the documentation of the alerts.
func runbook(alerts []slo.Alert, indicators []slo.SLI) []byte {
	var out bytes.Buffer
	out.WriteString(preface)
	of := map[slo.Measure]string{slo.Requests: "requests with a budget", slo.Cancelled: "cancelled work of which it is known when it stopped"}
	for _, s := range indicators {
		fmt.Fprintf(&out, "| `%s` | %s | %s | %g %% |\n", s.Name, s.Title, of[s.Total], 100*s.Objective)
	}
	out.WriteString("\nA request whose client left is good: nobody was kept waiting. Late and exhausted together are what was missed.\n")
	for _, a := range alerts {
		fmt.Fprintf(&out, "\n## %s\n\n%s", a.Name, strings.ToUpper(string(a.Severity[:1]))+string(a.Severity[1:]))
		if len(a.By) > 0 {
			fmt.Fprintf(&out, ", for each %s", strings.Join(a.By, ", "))
		}
		if a.Blame {
			out.WriteString("; names stage, peer and cause")
		}
		out.WriteString(".\n\n| holds when | |\n|---|---|\n")
		for n, set := range a.Any {
			for i, c := range set {
				joint := "and"
				switch {
				case i == 0 && n == 0:
					joint = "if"
				case i == 0:
					joint = "or"
				}
				fmt.Fprintf(&out, "| %s | %s |\n", joint, condition(c))
			}
		}
		if a.For > 0 {
			fmt.Fprintf(&out, "| for | %s |\n", promrule.Duration(a.For))
		}
		fmt.Fprintf(&out, "\n**How soon.** Trouble as bad as the limit is told within %s%s.\n", promrule.Duration(a.Within), soon[a.Name])
		fmt.Fprintf(&out, "\n**Meaning.** %s\n\n**What to do.** %s\n\n**Against false alarms.** %s\n", a.Meaning, a.Do, a.Guard)
	}
	return out.Bytes()
}

// soon says what comes on top of how soon an alert speaks.
var soon = map[string]string{
	"OrphanWork":   ", where the connector sees it early; else a minute and a half after the traces were judged",
	"RenewedClock": ", and a minute and a half until the traces are judged",
}

// condition says in words when it holds.
func condition(c slo.Condition) string {
	name := strings.ReplaceAll(string(c.Value), "_", " ")
	switch {
	case c.Forecast > 0:
		return fmt.Sprintf("%s, by a line through the worst of each day of %s, reaches zero within %s", name, promrule.Duration(c.Over), promrule.Duration(c.Forecast))
	case c.Growth > 0:
		return fmt.Sprintf("%s in %s are %g times those of the %s before, or more", name, promrule.Duration(c.Over), c.Growth, promrule.Duration(c.Before))
	case c.Per != "":
		return fmt.Sprintf("%s ÷ %s ≥ %.4g %% in %s", name, strings.ReplaceAll(string(c.Per), "_", " "), 100*c.AtLeast, promrule.Duration(c.Over))
	case c.Over > 0:
		return fmt.Sprintf("%s ≥ %g in %s", name, c.AtLeast, promrule.Duration(c.Over))
	}
	return fmt.Sprintf("%s ≥ %g", name, c.AtLeast)
}
