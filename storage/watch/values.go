package watch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/storage"
)

// measured are the values of an evaluation, by the labels that alerts tell apart.
type measured map[string]alert.Values

func key(by []string) string { return strings.Join(by, " ") }

// of returns the values for the labels of an alert.
func (m measured) of(a slo.Alert) alert.Values { return m[key(a.By)] }

func empty() alert.Values {
	return alert.Values{
		Counts: map[alert.Count]map[alert.Labels]float64{}, Levels: map[slo.Measure]map[alert.Labels]float64{},
		Days: map[slo.Measure]map[alert.Labels][]alert.Day{}, First: map[alert.Labels]time.Time{},
	}
}

// found reports whether a measure comes from findings, else from counted minutes.
func found(m slo.Measure) bool { return m == slo.OrphanTime || m == slo.RenewedClocks }

// values asks for all that the alerts are evaluated from. Findings are taken as far as traces are judged.
func (w *Watch) values(ctx context.Context, at time.Time, progress map[storage.Step]time.Time) (measured, error) {
	needs := map[string][]alert.Count{}
	by := map[string][]string{}
	for _, a := range w.config.Alerts {
		if !alert.Outside(a) {
			by[key(a.By)] = a.By
			for _, c := range alert.Needs(a) {
				if !slices.Contains(needs[key(a.By)], c) {
					needs[key(a.By)] = append(needs[key(a.By)], c)
				}
			}
		}
	}
	judged := at
	if until := progress[storage.StepVerdicts].Truncate(time.Second); until.Before(judged) {
		judged = until
	}
	answer := measured{}
	for k, labels := range by {
		v := empty()
		for _, from := range []struct {
			findings bool
			at       time.Time
			ask      func(context.Context, alert.Values, []string, []alert.Count, time.Time) error
		}{{false, at, w.counted}, {true, judged, w.judged}} {
			wanted := slices.DeleteFunc(slices.Clone(needs[k]), func(c alert.Count) bool { return found(c.Measure) != from.findings })
			if len(wanted) == 0 || from.at.Unix() <= 0 {
				continue
			}
			if err := from.ask(ctx, v, labels, wanted, from.at); err != nil {
				return nil, err
			}
		}
		answer[k] = v
	}
	if lag, ok := workerLag(progress, at); ok {
		answer[""].Levels[slo.WorkerLag] = map[alert.Labels]float64{{}: lag.Seconds()}
	}
	if err := w.addMargins(ctx, answer[key([]string{"service", "route"})], at); err != nil {
		return nil, err
	}
	return answer, nil
}

func windows(wanted []alert.Count, at time.Time) []storage.Window {
	all := make([]storage.Window, len(wanted))
	for i, c := range wanted {
		all[i] = storage.Window{From: at.Add(-c.Back - c.Over), To: at.Add(-c.Back)}
	}
	return all
}

// recordBefore is how far back the first request is looked for.
const recordBefore = 3 * time.Hour

func (w *Watch) counted(ctx context.Context, v alert.Values, by []string, wanted []alert.Count, at time.Time) error {
	asked := append(windows(wanted, at), storage.Window{From: at.Add(-recordBefore), To: at.Add(-recordBefore)})
	counts, err := w.store.AlertCounts(ctx, by, asked)
	for labels, c := range counts {
		if !c.First.IsZero() {
			v.First[labels] = c.First
		}
		for i, want := range wanted {
			put(v, want, labels, c.Counts[want.Measure][i])
		}
	}
	return err
}

func (w *Watch) judged(ctx context.Context, v alert.Values, by []string, wanted []alert.Count, at time.Time) error {
	rows, err := w.store.AlertFindings(ctx, windows(wanted, at))
	for labels, row := range rows {
		renewed := labels.Rule != "orphan_work"
		if !slices.Contains(by, "rule") {
			labels.Rule = ""
		}
		if !slices.Contains(by, "cause") {
			labels.Cause = ""
		}
		for i, want := range wanted {
			switch {
			case want.Measure == slo.RenewedClocks && renewed:
				put(v, want, labels, row.Findings[i])
			case want.Measure == slo.OrphanTime && !renewed:
				put(v, want, labels, row.Seconds[i])
			}
		}
	}
	return err
}

func put(v alert.Values, c alert.Count, labels alert.Labels, value float64) {
	if v.Counts[c] == nil {
		v.Counts[c] = map[alert.Labels]float64{}
	}
	v.Counts[c][labels] += value
}

