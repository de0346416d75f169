package storage

import (
	"context"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/internal/span"
)

// StepAlerts is up to which arrivals alerts have counted.
const StepAlerts Step = "alerts"

// maxAlertRows bounds the rows of one question about alerts.
const maxAlertRows = 100_000

//go:embed queries/alert_touched.sql
var alertTouchedSQL string

//go:embed queries/alert_roll.sql
var alertRollSQL string

// AlertMinutes answers with the minutes from oldest on of which hops arrived in the window, oldest first.
func (db *DB) AlertMinutes(ctx context.Context, w Window, oldest time.Time) ([]time.Time, error) {
	var answer []time.Time
	err := db.ask(ctx, alertTouchedSQL, func(rows driver.Rows) error {
		var second int64
		err := rows.Scan(&second)
		answer = append(answer, time.Unix(second, 0).UTC())
		return err
	}, w.arrival(map[string]any{"oldest": oldest.UnixNano(), "limit": maxAlertRows}))
	return answer, question("minutes for alerts", err)
}

// CountMinutes counts minutes, given in order, for alerts. Repeated, it changes nothing.
func (db *DB) CountMinutes(ctx context.Context, minutes []time.Time, version time.Time) error {
	if len(minutes) == 0 {
		return nil
	}
	seconds := make([]int64, len(minutes))
	for i, m := range minutes {
		seconds[i] = m.Unix()
	}
	return question("counts for alerts", db.run(ctx, alertRollSQL, map[string]any{
		"from": minutes[0].UnixNano(), "to": minutes[len(minutes)-1].Add(time.Minute).UnixNano(), "minutes": seconds, "version": uint64(version.UnixNano()),
	}))
}

// AlertCounts are several counts over several windows, for the labels that were asked for.
type AlertCounts struct {
	Counts map[slo.Measure][]float64 // one value for each window
	First  time.Time                 // when the first minute with requests began; zero without one
	Blamed []float64
}

//go:embed queries/alert_counts.sql
var alertCountsSQL string

// AlertCounts answers with what alerts count by the labels by, in several windows.
func (db *DB) AlertCounts(ctx context.Context, by []string, windows []Window) (map[alert.Labels]AlertCounts, error) {
	answer := map[alert.Labels]AlertCounts{}
	parameters := windowParameters(windows)
	parameters["by"] = by
	err := db.ask(ctx, alertCountsSQL, func(rows driver.Rows) error {
		var l alert.Labels
		var first int64
		counts := make([][]float64, 8)
		if err := rows.Scan(&l.Service, &l.Route, &l.Stage, &l.Peer, &l.Cause, &l.Phase, &first,
			&counts[0], &counts[1], &counts[2], &counts[3], &counts[4], &counts[5], &counts[6], &counts[7]); err != nil {
			return err
		}
		found := AlertCounts{Counts: map[slo.Measure][]float64{}, Blamed: counts[7]}
		for i, m := range []slo.Measure{slo.Requests, slo.Missed, slo.MissedOrDegraded, slo.Cancelled, slo.StoppedLate, slo.WorkedOn, slo.SilentStreams} {
			found.Counts[m] = counts[i]
		}
		if first > 0 {
			found.First = time.Unix(first, 0)
		}
		answer[l] = found
		return nil
	}, parameters)
	return answer, question("counts of alerts", err)
}

func windowParameters(windows []Window) map[string]any {
	begins, ends := make([]int64, len(windows)), make([]int64, len(windows))
	from, to := windows[0].From, windows[0].To
	for i, w := range windows {
		begins[i], ends[i] = w.From.Unix(), w.To.Unix()
		if w.From.Before(from) {
			from = w.From
		}
		if w.To.After(to) {
			to = w.To
		}
	}
	return map[string]any{"begins": begins, "ends": ends, "from": from.Unix(), "to": to.Unix(), "limit": maxAlertRows}
}

// FoundCounts are orphan seconds and findings in several windows.
type FoundCounts struct{ Seconds, Findings []float64 }

//go:embed queries/alert_findings.sql
var alertFindingsSQL string

// AlertFindings answers with orphan work and renewed clocks by service, stage, cause and rule, in several windows.
func (db *DB) AlertFindings(ctx context.Context, windows []Window) (map[alert.Labels]FoundCounts, error) {
	answer := map[alert.Labels]FoundCounts{}
	err := db.ask(ctx, alertFindingsSQL, func(rows driver.Rows) error {
		var l alert.Labels
		var found FoundCounts
		err := rows.Scan(&l.Service, &l.Stage, &l.Cause, &l.Rule, &found.Seconds, &found.Findings)
		answer[l] = found
		return err
	}, windowParameters(windows))
	return answer, question("findings of alerts", err)
}

//go:embed queries/alert_examples.sql
var alertExamplesSQL string

