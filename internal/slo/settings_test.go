package slo

import (
	"strings"
	"testing"
	"time"
)

const file = `version: 1
objectives:
  in_time: 99.5%
  no_work_after_cancel: 0.8
min_requests: 50
min_cancelled: 10
min_answers: 80
orphan_time: 30s
worker_lag: 10m
routes:
  - service: shop
    route: /buy
    objectives: {in_time: 99.9%}
`

func TestParseSettings(t *testing.T) {
	s, err := ParseSettings("alerts.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if s.MinRequests != 50 || s.MinCancelled != 10 || s.MinAnswers != 80 || s.OrphanTime != 30*time.Second || s.WorkerLag != 10*time.Minute {
		t.Errorf("%+v", s)
	}
	all, err := Alerts(s)
	if err != nil {
		t.Fatal(err)
	}
	near := func(got, want float64) bool { return got > want-1e-9 && got < want+1e-9 }
	for _, c := range all[0].Any[0][:2] { // 14.4 times what is allowed, over the long window and the short one
		if !near(c.Limit("shop", "/buy"), 0.0144) || !near(c.Limit("shop", "/"), 0.072) || !near(c.Limit("other", "/buy"), 0.072) {
			t.Errorf("limits %+v", c)
		}
	}
	for text, want := range map[string]string{
		"": "a.yaml: want one document that begins with version: 1", "version: 1\n---\nversion: 1": "want one document", "version: [": "a.yaml: line",
		"orphan_time: 1s": "a.yaml:1: version is missing", "version: 2": "version 2 is not known", "- a": "not a list of keys",
		"version: 1\nobjectives: {in_time: 100%}":                                           `a.yaml:2: 100% is no objective`,
		"version: 1\nobjectives: {in_time: most}":                                           `a.yaml:2: "most" is no share`,
		"version: 1\nobjectives: {intime: 0.9}":                                             `there is no key "intime" in objectives; keys: in_time`,
		"version: 1\nmin_requests: 0":                                                       "a.yaml:2: use a whole number above zero",
		"version: 1\nworker_lag: 30s":                                                       "a.yaml:2: 30s is too short; the least is 2m",
		"version: 1\norphan_time: soon":                                                     `"soon" is no length`,
		"version: 1\nobjectives: {}":                                                        "a.yaml:2: objectives names none",
		"version: 1\nroutes: {}":                                                            "routes is a list",
		"version: 1\nroutes:\n- service: a\n  objectives: {in_time: 0.9}":                   "a.yaml:3: route is missing",
		"version: 1\nroutes:\n- {service: a, route: b, objectives: {stopped_in_time: 0.9}}": `no key "stopped_in_time"`,
		"version: 1\nroutes:\n- &r {service: a, route: b, objectives: {in_time: 0.9}}\n- {service: a, route: b, objectives: {in_time: 0.9}}": "a.yaml:4: a b is given twice",
	} {
		if _, err := ParseSettings("a.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := ParseSettings("a.yaml", []byte("version: 1\nmin_requests: x\nworker_lag: y")); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not everything that is wrong is told: %v", err)
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSettings("f.yaml", data)
		if err != nil {
			return
		}
		if _, err := Alerts(s); err != nil {
			t.Errorf("what was read does not make alerts: %v", err)
		}
	})
}
