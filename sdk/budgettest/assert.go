package budgettest

import (
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// WithinBudget fails the test unless every request that was recorded kept its budget, and there was one.
func WithinBudget(t testing.TB, r *Recorder) {
	t.Helper()
	budgeted := 0
	for _, s := range r.Entries() {
		margin, ok := s.Seconds(budgetattr.MarginKey)
		if !ok {
			continue
		}
		budgeted++
		if margin < 0 {
			t.Errorf("%s overran its budget by %v (outcome %s)", s.Name(), -margin, s.Text(budgetattr.OutcomeKey))
		}
	}
	if budgeted == 0 {
		t.Error("no request with a budget was recorded")
	}
}

// NeverStarted fails the test if a hop of one of the stages was started. A hop that was refused was not.
func NeverStarted(t testing.TB, r *Recorder, stages ...string) {
	t.Helper()
	for _, stage := range stages {
		for _, s := range r.spans.Started() {
			if s.Name() == stage && (Span{s}).started() {
				t.Errorf("%s was started", stage)
			}
		}
		for _, s := range r.Stage(stage) {
			if s.started() {
				t.Errorf("%s was started", stage)
			}
		}
	}
}

// started reports whether the hop ran. What was refused has a cause and nothing that could have stopped.
func (s Span) started() bool {
	_, ended := s.Value(budgetattr.CancelCauseKey)
	_, ran := s.Value(budgetattr.CancelConfirmedKey)
	return !ended || ran
}

// Stopped fails the test unless everything that was cancelled is known to have stopped within the given time of its
// signal, and nothing ran on when its request was over.
func Stopped(t testing.TB, r *Recorder, within time.Duration) {
	t.Helper()
	for _, s := range r.Spans() {
		if n := s.Int(budgetattr.OpenChildrenKey); n > 0 {
			t.Errorf("%s left %d hops running", s.Name(), n)
		}
		confirmed, cancelled := s.Value(budgetattr.CancelConfirmedKey)
		if !cancelled {
			continue
		}
		if !confirmed.AsBool() {
			t.Errorf("%s was cancelled and not seen to stop", s.Name())
		}
		if after, _ := s.Seconds(budgetattr.PostCancelTimeKey); after > within {
			t.Errorf("%s worked on for %v after its cancellation", s.Name(), after)
		}
	}
}

// Decided fails the test unless the last hop of the stage ended with the decision.
func Decided(t testing.TB, r *Recorder, stage string, want budgetattr.Decision) {
	t.Helper()
	if got := r.Last(t, stage).Decision(); got != want {
		t.Errorf("%s: decision %q, want %q", stage, got, want)
	}
}

// Quiet fails the test unless the provider soon works on nothing and has no more than the given number of connections open.
func Quiet(t testing.TB, p *Provider, connections int) {
	t.Helper()
	ok := eventually(func() bool {
		s := p.Stats()
		return s.Active == 0 && s.Connections <= connections
	})
	if !ok {
		t.Errorf("the provider is not left alone: %+v", p.Stats())
	}
}