// AlertExamples answers with the traces that show best what an alert speaks of. what is missed, degraded, tight, cancelled, silent,
// orphan_work or renewed.
func (db *DB) AlertExamples(ctx context.Context, w Window, what string, l alert.Labels, limit int) ([]span.TraceID, error) {
	var answer []span.TraceID
	parameters := w.parameters()
	for name, value := range map[string]any{"what": what, "service": l.Service, "route": l.Route, "stage": l.Stage, "cause": l.Cause, "phase": l.Phase, "limit": limit} {
		parameters[name] = value
	}
	err := db.ask(ctx, alertExamplesSQL, func(rows driver.Rows) error {
		var hex string
		if err := rows.Scan(&hex); err != nil {
			return err
		}
		id, err := span.ParseTraceID(hex)
		answer = append(answer, id)
		return err
	}, parameters)
	return answer, question("examples of alerts", err)
}

//go:embed queries/alert_states.sql
var alertStatesSQL string

// AlertStates answers with the states that are kept: those that hold, those somebody must still be told of, and those of the last hour.
func (db *DB) AlertStates(ctx context.Context) ([]alert.State, error) {
	answer := []alert.State{}
	err := db.ask(ctx, alertStatesSQL, func(rows driver.Rows) error {
		var s alert.State
		var labels, blamed, statements, told string
		if err := rows.Scan(&s.Name, &labels, &blamed, (*string)(&s.Status), instant{&s.Since}, instant{&s.At}, &s.Value, &s.Summary, &statements, &told); err != nil {
			return err
		}
		var err error
		if s.Labels, err = alert.ParseLabels(labels); err != nil {
			return err
		}
		if blamed != "" {
			if s.Blamed, err = alert.ParseLabels(blamed); err != nil {
				return err
			}
		}
		s.Told = strings.Fields(told)
		s.Statements, err = readStatements(statements)
		answer = append(answer, s)
		return err
	}, map[string]any{"limit": maxAlertRows})
	return answer, question("states of alerts", err)
}

// WriteAlertStates writes states; those of the same alert and labels are replaced.
func (db *DB) WriteAlertStates(ctx context.Context, states []alert.State) error {
	if len(states) == 0 {
		return nil
	}
	return question("states of alerts", db.insert(ctx, "alert_states", []column{
		{"name", "String", each(states, func(s *alert.State) string { return s.Name })},
		{"labels", "String", each(states, func(s *alert.State) string { return s.Labels.String() })},
		{"blamed", "String", each(states, func(s *alert.State) string { return s.Blamed.String() })},
		{"state", "String", each(states, func(s *alert.State) string { return string(s.Status) })},
		{"since", "DateTime64(3, 'UTC')", each(states, func(s *alert.State) time.Time { return s.Since.UTC() })},
		{"at", "DateTime64(3, 'UTC')", each(states, func(s *alert.State) time.Time { return s.At.UTC() })},
		{"value", "Float64", each(states, func(s *alert.State) float64 { return s.Value })},
		{"summary", "String", each(states, func(s *alert.State) string { return s.Summary })},
		{"statements", "String", each(states, func(s *alert.State) string { return writeStatements(s.Statements) })},
		{"told", "String", each(states, func(s *alert.State) string { return strings.Join(s.Told, " ") })},
	}))
}

func readStatements(text string) (all []alert.Statement, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &all)
	}
	return all, err
}

func writeStatements(all []alert.Statement) string {
	if len(all) == 0 {
		return ""
	}
	text, _ := json.Marshal(all) // strings only: cannot fail
	return string(text)
}

// AlertChange is one change of the state of an alert.
type AlertChange struct {
	At      time.Time    `json:"at"`
	Name    string       `json:"name"`
	Labels  alert.Labels `json:"labels"`
	State   alert.Status `json:"state"`
	Value   float64      `json:"value"`
	Summary string       `json:"summary"`
	// Statements are those of the state that fires or fired.
	Statements []alert.Statement `json:"examples"`
}

//go:embed queries/alert_history.sql
var alertHistorySQL string

// AlertHistory answers with the changes in a window, newest first. An empty name means any.
func (db *DB) AlertHistory(ctx context.Context, w Window, name string, limit, skip int) ([]AlertChange, error) {
	answer := []AlertChange{}
	parameters := w.parameters()
	parameters["name"], parameters["limit"], parameters["skip"] = name, limit, skip
	err := db.ask(ctx, alertHistorySQL, func(rows driver.Rows) error {
		var c AlertChange
		var labels, statements string
		if err := rows.Scan(instant{&c.At}, &c.Name, &labels, (*string)(&c.State), &c.Value, &c.Summary, &statements); err != nil {
			return err
		}
		var err error
		if c.Labels, err = alert.ParseLabels(labels); err != nil {
			return err
		}
		if c.Statements, err = readStatements(statements); c.Statements == nil {
			c.Statements = []alert.Statement{}
		}
		answer = append(answer, c)
		return err
	}, parameters)
	return answer, question("history of alerts", err)
}

