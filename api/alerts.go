package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/storage"
)

type alertsAnswer struct {
	// Evaluated is the instant that was evaluated last by any process; nil while none was.
	Evaluated *instant `json:"evaluated_at"`
	// Problem is what keeps notifications from being delivered.
	Problem string `json:"problem"`
	// Tells names whom this process tells.
	Tells []string   `json:"tells"`
	Rows  []alertRow `json:"rows"`
}

type alertRow struct {
	Name     string       `json:"name"`
	Severity slo.Severity `json:"severity"`
	SLI      string       `json:"sli"`
	Unit     string       `json:"unit"`
	Meaning  string       `json:"meaning"`
	Do       string       `json:"do"`
	Guard    string       `json:"guard"`
	// Outside: it rests on what only Prometheus sees and is not evaluated here.
	Outside bool `json:"outside"`
	// Within is how soon somebody is told of trouble as bad as the limit, at the latest.
	Within     float64         `json:"within_s"`
	State      alert.Status    `json:"state"`
	Conditions [][]condition   `json:"conditions"`
	Instances  []alertInstance `json:"instances"`
}

type condition struct {
	Value   slo.Measure `json:"value"`
	Per     slo.Measure `json:"per"`
	Over    float64     `json:"over_s"`
	AtLeast float64     `json:"at_least"`
	// Instead are the limits of routes that have their own.
	Instead  []routeLimit `json:"instead"`
	Growth   float64      `json:"growth"`
	Before   float64      `json:"before_s"`
	Forecast float64      `json:"forecast_s"`
}

type routeLimit struct {
	Service string  `json:"service"`
	Route   string  `json:"route"`
	AtLeast float64 `json:"at_least"`
}

type alertInstance struct {
	Labels   alert.Labels `json:"labels"`
	State    alert.Status `json:"state"`
	Since    instant      `json:"since"`
	Value    float64      `json:"value"`
	Summary  string       `json:"summary"`
	Silenced bool         `json:"silenced"`
	// Examples are the statements that people were told, worst first.
	Examples []alert.Statement `json:"examples"`
}

// alerts answers with every alert, what it rests on and where it stands.
func (s *Server) alerts(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, "state")
	only := oneOf(p, "state", alert.Inactive, alert.Pending, alert.Firing)
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	states, err := s.config.Store.AlertStates(ctx)
	var silences []alert.Silence
	if err == nil {
		silences, err = s.config.Store.Silences(ctx, s.config.Now())
	}
	var leases []storage.AlertLease
	if err == nil {
		leases, _, err = s.config.Store.AlertLeases(ctx)
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	answer := alertsAnswer{Tells: []string{}, Rows: []alertRow{}}
	if last, ok := lastLease(leases); ok {
		answer.Problem = last.Problem
		if last.Evaluated.Unix() > 0 {
			answer.Evaluated = (*instant)(&last.Evaluated)
		}
	}
	if s.config.Watch != nil {
		answer.Tells = s.config.Watch.Tells()
	}
	for _, a := range s.config.Alerts {
		row := alertRow{
			Name: a.Name, Severity: a.Severity, SLI: a.SLI, Unit: a.Unit, Meaning: a.Meaning, Do: a.Do, Guard: a.Guard, Outside: alert.Outside(a), Within: a.Within.Seconds(),
			State: alert.Inactive, Conditions: shapeConditions(a), Instances: []alertInstance{},
		}
		for _, state := range states {
			if state.Name != a.Name || !state.Active() {
				continue
			}
			if state.Status == alert.Firing || row.State == alert.Inactive {
				row.State = state.Status
			}
			row.Instances = append(row.Instances, alertInstance{
				Labels: state.Labels, State: state.Status, Since: instant(state.Since), Value: *rounded(&state.Value), Summary: state.Summary,
				Silenced: slices.ContainsFunc(silences, func(silence alert.Silence) bool { return silence.Mutes(state, s.config.Now()) }),
				Examples: append([]alert.Statement{}, state.Statements...),
			})
		}
		if only == "" || only == row.State {
			answer.Rows = append(answer.Rows, row)
		}
	}
	c.JSON(http.StatusOK, answer)
}

// lastLease returns the lease of the process that evaluates, or else did last.
func lastLease(leases []storage.AlertLease) (storage.AlertLease, bool) {
	var last storage.AlertLease
	for _, l := range leases {
		if last.Holder == "" || l.Evaluated.After(last.Evaluated) {
			last = l
		}
	}
	return last, last.Holder != ""
}

func shapeConditions(a slo.Alert) [][]condition {
	sets := make([][]condition, len(a.Any))
	for i, set := range a.Any {
		for _, c := range set {
			instead := []routeLimit{}
			for _, l := range c.Instead {
				instead = append(instead, routeLimit{l.Service, l.Route, *rounded(&l.AtLeast)})
			}
			sets[i] = append(sets[i], condition{c.Value, c.Per, c.Over.Seconds(), *rounded(&c.AtLeast), instead, c.Growth, c.Before.Seconds(), c.Forecast.Seconds()})
		}
	}
	return sets
}

