package contract

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/yamlfile"
)

const shop = `version: 1
service: shop
route: /buy
min_requests: 20
budget: 2s
min_budget: 500ms
margin:
  p05: 100ms
  p50: -1s
missed_ratio: 1%
degraded_ratio: 0.05
orphan_per_request: 5ms
max_retries: 1
stages:
  - stage: load
    peer: store
    spend_p95: 300ms
    reserve: 50ms
    min_useful: 20ms
    degraded_ratio: 0
    max_retries: 0
`

func of[T any](v T) *T { return &v }

func seconds(d time.Duration) *span.Seconds { return of(span.SecondsOf(d)) }

func measured() Measured {
	return Measured{
		Service: "shop", Route: "/buy", Requests: 1000, Answered: 990, BudgetMost: seconds(2 * time.Second), BudgetP05: seconds(time.Second),
		Margins:     []*span.Seconds{seconds(0), seconds(150 * time.Millisecond), seconds(time.Second), seconds(time.Second), seconds(time.Second)},
		MissedRatio: of(0.004), DegradedRatio: of(0.05), OrphanTime: seconds(time.Millisecond), Retries: of(uint64(1)),
		Stages: []StageMeasured{{Stage: "load", Calls: 1000, Runs: 1000, SpendP95: seconds(time.Hour)}, {
			Stage: "load", Peer: "store", Calls: 1000, Runs: 1000, SpendP95: seconds(300 * time.Millisecond), Reserve: seconds(50 * time.Millisecond),
			Allowance: seconds(30 * time.Millisecond), DegradedRatio: of(0.), Retries: of(uint64(0)),
		}},
	}
}

func parse(t *testing.T, text string) Contract {
	t.Helper()
	all, err := Parse("shop.yaml", []byte(text))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d contracts, %v", len(all), err)
	}
	return all[0]
}

// Equality keeps a promise, and every promise can be broken alone.
func TestCheck(t *testing.T) {
	c := parse(t, shop)
	kept := Check(c, measured())
	if len(kept) != 13 || Worst(kept) != OK {
		t.Fatalf("%d promises, %s: %+v", len(kept), Worst(kept), kept)
	}
	for promise, spoil := range map[string]func(*Measured){
		"budget":              func(m *Measured) { m.BudgetMost = seconds(2001 * time.Millisecond) },
		"min_budget":          func(m *Measured) { m.BudgetP05 = seconds(499 * time.Millisecond) },
		"margin p05":          func(m *Measured) { m.Margins[1] = seconds(99 * time.Millisecond) },
		"margin p50":          func(m *Measured) { m.Margins[4] = seconds(-2 * time.Second) },
		"missed_ratio":        func(m *Measured) { m.MissedRatio = of(0.011) },
		"degraded_ratio":      func(m *Measured) { m.DegradedRatio = of(0.06) },
		"orphan_per_request":  func(m *Measured) { m.OrphanTime = seconds(6 * time.Millisecond) },
		"max_retries":         func(m *Measured) { m.Retries = of(uint64(2)) },
		"load spend_p95":      func(m *Measured) { m.Stages[1].SpendP95 = seconds(time.Second) },
		"load reserve":        func(m *Measured) { m.Stages[1].Reserve = seconds(0) },
		"load min_useful":     func(m *Measured) { m.Stages[1].Allowance = seconds(time.Millisecond) },
		"load degraded_ratio": func(m *Measured) { m.Stages[1].DegradedRatio = of(0.001) },
		"load max_retries":    func(m *Measured) { m.Stages[1].Retries = of(uint64(1)) },
	} {
		m := measured()
		spoil(&m)
		for _, r := range Check(c, m) {
			want := OK
			if strings.TrimSpace(r.Stage+" "+r.Promise) == promise {
				want = Violated
			}
			if r.Status != want {
				t.Errorf("%s: %s of %q is %s", promise, r.Promise, r.Stage, r.Status)
			}
		}
	}
}

// What too few requests or no record say is not known, and never passes for kept.
func TestCheckWithoutEnough(t *testing.T) {
	c := parse(t, shop)
	for want, m := range map[string]Measured{"no request with a budget in this window": {}, "not recorded": {Requests: 1000, Stages: []StageMeasured{{Stage: "load", Peer: "store", Calls: 1000}}}} {
		for _, r := range Check(c, m) {
			if r.Status != Unknown || r.Why != want {
				t.Errorf("%+v, want %s", r, want)
			}
		}
	}
	gone := measured()
	gone.Stages = nil
	for _, r := range Check(c, gone) {
		if want := "no call of this stage in this window"; r.Stage != "" && (r.Status != Unknown || r.Why != want) {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	few := measured()
	few.Requests, few.Answered = 19, 19
	for _, r := range Check(c, few) {
		if want := r.Stage == ""; (r.Status == Unknown) != want {
			t.Errorf("%+v", r)
		}
	}
	if got := Worst([]Result{{Status: Violated}, {Status: Unknown}}); got != Violated {
		t.Errorf("worst is %s", got)
	}
}

// Wilson's interval against values worked out elsewhere.
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		share     float64
		n         uint64
		low, high float64
	}{{0, 100, 0, 0.037}, {0.1, 100, 0.0552, 0.1744}, {1, 10, 0.7225, 1}} {
		low, high := interval(c.share, c.n)
		if low < c.low-5e-4 || low > c.low+5e-4 || high < c.high-5e-4 || high > c.high+5e-4 {
			t.Errorf("%v of %d: %v to %v", c.share, c.n, low, high)
		}
	}
}