// WriteAlertHistory adds changes. Repeated, it adds them twice.
func (db *DB) WriteAlertHistory(ctx context.Context, changes []AlertChange) error {
	if len(changes) == 0 {
		return nil
	}
	return question("history of alerts", db.insert(ctx, "alert_history", []column{
		{"at", "DateTime64(3, 'UTC')", each(changes, func(c *AlertChange) time.Time { return c.At.UTC() })},
		{"name", "String", each(changes, func(c *AlertChange) string { return c.Name })},
		{"labels", "String", each(changes, func(c *AlertChange) string { return c.Labels.String() })},
		{"state", "String", each(changes, func(c *AlertChange) string { return string(c.State) })},
		{"value", "Float64", each(changes, func(c *AlertChange) float64 { return c.Value })},
		{"summary", "String", each(changes, func(c *AlertChange) string { return c.Summary })},
		{"statements", "String", each(changes, func(c *AlertChange) string { return writeStatements(c.Statements) })},
	}))
}

//go:embed queries/silences.sql
var silencesSQL string

// Silences answers with the silences that are, will be, or ended within a week.
func (db *DB) Silences(ctx context.Context, now time.Time) ([]alert.Silence, error) {
	answer := []alert.Silence{}
	err := db.ask(ctx, silencesSQL, func(rows driver.Rows) error {
		var s alert.Silence
		var matchers string
		if err := rows.Scan(&s.ID, &matchers, instant{&s.Since}, instant{&s.Until}, &s.Comment); err != nil {
			return err
		}
		err := json.Unmarshal([]byte(matchers), &s.Matchers)
		answer = append(answer, s)
		return err
	}, map[string]any{"now": now.UnixNano(), "limit": maxAlertRows})
	return answer, question("silences", err)
}

// WriteSilence writes a silence; one with the same id is replaced.
func (db *DB) WriteSilence(ctx context.Context, s alert.Silence) error {
	id, err := hex.DecodeString(s.ID)
	if err != nil || len(id) != 16 {
		return fmt.Errorf("silence: %q is no id", s.ID)
	}
	matchers, err := json.Marshal(s.Matchers)
	if err != nil {
		return fmt.Errorf("silence: %w", err)
	}
	return question("silence", db.insert(ctx, "silences", []column{
		{"id", "FixedString(16)", []string{string(id)}},
		{"matchers", "String", []string{string(matchers)}},
		{"since", "DateTime64(3, 'UTC')", []time.Time{s.Since.UTC()}},
		{"until", "DateTime64(3, 'UTC')", []time.Time{s.Until.UTC()}},
		{"comment", "String", []string{s.Comment}},
	}))
}

// AlertLease says that a process may evaluate alerts.
type AlertLease struct {
	Holder         string
	Claimed, Until time.Time
	Evaluated      time.Time // the instant that was evaluated last
	Problem        string    // what keeps notifications from being delivered
}

//go:embed queries/alert_leases.sql
var alertLeasesSQL string

// AlertLeases answers with the leases, the valid one claimed first in front, and with the clock of the server.
func (db *DB) AlertLeases(ctx context.Context) (leases []AlertLease, now time.Time, err error) {
	err = db.ask(ctx, alertLeasesSQL, func(rows driver.Rows) error {
		var l AlertLease
		err := rows.Scan(&l.Holder, instant{&l.Claimed}, instant{&l.Until}, instant{&l.Evaluated}, &l.Problem, instant{&now})
		leases = append(leases, l)
		return err
	}, map[string]any{"limit": 1000})
	if err == nil && now.IsZero() { // no lease yet
		var engine Engine
		engine, err = db.Engine(ctx)
		now = engine.Now
	}
	return leases, now, question("leases of alerts", err)
}

// WriteAlertLease writes the lease of one process.
func (db *DB) WriteAlertLease(ctx context.Context, l AlertLease) error {
	when := func(at time.Time) []time.Time { return []time.Time{at.UTC()} }
	if l.Evaluated.IsZero() {
		l.Evaluated = time.Unix(0, 0)
	}
	return question("lease of alerts", db.insert(ctx, "alert_leases", []column{
		{"holder", "String", []string{l.Holder}},
		{"claimed", "DateTime64(3, 'UTC')", when(l.Claimed)},
		{"until", "DateTime64(3, 'UTC')", when(l.Until)},
		{"evaluated", "DateTime64(3, 'UTC')", when(l.Evaluated)},
		{"problem", "String", []string{l.Problem}},
	}))
}
