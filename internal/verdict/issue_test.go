package verdict

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/laxity-dev/laxity/internal/span"
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
	if took := time.Since(began); took > 10*time.Second {
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
