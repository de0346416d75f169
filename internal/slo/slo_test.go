package slo

import (
	"regexp"
	"slices"
	"testing"
	"time"
)

func alerts(t *testing.T) []Alert {
	t.Helper()
	all, err := Alerts(DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An alert says what it means, what to do and what guards it, and its summary names labels that it has.
func TestAlertsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, a := range alerts(t) {
		if names[a.Name] || a.Meaning == "" || a.Do == "" || a.Guard == "" || len(a.Any) == 0 || a.Severity != Page && a.Severity != Ticket {
			t.Errorf("%+v is not complete, or there are two", a)
		}
		names[a.Name] = true
		known := append(slices.Clone(a.By), "value")
		if a.Blame {
			known = append(known, "stage", "peer", "cause")
		}
		for _, label := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(a.Summary, -1) {
			if !slices.Contains(known, label[1]) {
				t.Errorf("%s: the summary names {%s}, which it has not", a.Name, label[1])
			}
		}
		if left := a.Text(nil, 1); regexp.MustCompile(`[{}]`).MatchString(left) {
			t.Errorf("%s: %q", a.Name, left)
		}
		for _, set := range a.Any {
			for _, c := range set {
				level := c.Value == Margin || c.Value == WorkerLag || c.Value == Down
				if !level && c.Over == 0 {
					t.Errorf("%s: %+v has no window", a.Name, c)
				}
			}
		}
	}
}

func TestScaled(t *testing.T) {
	before := alerts(t)
	after := Scaled(before, 60)
	if got := after[0].Any[0][0].Over; got != time.Minute {
		t.Errorf("an hour became %s", got)
	}
	if got := before[0].Any[0][0].Over; got != time.Hour {
		t.Errorf("the original became %s", got)
	}
	if got := Shorter(time.Second, 1e9); got != time.Millisecond {
		t.Errorf("nothing is left of a second: %s", got)
	}
}

func TestObjectives(t *testing.T) {
	s := DefaultSettings()
	s.Objectives = map[string]float64{InTime: 0.999}
	all, err := Alerts(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := all[0].Any[0][0].AtLeast; got < 0.0143 || got > 0.0145 {
		t.Errorf("fast burn at %v", got)
	}
	for _, wrong := range []map[string]float64{{InTime: 1}, {"unknown": 0.5}} {
		s.Objectives = wrong
		if _, err := Alerts(s); err == nil {
			t.Errorf("%v was accepted", wrong)
		}
	}
}

func TestText(t *testing.T) {
	named := func(name string) Alert {
		all := alerts(t)
		return all[slices.IndexFunc(all, func(a Alert) bool { return a.Name == name })]
	}
	for _, c := range []struct {
		alert  string
		labels map[string]string
		value  float64
		want   string
	}{
		{"BudgetMissedFast", map[string]string{"service": "edge", "route": "POST /v1/answer", "cause": "local_deadline"}, 0.2,
			"edge POST /v1/answer: 20 % of requests late or out of time, mostly by local_deadline"},
		{"BudgetMissedFast", map[string]string{"service": "edge", "route": "/", "stage": "account", "peer": "account", "cause": "refused"}, 0.2,
			"edge /: 20 % of requests late or out of time, mostly account by refused"},
		{"BudgetMissedFast", map[string]string{"service": "edge"}, 0.2, "edge: 20 % of requests late or out of time"},
		{"CancelledWorkStopsLate", map[string]string{"service": "rerank", "cause": "upstream_deadline"}, 0.97,
			"rerank: 97 % of work cancelled by upstream_deadline went on for more than 100 ms"},
		{"CancelledWorkStopsLate", map[string]string{"service": "rerank", "stage": "load"}, 0.97, "rerank load: 97 % of work cancelled went on for more than 100 ms"},
		{"OrphanWork", map[string]string{"service": "rerank"}, 61, "rerank: 61 s of work in an hour for callers that were gone"},
		{"SilentStreams", map[string]string{"service": "edge", "stage": "chat", "peer": "model", "phase": "first_token"}, 5,
			"edge chat: 5 streams of model fell silent in phase first_token"},
		{"WorkerLag", nil, 301, "verdicts or rollups are 301 s behind"},
	} {
		if got := named(c.alert).Text(c.labels, c.value); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