// workerLag is how far verdicts or minutes are behind the instant, whichever is further; ok is false where no worker ever ran.
func workerLag(progress map[storage.Step]time.Time, at time.Time) (time.Duration, bool) {
	verdicts, minutes := progress[storage.StepVerdicts], progress[storage.StepMinutes]
	if verdicts.IsZero() || minutes.IsZero() {
		return 0, false
	}
	if minutes.Before(verdicts) {
		verdicts = minutes
	}
	return at.Sub(verdicts), true
}

const (
	// maxRoutes bounds the routes whose margins are watched, those with the least margin first.
	maxRoutes = 300
	day       = 24 * time.Hour
)

// addMargins adds the 5th percentile of the margin of the last whole hour and the worst hour of each of seven days. It asks once an hour.
func (w *Watch) addMargins(ctx context.Context, v alert.Values, at time.Time) error {
	if v.Levels == nil {
		return nil
	}
	end := at.Truncate(time.Hour)
	if !end.Equal(w.marginsAt) {
		margins, err := w.askMargins(ctx, end)
		if err != nil {
			return err
		}
		w.margins, w.marginsAt = margins, end
	}
	v.Levels[slo.Margin], v.Days[slo.Margin] = w.margins.Levels[slo.Margin], w.margins.Days[slo.Margin]
	return nil
}

func (w *Watch) askMargins(ctx context.Context, end time.Time) (alert.Values, error) {
	margins := empty()
	levels, days := map[alert.Labels]float64{}, map[alert.Labels][]alert.Day{}
	margins.Levels[slo.Margin], margins.Days[slo.Margin] = levels, days
	q := storage.MarginQuestion{Window: storage.Window{From: end.Add(-7 * day), To: end}, Limit: maxRoutes}
	q, err := w.store.PlanMargins(ctx, q, time.Hour)
	if err != nil {
		return margins, err
	}
	routes, err := w.store.Margins(ctx, q)
	if err != nil || len(routes) == 0 {
		return margins, err
	}
	labels := map[uint64]alert.Labels{}
	for _, r := range routes {
		labels[r.Key] = alert.Labels{Service: r.Service, Route: r.Route}
		q.Keys = append(q.Keys, r.Key)
	}
	buckets, err := w.store.MarginBuckets(ctx, q, time.Hour)
	for _, b := range buckets { // each route's oldest first
		if b.P05 == nil || float64(b.Answered) < w.config.MinAnswers {
			continue
		}
		l, p05 := labels[b.Key], b.P05.Seconds()
		if b.At.Equal(end.Add(-time.Hour)) {
			levels[l] = p05
		}
		until := end.Add(-(end.Sub(b.At) - time.Hour).Truncate(day)) // the end of the day that the hour lies in
		if n := len(days[l]); n > 0 && days[l][n-1].At.Equal(until) {
			days[l][n-1].Worst = min(days[l][n-1].Worst, p05)
		} else {
			days[l] = append(days[l], alert.Day{At: until, Worst: p05})
		}
	}
	return margins, err
}

// blame returns the labels of the instances that hold, with stage, peer and cause of what was cancelled or refused most in their
// services: a hop, or without one the request itself.
func (w *Watch) blame(ctx context.Context, a slo.Alert, held map[alert.Labels]float64, at time.Time) (map[alert.Labels]alert.Labels, error) {
	answer := map[alert.Labels]alert.Labels{}
	for l := range held {
		answer[l] = l
	}
	if !a.Blame || len(held) == 0 {
		return answer, nil
	}
	window := storage.Window{From: at.Add(-a.Any[0][0].Over), To: at}
	counts, err := w.store.AlertCounts(ctx, []string{"service", "stage", "peer", "cause"}, []storage.Window{window})
	type top struct {
		labels alert.Labels
		count  float64
	}
	most := map[string]top{}
	for l, c := range counts {
		was, better := most[l.Service], false
		switch hop, wasHop := l.Stage != "", was.labels.Stage != ""; {
		case c.Blamed[0] == 0:
		case was.count == 0, hop && !wasHop:
			better = true
		case hop == wasHop:
			better = c.Blamed[0] > was.count || c.Blamed[0] == was.count && l.String() < was.labels.String()
		}
		if better {
			most[l.Service] = top{l, c.Blamed[0]}
		}
	}
	for id, l := range answer {
		if t, ok := most[l.Service]; ok {
			l.Stage, l.Peer, l.Cause = t.labels.Stage, t.labels.Peer, t.labels.Cause
			if l.Cause == "" {
				l.Cause = "refused"
			}
			answer[id] = l
		}
	}
	return answer, err
}
