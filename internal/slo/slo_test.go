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
	a := alerts(t)[0]
	got := a.Text(map[string]string{"service": "edge", "route": "POST /v1/answer", "cause": "local_deadline"}, 0.2)
	if want := "edge POST /v1/answer: 20 % of requests late or out of time, mostly by local_deadline"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
