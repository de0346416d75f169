package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/render"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/storage"
)

// Notifier is where people are told: a webhook or an Alertmanager.
type Notifier struct {
	Kind string // KindWebhook or KindAlertmanager
	URL  string
}

// The kinds of notifiers. A webhook is told of each change once; an Alertmanager of everything that fires, again and again, as it wants.
const (
	KindWebhook      = "webhook"
	KindAlertmanager = "alertmanager"
)

// Validate reports a URL that cannot be told.
func (n Notifier) Validate() error {
	u, err := url.Parse(n.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s %q is no address; use a complete http or https address", n.Kind, n.URL)
	}
	return nil
}

// Name names the notifier without what its address may keep secret: only the scheme and the host.
func (n Notifier) Name() string {
	u, err := url.Parse(n.URL)
	if err != nil {
		return n.Kind
	}
	return n.Kind + " " + u.Scheme + "://" + u.Host
}

// Statement is one offending trace.
type Statement struct {
	alert.Statement
	URL string `json:"url,omitempty"`
}

// Notification is what a webhook is told, as JSON.
type Notification struct {
	Version    string            `json:"version"` // "1"
	Status     alert.Status      `json:"status"`  // firing or resolved
	Test       bool              `json:"test"`
	Alert      string            `json:"alert"`
	Severity   slo.Severity      `json:"severity"`
	Labels     map[string]string `json:"labels"`
	Value      float64           `json:"value"`
	Unit       string            `json:"unit"`
	Summary    string            `json:"summary"`
	Meaning    string            `json:"meaning"`
	Do         string            `json:"do"`
	Since      time.Time         `json:"since"`
	At         time.Time         `json:"at"`
	URL        string            `json:"url,omitempty"`
	Statements []Statement       `json:"statements"`
}

const (
	// topStatements is how many traces a notification tells of.
	topStatements = 3
	// tellLimit bounds one request to a notifier.
	tellLimit = 10 * time.Second
	maxSpans  = 10_000
	// maxText bounds one statement, statementsLimit the time for those of all that begins to fire at once.
	maxText         = 16 << 10
	statementsLimit = 20 * time.Second
)

// notify tells the notifiers what they have not been told. What could not be delivered is told at the next step again.
func (w *Watch) notify(ctx context.Context, now time.Time) error {
	if len(w.config.Notifiers) == 0 {
		return nil
	}
	states, err := w.store.AlertStates(ctx)
	if err != nil {
		return err
	}
	silences, err := w.store.Silences(ctx, now)
	if err != nil {
		return err
	}
	var told []alert.State
	var current []Notification
	failed, waiting := map[int]error{}, map[delivery]bool{}
	for _, s := range states {
		definition, ok := w.definition(s.Name)
		muted := slices.ContainsFunc(silences, func(silence alert.Silence) bool { return silence.Mutes(s.ID, now) })
		if !ok || muted && s.Status == alert.Firing {
			continue
		}
		fires := s.Status == alert.Firing
		if !fires && s.Told != alert.Firing && (s.Status != alert.Resolved || now.Sub(s.Since) > resend) {
			continue
		}
		n := w.notification(definition, s)
		current = append(current, n)
		if fires && s.Told != alert.Firing || !fires && s.Told == alert.Firing {
			if !w.tellWebhooks(ctx, n, s.ID, failed, waiting) {
				continue
			}
			if s.Told = alert.Resolved; fires {
				s.Told = alert.Firing
			}
			told = append(told, s)
		}
	}
	w.delivered = waiting
	for i, to := range w.config.Notifiers {
		if to.Kind == KindAlertmanager && len(current) > 0 {
			failed[i] = to.send(ctx, current...)
		}
	}
	var errs []error
	for _, i := range slices.Sorted(maps.Keys(failed)) {
		errs = append(errs, failed[i])
	}
	return errors.Join(append(errs, w.store.WriteAlertStates(ctx, told))...)
}

// delivery is what one notifier, by its index, was told of one instance.
type delivery struct {
	to     int
	id     alert.ID
	status alert.Status
	since  int64
}

// tellWebhooks reports whether all webhooks know of a notification. One that fails is left alone until the next step, so that it keeps
// nobody waiting; the others are not told again meanwhile. It adds to failed who failed, and to waiting what others know already.
func (w *Watch) tellWebhooks(ctx context.Context, n Notification, id alert.ID, failed map[int]error, waiting map[delivery]bool) bool {
	var known []delivery
	all := true
	for i, to := range w.config.Notifiers {
		if to.Kind != KindWebhook {
			continue
		}
		d := delivery{i, id, n.Status, n.Since.UnixMilli()}
		knows := w.delivered[d]
		if !knows && failed[i] == nil {
			err := to.send(ctx, n)
			if knows = err == nil; !knows {
				failed[i] = err
			}
		}
		if all = all && knows; knows {
			known = append(known, d)
		}
	}
	for _, d := range known {
		if !all {
			waiting[d] = true
		}
	}
	return all
}

func (w *Watch) definition(name string) (slo.Alert, bool) {
	i := slices.IndexFunc(w.config.Alerts, func(a slo.Alert) bool { return a.Name == name })
	if i < 0 {
		return slo.Alert{}, false
	}
	return w.config.Alerts[i], true
}

func (w *Watch) notification(a slo.Alert, s alert.State) Notification {
	n := Notification{
		Version: "1", Status: alert.Resolved, Alert: a.Name, Severity: a.Severity, Labels: s.Labels.Map(), Value: s.Value, Unit: a.Unit, Summary: s.Summary,
		Meaning: a.Meaning, Do: a.Do, Since: s.Since, At: s.At, URL: w.page("/alerts"), Statements: []Statement{},
	}
	if s.Status != alert.Firing {
		return n
	}
	n.Status = alert.Firing
	for _, one := range s.Statements {
		n.Statements = append(n.Statements, Statement{one, w.page("/traces/" + one.TraceID)})
	}
	return n
}

