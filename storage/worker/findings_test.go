package worker

import (
	"strings"
	"testing"

	"github.com/laxity-dev/laxity/storage"
)

// A finding counts once, however often its trace is judged again.
func TestFindingsCountOnce(t *testing.T) {
	finding := func(span byte, rule string) storage.Verdict {
		v := storage.Verdict{Stage: "find", Peer: `a "b"`}
		v.Span[0], v.Service, v.Rule = span, "edge", rule
		return v
	}
	first, second := finding(1, "late"), finding(2, "renewed_clock")
	var f findings
	f.add([]storage.Verdict{first}, nil)
	f.add([]storage.Verdict{first, second}, []storage.Verdict{first})
	f.add([]storage.Verdict{second}, []storage.Verdict{first, second})
	var out strings.Builder
	if err := f.write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`deadline_findings_total{service="edge",route="",stage="find",peer="a \"b\"",rule="late"} 1`,
		`deadline_findings_total{service="edge",route="",stage="find",peer="a \"b\"",rule="renewed_clock"} 1`,
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("%s is missing in\n%s", want, &out)
		}
	}
}