// A draft is read back as it was, and what it was made from keeps it.
func TestDraft(t *testing.T) {
	m := measured()
	m.Stages[0].Runs = 1000
	draft := Draft(m)
	again := parse(t, draft.Write())
	if !reflect.DeepEqual(draft, again) {
		t.Errorf("written %+v\nread %+v\n%s", draft, again, draft.Write())
	}
	if results := Check(again, m); Worst(results) != OK || len(results) < 7 {
		t.Errorf("%+v", results)
	}
	// Of few calls without a fault no more is promised than they prove, and no promise is zero seconds.
	none := 0.0
	m.Stages[0].Runs, m.Stages[0].Calls, m.Stages[0].Peer, m.Stages[0].DegradedRatio, m.OrphanTime = 41, 41, "", &none, seconds(0)
	m.Stages = m.Stages[:1]
	if d := Draft(m); len(d.Stages) != 1 || *d.Stages[0].DegradedRatio < 0.08 || *d.Stages[0].DegradedRatio > 0.09 || *d.OrphanTime != time.Millisecond {
		t.Errorf("%+v", d)
	}
	whole := parse(t, shop)
	if again := parse(t, whole.Write()); !reflect.DeepEqual(whole, again) {
		t.Errorf("written %+v\nread %+v", whole, again)
	}
}

func TestParseRefuses(t *testing.T) {
	begin := "version: 1\nservice: shop\nroute: /buy\n"
	for text, want := range map[string]string{
		"":                                             "bad.yaml: the file is empty",
		"- 1":                                          "bad.yaml:1: a contract is not a list of keys",
		begin:                                          "bad.yaml:1: nothing is promised",
		begin + "missd_ratio: 0.1":                     `bad.yaml:4: there is no key "missd_ratio" in a contract; keys: budget, degraded_ratio,`,
		begin + "missed_ratio: 2":                      `bad.yaml:4: "2" is no share`,
		begin + "missed_ratio: 200%":                   `bad.yaml:4: "200%" is no share`,
		begin + "missed_ratio: NaN":                    `bad.yaml:4: "NaN" is no share`,
		begin + "budget: 5":                            `bad.yaml:4: "5" is no length`,
		begin + "budget: -5s":                          "bad.yaml:4: -5s is negative",
		begin + "budget: 1s\nbudget: 2s":               "bad.yaml:5: budget is given twice",
		begin + "budget: 1s\nmin_budget: 2s":           "min_budget is more than budget",
		begin + "margin: {p99: 1s}":                    `bad.yaml:4: there is no key "p99" in margin`,
		begin + "margin: 1s":                           "bad.yaml:4: margin is not a list of keys",
		begin + "max_retries: -1":                      `bad.yaml:4: "-1" is no whole number`,
		begin + "min_requests: 0":                      "bad.yaml:4: min_requests is a whole number above zero",
		begin + "stages: {load: 1s}":                   "bad.yaml:4: stages is a list",
		begin + "stages:\n- spend_p95: 1s":             "bad.yaml:5: stage is missing",
		begin + "stages:\n- stage: a\n- stage: a":      "bad.yaml:6: stage a is given twice",
		"version: 2\nservice: a\nroute: b\nbudget: 1s": "version 2 is not known",
		"service: a\nbudget: 1s":                       "bad.yaml:1: version is missing",
		begin + "budget: [":                            "bad.yaml: line",
		begin + "budget: &a 1s\nservice: *a":           "given twice",
	} {
		_, err := Parse("bad.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	// Everything wrong is told at once.
	_, err := Parse("bad.yaml", []byte(begin+"budget: x\nmissed_ratio: y\n"))
	var problem *yamlfile.Problem
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !errors.As(err, &problem) || problem.Line != 4 {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(shop))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Parse("f.yaml", data)
		if err != nil {
			return
		}
		for _, c := range all {
			if _, err := Parse("again.yaml", []byte(c.Write())); err != nil {
				t.Errorf("%v\n%s", err, c.Write())
			}
		}
	})
}