// page returns the address of a page, "" where nobody knows it.
func (w *Watch) page(path string) string {
	if w.config.PublicURL == "" {
		return ""
	}
	return strings.TrimSuffix(w.config.PublicURL, "/") + path
}

// offending returns the statements of the traces that show best what an alert speaks of. The news is worth telling without them.
func (w *Watch) offending(ctx context.Context, a slo.Alert, s alert.State) []alert.Statement {
	found, err := w.askOffending(ctx, a, s)
	if err != nil {
		w.config.Logger.Warn("no statements for an alert", "alert", a.Name, "error", err)
	}
	return found
}

func (w *Watch) askOffending(ctx context.Context, a slo.Alert, s alert.State) (answer []alert.Statement, err error) {
	c := a.Any[0][0]
	what, ok := map[slo.Measure]string{
		slo.Missed: "missed", slo.MissedOrDegraded: "degraded", slo.StoppedLate: "cancelled", slo.WorkedOn: "cancelled", slo.SilentStreams: "silent",
		slo.OrphanTime: "orphan_work", slo.RenewedClocks: "renewed", slo.Margin: "tight",
	}[c.Value]
	if !ok {
		return nil, nil
	}
	// The slowest of a week need not be the latest.
	ids, err := w.store.AlertExamples(ctx, storage.Window{From: s.At.Add(-min(c.Over, day)), To: s.At}, what, s.Labels, topStatements)
	if err != nil {
		return nil, err
	}
	traces, err := w.store.Traces(ctx, ids, maxSpans)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		trace, ok := traces[id]
		if !ok {
			continue
		}
		for i := range trace.Spans {
			w.store.Classifier().Annotate(&trace.Spans[i])
		}
		opts, err := w.store.Learned(ctx, trace.Spans, verdict.Options{})
		if err != nil {
			return answer, err
		}
		var text bytes.Buffer
		if err := render.Text(&text, verdict.Judge(trace.Spans, opts), 80); err != nil {
			return answer, err
		}
		answer = append(answer, alert.NewStatement(id.String(), short(text.String())))
	}
	return answer, nil
}

// short leaves out the end of a statement that is too long to be told, at a line.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return text[:strings.LastIndexByte(text[:maxText], '\n')+1] + "…\n"
}

// Told is how telling one notifier went.
type Told struct {
	To    string `json:"to"`
	Error string `json:"error"` // "" is delivered
}

// Test tells every notifier of an alert as if it fired, marked as a test. It is safe for concurrent use.
func (w *Watch) Test(ctx context.Context, a slo.Alert, now time.Time) []Told {
	n := Notification{
		Version: "1", Status: alert.Firing, Test: true, Alert: a.Name, Severity: a.Severity, Labels: map[string]string{"test": "true"}, Unit: a.Unit,
		Summary: "Test of " + a.Name + ": nothing is wrong", Meaning: a.Meaning, Do: a.Do, Since: now, At: now, Statements: []Statement{},
	}
	told := []Told{}
	for _, notifier := range w.config.Notifiers {
		outcome := Told{To: notifier.Name()}
		if err := notifier.send(ctx, n); err != nil {
			outcome.Error = err.Error()
		}
		told = append(told, outcome)
	}
	return told
}

// Tells names the notifiers. It is safe for concurrent use.
func (w *Watch) Tells() []string {
	names := []string{}
	for _, n := range w.config.Notifiers {
		names = append(names, n.Name())
	}
	return names
}

// managed is an alert as the v2 API of Alertmanager takes it.
type managed struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
	Generator   string            `json:"generatorURL,omitempty"`
}

// send posts notifications: to a webhook one, to an Alertmanager all of them.
func (n Notifier) send(ctx context.Context, notifications ...Notification) error {
	target := n.URL
	var body any = notifications[0]
	if n.Kind == KindAlertmanager {
		target = strings.TrimSuffix(n.URL, "/") + "/api/v2/alerts"
		all := make([]managed, len(notifications))
		for i, one := range notifications {
			all[i] = one.managed()
		}
		body = all
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, tellLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(encoded))
	if err != nil {
		return fmt.Errorf("%s: no request can be made of its address", n.Name())
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) { // it repeats the address, which may hold a secret
			err = wrapped.Err
		}
		return fmt.Errorf("%s: %w", n.Name(), err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("%s answered %s", n.Name(), response.Status)
	}
	return nil
}

func (n Notification) managed() managed {
	m := managed{
		Labels: map[string]string{"alertname": n.Alert, slo.LabelSeverity: string(n.Severity)}, StartsAt: n.Since, Generator: n.URL,
		Annotations: map[string]string{"summary": n.Summary, "description": n.Meaning + " " + n.Do},
	}
	for name, value := range n.Labels {
		m.Labels[name] = value
	}
	// What fires is told anew each step; what is told no more ends by itself.
	if m.EndsAt = n.At.Add(trail + 5*time.Minute); n.Status != alert.Firing {
		m.EndsAt = n.Since
	}
	if n.Test {
		m.EndsAt = n.At.Add(time.Minute)
	}
	var traces []string
	for _, s := range n.Statements {
		traces = append(traces, strings.TrimSpace(s.TraceID+" "+s.URL+"\n"+s.Title))
	}
	if len(traces) > 0 {
		m.Annotations["traces"] = strings.Join(traces, "\n")
	}
	return m
}
