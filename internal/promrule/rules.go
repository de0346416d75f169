// Package promrule writes Prometheus rules: the measures of package slo recorded over the windows that its alerts need, and the
// alerts on them.
package promrule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/slo"
)

// File is a file of rules.
type File struct {
	Groups []Group `yaml:"groups"`
}

// Group is evaluated in order, so that an alert sees what was recorded before it.
type Group struct {
	Name     string `yaml:"name"`
	Interval string `yaml:"interval"`
	Rules    []Rule `yaml:"rules"`
}

// Rule records a series or is an alert.
type Rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// Times between two evaluations. What covers six hours or more is dear and moves slowly; twice its interval is still less than
// the five minutes after which Prometheus takes a series for gone.
const (
	interval     = time.Minute
	longInterval = 2 * time.Minute
	long         = 6 * time.Hour
)

// Rules returns the rules for the settings, with all times divided by scale.
func Rules(settings slo.Settings, scale float64) (File, error) {
	alerts, err := slo.Alerts(settings)
	if err != nil {
		return File{}, err
	}
	return Of(alerts, settings, scale), nil
}

// Of returns the rules of some of the alerts for the settings.
func Of(alerts []slo.Alert, settings slo.Settings, scale float64) File {
	w := writer{settings: settings, scale: scale, recorded: map[string]bool{}}
	w.every = max(slo.Shorter(interval, scale), time.Second)
	for _, a := range slo.Scaled(alerts, scale) {
		w.alert(a)
	}
	return w.file()
}

func (w *writer) file() File {
	slow := max(slo.Shorter(longInterval, w.scale), time.Second)
	groups := []Group{{Name: "laxity", Interval: Duration(w.every), Rules: append(w.records, w.alerts...)}}
	if len(w.longs) > 0 {
		groups = append([]Group{{Name: "laxity-long", Interval: Duration(slow), Rules: w.longs}}, groups...)
	}
	return File{groups}
}

type writer struct {
	settings        slo.Settings
	scale           float64
	every           time.Duration
	recorded        map[string]bool
	longs           []Rule // records of long windows
	records, alerts []Rule
}

// record records an expression over a window, 0 for none.
func (w *writer) record(name, expr string, over time.Duration) string {
	if !w.recorded[name] {
		w.recorded[name] = true
		to := &w.records
		if over >= slo.Shorter(long, w.scale) {
			to = &w.longs
		}
		*to = append(*to, Rule{Record: name, Expr: expr})
	}
	return name
}

// events records a measure over a window.
func (w *writer) events(m slo.Measure, by []string, over time.Duration) string {
	if m == slo.OrphanTime {
		judged := w.record(Recorded("orphan_judged", by, over), Events(m, by, over), over)
		early := w.record(Recorded("orphan_early", by, over), earlyOrphans(by, over), over)
		return w.record(Recorded(m, by, over), orphans(judged, early), over)
	}
	return w.record(Recorded(m, by, over), Events(m, by, over), over)
}

// Recorded is the name of the series of a measure over a window.
func Recorded(m slo.Measure, by []string, over time.Duration) string {
	level := strings.Join(by, "_")
	if level == "" {
		level = "all"
	}
	name := level + ":laxity_" + string(m)
	if over > 0 {
		name += ":increase" + Duration(over)
	}
	return name
}

func (w *writer) alert(a slo.Alert) {
	var sets []string
	for _, set := range a.Any {
		var all []string
		for _, c := range set {
			all = append(all, w.condition(c, a.By))
		}
		sets = append(sets, strings.Join(all, " and "))
	}
	expr := sets[0]
	if len(sets) > 1 {
		expr = "(" + strings.Join(sets, ") or (") + ")"
	}
	if a.Blame {
		over := a.Any[0][0].Over
		top := w.record("service:laxity_blame:increase"+Duration(over), blame(over), over)
		found := w.record(strings.Join(a.By, "_")+":laxity_"+a.Name, expr, 0) // written once, used twice
		expr = fmt.Sprintf("%[1]s * on (service) group_left (stage, peer, cause) (%[2]s > bool 0) or on (%[3]s) %[1]s", found, top, strings.Join(a.By, ", "))
	}
	rule := Rule{
		Alert: a.Name, Expr: expr, Labels: map[string]string{slo.LabelSeverity: string(a.Severity)},
		Annotations: map[string]string{"summary": summary(a), "description": a.Meaning + " " + a.Do, "runbook": "docs/alerts.md#" + strings.ToLower(a.Name)},
	}
	if a.For > 0 {
		rule.For = Duration(a.For)
	}
	if a.SLI != "" {
		rule.Labels[slo.LabelSLI] = a.SLI
	}
	w.alerts = append(w.alerts, rule)
}

