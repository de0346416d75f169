package verdict

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// TestIssueIncludedInNamesWhatCounts: a line that is left out of the totals names one that is in them, however many calls
// lie between the two, and the totals are the sums of what is in them.
func TestIssueIncludedInNamesWhatCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Judge(drawTrace(t), drawOptions(t))
		counted := map[LineKind]map[string]bool{LineOrphan: {}, LinePostCancel: {}, LineOverhang: {}}
		sums := map[LineKind]span.Seconds{}
		for _, l := range s.Lines {
			if l.Kind.Outside() && l.IncludedIn == "" && counted[l.Kind] != nil {
				counted[l.Kind][l.SpanID] = true
				sums[l.Kind] += l.Amount
			}
		}
		for _, l := range s.Lines {
			if l.IncludedIn != "" && !counted[l.Kind][l.IncludedIn] {
				t.Errorf("%s line of %s is included in %s, which is not counted", l.Kind, l.SpanID, l.IncludedIn)
			}
		}
		if sums[LineOrphan] != s.Orphan || sums[LinePostCancel] != s.PostCancel {
			t.Errorf("orphan %v, post-cancel %v; the lines sum to %v", s.Orphan, s.PostCancel, sums)
		}
	})
}

// TestIssueOneSpanIDForAll: that many services use one span id makes no trace take long.
func TestIssueOneSpanIDForAll(t *testing.T) {
	const n = 50_000
	spans := make([]span.Span, 0, 2*n)
	for i := range n {
		service := fmt.Sprint("s", i)
		spans = append(spans,
			span.Span{Trace: span.TraceID{1}, ID: span.ID{1}, Service: service, Kind: span.KindInternal, End: 5},
			span.Span{Trace: span.TraceID{1}, ID: span.ID{2, byte(i >> 16), byte(i >> 8), byte(i)}, Parent: span.ID{1}, Service: service, Kind: span.KindClient, End: 5})
	}
	began := time.Now()
	s := Judge(spans, Options{})
	if s.Spans != 2*n || !s.Complete {
		t.Errorf("%d spans, complete %v", s.Spans, s.Complete)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestAtLeast(t *testing.T) {
	for n, want := range map[int]int{1: 1, 5: 5, 9: 5, 30: 20, 99: 50, 100: 100, 499: 200, 1_234_567: 1_000_000} {
		if got := AtLeast(n); got != want {
			t.Errorf("at least %d of %d, want %d", got, n, want)
		}
	}
}

// TestIssueClockSkewNeedsAnOffset: a callee that ends a moment after a call that was cut, or by more than other calls between
// the two allow, contradicts no clock.
func TestIssueClockSkewNeedsAnOffset(t *testing.T) {
	const ms = int64(time.Millisecond)
	call := func(id byte, at, length int64, attrs span.Attributes) []span.Span {
		return []span.Span{
			{Trace: span.TraceID{1}, ID: span.ID{id}, Parent: span.ID{1}, Service: "edge", Name: "POST", Kind: span.KindClient, Start: at, End: at + length, Attrs: attrs},
			{Trace: span.TraceID{1}, ID: span.ID{id + 1}, Parent: span.ID{id}, Service: "model", Name: "POST /chat", Kind: span.KindServer, Start: at + 7*ms, End: at + length + 4*ms},
		}
	}
	entry := span.Span{Trace: span.TraceID{1}, ID: span.ID{1}, Service: "edge", Name: "POST /", Kind: span.KindServer, Start: 0, End: 9000 * ms}
	skewed := func(spans ...span.Span) bool {
		return slices.ContainsFunc(Judge(spans, Options{}).Findings, func(f Finding) bool { return f.Rule == RuleClockSkew })
	}
	unexplained := call(2, 100*ms, 5000*ms, nil)
	if !skewed(append(unexplained, entry)...) {
		t.Error("nothing said of a callee that ends after a call that was not cut")
	}
	cut := call(2, 100*ms, 5000*ms, span.Attributes{budgetattr.CancelCauseKey: string(budgetattr.CauseStreamIdle)})
	if skewed(append(cut, entry)...) {
		t.Error("a callee of a call that was cut is taken for a wrong clock")
	}
	other := call(4, 6000*ms, 100*ms, nil)
	other[1].Start, other[1].End = other[0].Start+ms/4, other[0].End-ms/4
	if skewed(append(append(unexplained, entry), other...)...) {
		t.Error("an offset is reported that another call between the two rules out")
	}
}

// TestIssueQueueAloneIsLocalSpend: a request that waited most of its budget in the local queue, and so came to no call, spent
// it locally.
func TestIssueQueueAloneIsLocalSpend(t *testing.T) {
	spent := func(queue float64) bool {
		s := Judge([]span.Span{{Trace: span.TraceID{1}, ID: span.ID{1}, Service: "edge", Name: "POST /", Kind: span.KindServer, End: int64(100 * time.Millisecond),
			Attrs: span.Attributes{budgetattr.BudgetReceivedKey: 0.1, budgetattr.QueueTimeKey: queue, budgetattr.OutcomeKey: string(budgetattr.OutcomeCancelled)}}}, Options{})
		return slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Rule == RuleLocalSpend })
	}
	if !spent(0.06) || spent(0.04) {
		t.Errorf("local spend of 60 %% in the queue: %v, of 40 %%: %v", spent(0.06), spent(0.04))
	}
}

// TestIssueNothingLeftIsNotRenewed: a child that is handed zero by a caller whose time is over has received nothing new.
func TestIssueNothingLeftIsNotRenewed(t *testing.T) {
	const ms = int64(time.Millisecond)
	renewed := func(received float64) bool {
		s := Judge([]span.Span{
			{Trace: span.TraceID{1}, ID: span.ID{1}, Service: "edge", Name: "POST", Kind: span.KindClient, End: 9 * ms,
				Attrs: span.Attributes{budgetattr.RemainingBeforeKey: -0.0094}},
			{Trace: span.TraceID{1}, ID: span.ID{2}, Parent: span.ID{1}, Service: "model", Name: "POST /chat", Kind: span.KindServer, Start: ms, End: 2 * ms,
				Attrs: span.Attributes{budgetattr.BudgetReceivedKey: received, budgetattr.BudgetSourceKey: string(budgetattr.SourceCaller)}},
		}, Options{})
		return slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Rule == RuleRenewedClock })
	}
	if renewed(0) || !renewed(0.003) {
		t.Errorf("renewed by 0: %v, by 3 ms: %v", renewed(0), renewed(0.003))
	}
}
