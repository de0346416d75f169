package verdict

import (
	"testing"

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
