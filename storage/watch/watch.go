// Package watch evaluates the alerts of package slo over ClickHouse, for installations without Prometheus, and tells people. Of the
// processes that watch one database one evaluates at a time; all state lies in tables, so any of them goes on where another ended.
package watch

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/storage"
)

// Config says what to watch and whom to tell. Zero fields but Store and Alerts take their defaults.
type Config struct {
	Store  *storage.DB
	Alerts []slo.Alert
	// MinAnswers is that of the settings from which the alerts were made, 40.
	MinAnswers float64
	Notifiers  []Notifier
	// PublicURL is where the page is, for links; "" leaves links out.
	PublicURL string
	// Holder names this process among those that watch. A random word.
	Holder string
	// Every is the time between two looks, 15 s; an evaluation takes place when a minute is complete.
	Every time.Duration
	// Telling is after how long in one step no further message to a webhook is begun, 20 s: with one more, less than a lease.
	Telling time.Duration
	Logger  *slog.Logger
}

const (
	// trail is how far evaluation stays behind the server's clock, because what was acknowledged earlier may become visible later.
	trail = 60 * time.Second
	// lease is how long a process that ended keeps others from evaluating; settle how long one that claims waits for the claims of
	// others to show.
	lease  = 60 * time.Second
	settle = 5 * time.Second
	// reach is the longest window of minutes, and an hour to spare.
	reach = 73 * time.Hour
	// chunk is how many minutes are counted by one statement.
	chunk = 180
	// resend is how long Alertmanager is told of what was resolved.
	resend = 10 * time.Minute
)

// Watch evaluates and tells. One goroutine at a time may use Run, Step and EvaluateAt; Test may be called by any.
type Watch struct {
	store  *storage.DB
	config Config
	own    storage.AlertLease
	// margins are what alerts on margins are evaluated from, of the hour that ended at marginsAt.
	margins   alert.Values
	marginsAt time.Time
}

// New returns a watch.
func New(config Config) (*Watch, error) {
	if config.Store == nil || len(config.Alerts) == 0 {
		return nil, errors.New("watch: no storage, or no alerts")
	}
	config.Every = cmp.Or(config.Every, 15*time.Second)
	config.Telling = cmp.Or(config.Telling, 20*time.Second)
	config.Holder = cmp.Or(config.Holder, rand.Text())
	config.Logger = cmp.Or(config.Logger, slog.Default())
	config.Notifiers = numbered(config.Notifiers)
	config.MinAnswers = cmp.Or(config.MinAnswers, slo.DefaultSettings().MinAnswers)
	return &Watch{store: config.Store, config: config, own: storage.AlertLease{Holder: config.Holder}}, nil
}