// alertHistory answers with the changes of alerts in a window, newest first.
func (s *Server) alertHistory(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, "from", "to", "name", "limit", "cursor")
	at, limit, name := p.window(s.config.Now()), p.limit(), p.text("name", 100)
	if _, known := s.alertNamed(name); name != "" && !known {
		p.fail(invalid("name", fmt.Sprintf("there is no alert %q", name), "GET /alerts lists them"))
	}
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	found, err := s.config.Store.AlertHistory(ctx, storage.Window{From: at.begin(), To: at.end()}, name, limit+1, at.Offset)
	if err != nil {
		s.fail(c, err)
		return
	}
	found, next := cut(found, limit, at)
	c.JSON(http.StatusOK, report[storage.AlertChange]{Window: shapeWindow(at, 0), Watermark: s.watermark(), Rows: found, Next: next})
}

func (s *Server) alertNamed(name string) (slo.Alert, bool) {
	i := slices.IndexFunc(s.config.Alerts, func(a slo.Alert) bool { return a.Name == name })
	if i < 0 {
		return slo.Alert{}, false
	}
	return s.config.Alerts[i], true
}

// testAlert tells everybody of an alert as if it fired.
func (s *Server) testAlert(c *gin.Context) {
	name := c.Param("name")
	a, known := s.alertNamed(name)
	if p := readParams(c.Request.URL.RawQuery); p.problem != nil {
		p.problem.write(c)
		return
	}
	if !known {
		notFound("there is no alert "+name, "GET /alerts lists them").write(c)
		return
	}
	if s.config.Watch == nil || len(s.config.Watch.Tells()) == 0 {
		(&problem{
			Type: kind("nobody-to-tell"), Title: "Nobody to tell", Status: http.StatusConflict,
			Detail: "this process knows nobody to tell of alerts", Advice: "start laxity api with --alert-webhook URL or --alertmanager URL",
		}).write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	c.JSON(http.StatusOK, gin.H{"told": s.config.Watch.Test(ctx, a, s.config.Now().UTC().Truncate(time.Millisecond))})
}

type silenceRow struct {
	ID       string            `json:"id"`
	Matchers map[string]string `json:"matchers"`
	Since    instant           `json:"since"`
	Until    instant           `json:"until"`
	Comment  string            `json:"comment"`
	Active   bool              `json:"active"`
}

func (s *Server) shapeSilence(silence alert.Silence) silenceRow {
	now := s.config.Now()
	return silenceRow{silence.ID, silence.Matchers, instant(silence.Since), instant(silence.Until), silence.Comment, !now.Before(silence.Since) && now.Before(silence.Until)}
}

// silences answers with the silences that are, will be, or ended within a week.
func (s *Server) silences(c *gin.Context) {
	if p := readParams(c.Request.URL.RawQuery); p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	found, err := s.config.Store.Silences(ctx, s.config.Now())
	if err != nil {
		s.fail(c, err)
		return
	}
	rows := []silenceRow{}
	for _, silence := range found {
		rows = append(rows, s.shapeSilence(silence))
	}
	c.JSON(http.StatusOK, gin.H{"rows": rows})
}

// addSilence keeps people from being told of some alerts for a while.
func (s *Server) addSilence(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery)
	silence, bad := s.readSilence(c.Request.Body)
	if p.problem != nil {
		bad = p.problem
	}
	if bad != nil {
		bad.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	if err := s.config.Store.WriteSilence(ctx, silence); err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusCreated, s.shapeSilence(silence))
}

// silenceLabels are the labels that a silence can name.
var silenceLabels = []string{"alertname", "service", "route", "stage", "peer", "cause", "phase", "rule"}

