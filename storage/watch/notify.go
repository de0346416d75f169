package watch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/render"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/storage"
)

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

// notify tells the notifiers what they have not been told, pages first. What could not be delivered is told at the next step again.
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
	var all []*news
	for _, s := range states {
		definition, ok := w.definition(s.Name)
		fires := s.Status == alert.Firing
		muted := slices.ContainsFunc(silences, func(silence alert.Silence) bool { return silence.Mutes(s, now) })
		if !ok || muted && fires || !fires && len(s.Told) == 0 && (s.Status != alert.Resolved || now.Sub(s.Since) > resend) {
			continue
		}
		all = append(all, &news{Notification: w.notification(definition, s), state: s})
	}
	slices.SortStableFunc(all, func(a, b *news) int { return cmp.Compare(a.Severity, b.Severity) })
	errs := w.tell(ctx, all)
	keys := make([]string, len(w.config.Notifiers))
	for i, n := range w.config.Notifiers {
		keys[i] = n.key()
	}
	var told []alert.State
	for _, n := range all {
		before := n.state.Told
		n.state.Told = slices.Clone(before)
		for _, i := range n.delivered {
			if n.fires() {
				n.state.Told = append(n.state.Told, keys[i])
			} else {
				n.state.Told = slices.DeleteFunc(n.state.Told, func(key string) bool { return key == keys[i] })
			}
		}
		if !n.fires() { // who is named no more need not be told of the end
			n.state.Told = slices.DeleteFunc(n.state.Told, func(key string) bool { return !slices.Contains(keys, key) })
		}
		if !slices.Equal(before, n.state.Told) {
			told = append(told, n.state)
		}
	}
	// Who was told is kept even by a process that is asked to end, or another would tell it again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellLimit)
	defer cancel()
	return errors.Join(append(errs, w.store.WriteAlertStates(ctx, told))...)
}

// news is what the notifiers are told of one instance, and which of them, by index, were.
type news struct {
	Notification
	state     alert.State
	delivered []int
}

func (n *news) fires() bool { return n.Status == alert.Firing }

// tell tells all notifiers at the same time, so that none keeps the others waiting. A webhook that fails, or that takes too long for all
// of it, is left alone until the next step.
func (w *Watch) tell(ctx context.Context, all []*news) []error {
	errs := make([]error, len(w.config.Notifiers))
	var mu sync.Mutex
	var group sync.WaitGroup
	began := time.Now()
	for i, to := range w.config.Notifiers {
		group.Go(func() {
			if to.Kind == KindAlertmanager {
				if len(all) > 0 {
					current := make([]Notification, len(all))
					for k, n := range all {
						current[k] = n.Notification
					}
					errs[i] = to.send(ctx, current...)
				}
				return
			}
			key := to.key()
			waiting := slices.DeleteFunc(slices.Clone(all), func(n *news) bool { return n.fires() == slices.Contains(n.state.Told, key) })
			for k, n := range waiting {
				if k > 0 && time.Since(began) > w.config.Telling {
					errs[i] = fmt.Errorf("%s takes long; messages that wait: %d", to.Name(), len(waiting)-k)
					return
				}
				if errs[i] = to.send(ctx, n.Notification); errs[i] != nil {
					return
				}
				mu.Lock()
				n.delivered = append(n.delivered, i)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return errs
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
		Version: "1", Status: alert.Resolved, Alert: a.Name, Severity: a.Severity, Labels: s.All(), Value: s.Value, Unit: a.Unit, Summary: s.Summary,
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
	told := make([]Told, len(w.config.Notifiers))
	var group sync.WaitGroup
	for i, notifier := range w.config.Notifiers {
		group.Go(func() {
			told[i].To = notifier.Name()
			if err := notifier.send(ctx, n); err != nil {
				told[i].Error = err.Error()
			}
		})
	}
	group.Wait()
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
