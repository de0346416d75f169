package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/laxity-dev/laxity/internal/demo"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

func TestEveryFaultHasItsRow(t *testing.T) {
	for _, f := range demo.Faults() {
		if _, described := outcomes[f]; !described {
			t.Errorf("nobody says what %s causes", f)
		}
	}
	if len(outcomes) != len(demo.Faults()) {
		t.Errorf("%d rows for %d faults", len(outcomes), len(demo.Faults()))
	}
}

// TestSliceOfTheCorpus plays three faults, alone and in pairs, and clean requests: labels come from the log alone, and the
// verdicts fit them.
func TestSliceOfTheCorpus(t *testing.T) {
	small := setup{timing: demo.Timing{Work: 0.1, Limits: 8}, atOnce: 9}
	faults := []demo.Fault{demo.RenewedClock, demo.DroppedHeader, demo.UncertainEffect}
	all := plays(faults, 2, 1)
	if len(all) != 9 {
		t.Fatalf("%d plays of three faults twice and of their pairs", len(all))
	}
	traces, err := small.faulty(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	calm, err := small.clean(t.Context(), 40)
	if err != nil {
		t.Fatal(err)
	}
	if len(traces) != len(all) || len(calm) != 40 {
		t.Fatalf("%d traces of %d requests, %d of 40 clean ones", len(traces), len(all), len(calm))
	}
	paired := 0
	recorded, inferred := newScore(), newScore()
	for _, trace := range slices.Concat(traces, calm) {
		if len(trace.effects) == 2 {
			paired++
		}
		recorded.add(trace, labelsOf(trace), judge(trace.spans))
		inferred.add(trace, strippedLabels(trace), judge(strip(trace.spans)))
	}
	if paired != 3 {
		t.Errorf("%d of 3 pairs took effect", paired)
	}
	for _, s := range []*score{recorded, inferred} {
		for _, c := range s.complaints {
			t.Error(c)
		}
	}
	if got := recorded.rules[verdict.RuleRenewedClock].found; got != 4 {
		t.Errorf("renewed_clock is found %d times, of 4", got)
	}
	if n := warnings(calm, false) + warnings(calm, true); n != 0 {
		t.Errorf("%d warnings on clean requests", n)
	}
	for _, c := range calm {
		if len(c.effects) != 0 {
			t.Errorf("a clean request bears the label %s", c.label())
		}
	}
}

func TestStripLeavesNothingOfBudgets(t *testing.T) {
	traces, err := setup{timing: demo.Timing{Work: 0.1, Limits: 8}, atOnce: 1}.faulty(t.Context(), []play{{demo.HopLeftOpen}})
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	for _, s := range traces[0].spans {
		events += len(s.Events)
	}
	if events == 0 {
		t.Fatal("the fault left no event to strip")
	}
	for _, s := range strip(traces[0].spans) {
		for key := range s.Attrs {
			if strings.HasPrefix(key, budgetattr.Prefix) {
				t.Errorf("%s of %s keeps %s", s.Name, s.Service, key)
			}
		}
		for _, e := range s.Events {
			if e.Name == budgetattr.EventOpenChild {
				t.Errorf("%s of %s keeps event %s", s.Name, s.Service, e.Name)
			}
		}
	}
}

func TestLabelsDependOnWhatElseTookEffect(t *testing.T) {
	exhausted := sign{verdict.RuleExhausted, "edge"}
	owes := func(watched bool, faults ...demo.Fault) bool {
		return slices.Contains(labelsOf(&trace{effects: faults, watched: watched}).must, exhausted)
	}
	if !owes(false, demo.SlowDependency) || owes(false, demo.SlowDependency, demo.ClientLeaves) || owes(true, demo.SlowDependency) {
		t.Error("a slow dependency exhausts the edge, unless the client left or the edge only watches")
	}
	wasted := verdict.Finding{Rule: verdict.RuleWastedRetry, Service: "edge"}
	explains := func(faults ...demo.Fault) bool { return labelsOf(&trace{effects: faults}).explains(wasted) }
	if explains(demo.FirstTokenDelay) || !explains(demo.FirstTokenDelay, demo.LocalQueue) {
		t.Error("a second attempt is cut only where another fault took the time")
	}
	brief := verdict.Finding{Rule: verdict.RuleOrphanWork, Service: "model", Amount: 0}
	long := brief
	long.Amount += 1e9
	if l := labelsOf(&trace{effects: []demo.Fault{demo.Freeze}}); !l.explains(brief) || l.explains(long) {
		t.Error("only a moment of work after the end is a consequence")
	}
	if l := strippedLabels(&trace{effects: []demo.Fault{demo.RenewedClock}}); len(l.must) != 0 {
		t.Errorf("owed without deadline.*: %v", l.must)
	}
}
