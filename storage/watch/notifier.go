package watch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/internal/slo"
)

// Notifier is where people are told: a webhook or an Alertmanager.
type Notifier struct {
	Kind string // KindWebhook or KindAlertmanager
	URL  string
	nth  int // above 1 for those that could not be told apart by their names
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
	name := n.Kind
	if u, err := url.Parse(n.URL); err == nil {
		name += " " + u.Scheme + "://" + u.Host
	}
	if n.nth > 1 {
		name += fmt.Sprintf(" (%d)", n.nth)
	}
	return name
}

// key tells the notifier from others where it is kept who was told, without its address.
func (n Notifier) key() string {
	sum := sha256.Sum256([]byte(n.URL))
	return hex.EncodeToString(sum[:8])
}

// numbered numbers those that have the same name.
func numbered(notifiers []Notifier) []Notifier {
	all := make([]Notifier, len(notifiers))
	count := map[string]int{}
	for i, n := range notifiers {
		n.nth = 0
		count[n.Name()]++
		n.nth = count[n.Name()]
		all[i] = n
	}
	return all
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
	limited, cancel := context.WithTimeout(ctx, tellLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodPost, target, bytes.NewReader(encoded))
	if err != nil {
		return fmt.Errorf("%s: no request can be made of its address", n.Name())
	}
	request.Header.Set("Content-Type", "application/json")
	// To follow a redirect would turn the message into a question, which any page answers, or tell somebody who was not named.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		var wrapped *url.Error
		if limited.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("%s did not answer within %s", n.Name(), tellLimit)
		}
		if errors.As(err, &wrapped) { // it repeats the address, which may hold a secret
			err = wrapped.Err
		}
		return fmt.Errorf("%s: %w", n.Name(), err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode >= 300 && response.StatusCode <= 399 {
		return fmt.Errorf("%s answered %s, which is not followed; name the address that it leads to", n.Name(), response.Status)
	}
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