// Run watches until the context ends, and then lets another process go on at once. What fails is logged and tried again.
func (w *Watch) Run(ctx context.Context) {
	ticker := time.NewTicker(w.config.Every)
	defer ticker.Stop()
	for {
		if err := w.Step(ctx); err != nil && ctx.Err() == nil && !storage.IsMissing(err) {
			w.config.Logger.Error("alerts were not evaluated; it is tried again", "error", err, "every", w.config.Every)
		}
		select {
		case <-ctx.Done():
			w.release(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
		}
	}
}

// Step renews the lease and, if this process holds it, evaluates what is due and tells what is untold.
func (w *Watch) Step(ctx context.Context) error {
	mine, now, err := w.acquire(ctx)
	if err != nil || !mine {
		return err
	}
	at := now.Add(-trail).Truncate(time.Minute)
	if at.After(w.own.Evaluated) {
		if err := w.EvaluateAt(ctx, at, now.Add(-trail)); err != nil {
			return err
		}
		w.own.Evaluated = at
		// That may have taken longer than the lease lasts: another one may have gone on.
		if mine, now, err = w.acquire(ctx); err != nil || !mine {
			return err
		}
	}
	w.own.Problem = ""
	if err := w.notify(ctx, now); err != nil {
		w.own.Problem = strings.ReplaceAll(err.Error(), "\n", "; ")
		w.config.Logger.Warn("not everybody was told of alerts; it is tried again", "error", err)
	}
	return w.store.WriteAlertLease(ctx, w.own)
}

// acquire claims or renews the lease; mine says whether this process may evaluate. Times are those of the server's clock.
func (w *Watch) acquire(ctx context.Context) (mine bool, now time.Time, err error) {
	leases, now, err := w.store.AlertLeases(ctx)
	if err != nil {
		return false, now, err
	}
	valid := slices.DeleteFunc(slices.Clone(leases), func(l storage.AlertLease) bool { return !l.Until.After(now) })
	held, mine := false, false
	for _, l := range valid {
		if l.Holder == w.own.Holder {
			if held = true; w.own.Claimed.IsZero() { // this process ended and is back
				w.own = l
			}
		}
	}
	switch {
	case held:
		mine = valid[0].Holder == w.own.Holder && now.Sub(w.own.Claimed) >= settle
	case len(valid) > 0:
		w.own.Claimed = time.Time{}
		return false, now, nil
	case !w.own.Claimed.IsZero(): // it ended, and nobody claimed it meanwhile
		mine = true
	default:
		w.own.Claimed = now.Truncate(time.Millisecond)
		for _, l := range leases { // go on from what another one did
			if l.Evaluated.After(w.own.Evaluated) {
				w.own.Evaluated = l.Evaluated
			}
		}
	}
	w.own.Until = now.Add(lease)
	if err := w.store.WriteAlertLease(ctx, w.own); err != nil {
		return false, now, err
	}
	return mine, now, nil
}

func (w *Watch) release(ctx context.Context) {
	if w.own.Until.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	w.own.Until = time.Unix(0, 0)
	if err := w.store.WriteAlertLease(ctx, w.own); err != nil {
		w.config.Logger.Debug("lease of alerts not given back", "error", err)
	}
}

// EvaluateAt evaluates every alert at an instant, a whole minute, and keeps the states. Spans that arrived before horizon are counted.
func (w *Watch) EvaluateAt(ctx context.Context, at, horizon time.Time) error {
	progress, err := w.store.Progress(ctx)
	if err != nil {
		return err
	}
	if err := w.count(ctx, at, progress[storage.StepAlerts], horizon); err != nil {
		return err
	}
	values, err := w.values(ctx, at, progress)
	if err != nil {
		return err
	}
	kept, err := w.store.AlertStates(ctx)
	if err != nil {
		return err
	}
	before := map[string][]alert.State{}
	for _, s := range kept {
		before[s.Name] = append(before[s.Name], s)
	}
	var states []alert.State
	var changes []storage.AlertChange
	without := 0 // alerts whose traces there was no time to look for
	limited, cancel := context.WithTimeout(ctx, statementsLimit)
	defer cancel()
	for _, a := range w.config.Alerts {
		if alert.Outside(a) {
			continue
		}
		v := values.of(a)
		held := alert.Evaluate(a, v, at)
		blamed, err := w.blame(ctx, a, held, at)
		if err != nil {
			return err
		}
		after, changed := alert.Advance(a, before[a.Name], held, at)
		for i := range after {
			if after[i].Active() {
				after[i].Summary = a.Text(blamed[after[i].Labels].Map(), after[i].Value)
			}
		}
		for _, c := range changed {
			s := &after[slices.IndexFunc(after, func(s alert.State) bool { return s.ID == c.ID })]
			if s.Status == alert.Firing {
				s.Blamed = alert.Labels{}
				if a.Blame {
					b := blamed[s.Labels]
					s.Blamed = alert.Labels{Stage: b.Stage, Peer: b.Peer, Cause: b.Cause}
				}
				if limited.Err() == nil {
					s.Statements = w.offending(limited, a, *s)
				} else {
					s.Statements, without = nil, without+1
				}
			}
			changes = append(changes, storage.AlertChange{At: at, Name: s.Name, Labels: s.Labels, State: s.Status, Value: s.Value, Summary: s.Summary, Statements: s.Statements})
		}
		states = append(states, after...)
	}
	if without > 0 {
		w.config.Logger.Warn("much fires at once: not all alerts name the traces that show them", "alerts", without)
	}
	// History first: a process that ends between the two tells a change twice rather than never.
	if err := w.store.WriteAlertHistory(ctx, changes); err != nil {
		return err
	}
	return w.store.WriteAlertStates(ctx, states)
}

// count counts the minutes anew of which something arrived since the last time.
func (w *Watch) count(ctx context.Context, at, since, horizon time.Time) error {
	if !horizon.After(since) {
		return nil
	}
	from := since
	if from.IsZero() {
		from = time.Unix(0, 0)
	}
	minutes, err := w.store.AlertMinutes(ctx, storage.Window{From: from, To: horizon}, at.Add(-reach))
	if err != nil {
		return err
	}
	for part := range slices.Chunk(minutes, chunk) {
		if err := w.store.CountMinutes(ctx, part, horizon); err != nil {
			return err
		}
	}
	return w.store.SetProgress(ctx, storage.StepAlerts, horizon)
}