// condition returns an expression whose value is that of the condition, where it holds.
func (w *writer) condition(c slo.Condition, by []string) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
	switch {
	case c.Forecast > 0:
		return w.forecast(c, by)
	case c.Growth > 0:
		now, before := w.events(c.Value, by, c.Over), w.events(c.Value, by, c.Before)
		return fmt.Sprintf("((%s / %s) / (%s offset %s / %s) >= %s and %s offset %s)", now, number(c.Over.Seconds()),
			before, Duration(c.Over), number(c.Before.Seconds()), number(c.Growth), now, Duration(c.Over+c.Before))
	case c.Over == 0:
		return fmt.Sprintf("%s >= %s", w.record(Recorded(c.Value, by, 0), w.level(c.Value, by), 0), number(c.AtLeast))
	}
	value, per := w.events(c.Value, by, c.Over), ""
	if c.Per != "" {
		per = " / " + w.events(c.Per, by, c.Over)
	}
	general := fmt.Sprintf("%s%s >= %s", value, per, number(c.AtLeast))
	if len(c.Instead) == 0 {
		return "(" + general + ")"
	}
	// Routes with a limit of their own are taken out, and held against that.
	var own, held []string
	for _, l := range c.Instead {
		one := value + fmt.Sprintf("{service=%s,route=%s}", strconv.Quote(l.Service), strconv.Quote(l.Route))
		own, held = append(own, one), append(held, fmt.Sprintf("%s%s >= %s", one, per, number(l.AtLeast)))
	}
	return fmt.Sprintf("((%s unless (%s)) or %s)", general, strings.Join(own, " or "), strings.Join(held, " or "))
}

func (w *writer) level(m slo.Measure, by []string) string {
	return Level(m, by, slo.Shorter(time.Hour, w.scale), w.settings.MinAnswers)
}

// forecast compares a straight line through the worst values of a day.
func (w *writer) forecast(c slo.Condition, by []string) string {
	now := w.record(Recorded(c.Value, by, 0), w.level(c.Value, by), 0)
	day := slo.Shorter(24*time.Hour, w.scale)
	worst := w.record(now+":min"+Duration(day), fmt.Sprintf("min_over_time(%s[%s])", now, Duration(day)), 0)
	half := c.Over.Seconds() / w.every.Seconds() / 2
	return fmt.Sprintf("(predict_linear(%[1]s[%[2]s], %[3]g) <= 0 and %[1]s > 0 and count_over_time(%[1]s[%[2]s]) >= %[4]g)",
		worst, Duration(c.Over), c.Forecast.Seconds(), half)
}

// summary writes the summary as a template of Prometheus.
func summary(a slo.Alert) string {
	return slo.Fill(a.Summary, func(name string, spaced bool) string {
		text := "{{ $labels." + name + " }}"
		switch {
		case name == "value" && a.Unit == "ratio":
			text = "{{ $value | humanizePercentage }}"
		case name == "value" && a.Unit == "s":
			text = "{{ $value | humanizeDuration }}"
		case name == "value":
			text = `{{ printf "%.0f" $value }}`
		case name == "peer" && spaced: // a stage that is called as its peer is said once
			return "{{ with $labels.peer }}{{ if ne . $labels.stage }} {{ . }}{{ end }}{{ end }}"
		case spaced:
			return "{{ with $labels." + name + " }} {{ . }}{{ end }}"
		}
		if spaced {
			return " " + text
		}
		return text
	}, func(filled string, labels []string) string {
		return "{{ if or $labels." + strings.Join(labels, " $labels.") + " }}" + filled + "{{ end }}"
	})
}