func (s *Server) readSilence(body io.Reader) (alert.Silence, *problem) {
	var said struct {
		Matchers map[string]string `json:"matchers"`
		For      string            `json:"for"`
		Comment  string            `json:"comment"`
	}
	if bad := readBody(body, &said, "silence", `{"matchers": {"alertname": "OrphanWork", "service": "shop"}, "for": "2h", "comment": "known"}`); bad != nil {
		return alert.Silence{}, bad
	}
	if len(said.Matchers) == 0 {
		return alert.Silence{}, invalid("matchers", "missing", "name at least one label; a silence of everything hides what is wrong")
	}
	for name, value := range said.Matchers {
		if !slices.Contains(silenceLabels, name) {
			return alert.Silence{}, invalid("matchers", fmt.Sprintf("there is no label %q", name), "labels are "+strings.Join(silenceLabels, ", "))
		}
		if value == "" || len(value) > 1000 || !utf8.ValidString(value) {
			return alert.Silence{}, invalid("matchers", "the value of "+name+" is empty or too long", "give the exact value of the label")
		}
	}
	if bad := s.mutesSomething(said.Matchers); bad != nil {
		return alert.Silence{}, bad
	}
	length, err := parseLength(said.For)
	if err != nil || length == 0 || length > 365*24*time.Hour {
		return alert.Silence{}, invalid("for", fmt.Sprintf("%q is no length up to a year", said.For), "lengths look like 30m, 2h, 7d")
	}
	if len(said.Comment) > 1000 || !utf8.ValidString(said.Comment) || strings.ContainsRune(said.Comment, 0) {
		return alert.Silence{}, invalid("comment", "not valid text of at most 1,000 bytes", "shorten it")
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	now := s.config.Now().UTC().Truncate(time.Millisecond)
	return alert.Silence{ID: hex.EncodeToString(id), Matchers: said.Matchers, Since: now, Until: now.Add(length), Comment: said.Comment}, nil
}

// mutesSomething refuses a silence that no alert can ever match, such as one with a misspelt name: who wrote it believes that it works.
func (s *Server) mutesSomething(matchers map[string]string) *problem {
	name, named := matchers["alertname"]
	var names []string
	for _, a := range s.config.Alerts {
		if alert.Outside(a) {
			if a.Name == name {
				return invalid("matchers", name+" is not evaluated here", "Prometheus evaluates it: silence it in Alertmanager")
			}
			continue
		}
		names = append(names, a.Name)
		if named && a.Name != name {
			continue
		}
		lacks := slices.DeleteFunc(slices.Sorted(maps.Keys(matchers)), func(label string) bool { return label == "alertname" || slices.Contains(alert.Has(a), label) })
		if len(lacks) == 0 {
			return nil
		}
		if named {
			return invalid("matchers", name+" has no label "+lacks[0], "it has "+strings.Join(append([]string{"alertname"}, alert.Has(a)...), ", "))
		}
	}
	if named {
		return invalid("matchers", fmt.Sprintf("there is no alert %q", name), "alerts are "+strings.Join(names, ", "))
	}
	return invalid("matchers", "no alert has all of these labels", "name fewer; GET /alerts shows the labels of what fires")
}

// endSilence ends a silence now. It may be repeated.
func (s *Server) endSilence(c *gin.Context) {
	id := strings.ToLower(c.Param("id"))
	if !markerID.MatchString(id) {
		invalid("id", "no id of a silence", "an id is 32 hexadecimal digits; GET /silences lists them").write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	now := s.config.Now().UTC().Truncate(time.Millisecond)
	found, err := s.config.Store.Silences(ctx, now)
	if err != nil {
		s.fail(c, err)
		return
	}
	i := slices.IndexFunc(found, func(silence alert.Silence) bool { return silence.ID == id })
	if i < 0 {
		notFound("there is no silence "+id, "GET /silences lists those that are").write(c)
		return
	}
	silence := found[i]
	if silence.Until.After(now) {
		silence.Until = now
		if err := s.config.Store.WriteSilence(ctx, silence); err != nil {
			s.fail(c, err)
			return
		}
	}
	c.JSON(http.StatusOK, s.shapeSilence(silence))
}

// alertsStale is from when alerts that are not evaluated are a warning.
const alertsStale = 10 * time.Minute

// alertsCheck says how native alerts are; ok is false where no process ever evaluated any.
func (s *Server) alertsCheck(ctx context.Context) (healthCheck, bool) {
	leases, _, err := s.config.Store.AlertLeases(ctx)
	if err != nil {
		s.config.Logger.Warn("alerts check failed", "error", err)
		return healthCheck{"alerts", checkWarn, "the state of alerts cannot be read", "see the log of the API"}, true
	}
	last, ok := lastLease(leases)
	switch age := s.config.Now().Sub(last.Evaluated); {
	case !ok || last.Evaluated.Unix() <= 0:
		return healthCheck{}, false
	case last.Problem != "":
		return healthCheck{"alerts", checkWarn, "not everybody is told of alerts: " + last.Problem, "it is tried again until it is delivered; correct --alert-webhook or --alertmanager if the address is wrong"}, true
	case age < 0:
		return healthCheck{"alerts", checkWarn, fmt.Sprintf("alerts wait: they were evaluated until %d minutes ahead of this clock", int(-age.Minutes())+1), "a clock was set back; look at those of the API and of ClickHouse: they are evaluated again when that time has come"}, true
	case age > alertsStale:
		return healthCheck{"alerts", checkWarn, fmt.Sprintf("alerts were evaluated last %d minutes ago", int(age.Minutes())), "run one laxity api without --alerts=false; its log says what fails"}, true
	}
	return healthCheck{Name: "alerts", Status: checkOK, Text: "alerts are evaluated"}, true
}
