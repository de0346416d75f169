package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
)

// judge judges a trace as `laxity explain` does.
func judge(spans []span.Span) *verdict.Statement {
	spans = slices.Clone(spans)
	for i := range spans {
		classify.Builtin().Annotate(&spans[i])
	}
	return verdict.Judge(spans, verdict.Options{})
}

// tally counts what was said of one rule, in pairs of trace and service.
type tally struct {
	found, consequences, missed, wrong int
}

func (t tally) precision() (float64, bool) {
	said := t.found + t.consequences + t.wrong
	return float64(t.found+t.consequences) / float64(max(said, 1)), said > 0
}

func (t tally) recall() (float64, bool) {
	owed := t.found + t.missed
	return float64(t.found) / float64(max(owed, 1)), owed > 0
}

// score compares verdicts with labels.
type score struct {
	rules map[verdict.Rule]*tally
	// complaints say what is wrong or missing, a line each.
	complaints []string
	traces     int
}

func newScore() *score {
	s := &score{rules: map[verdict.Rule]*tally{}}
	for _, e := range verdict.Catalogue() {
		s.rules[e.Rule] = &tally{}
	}
	return s
}

// add compares one statement with what the trace's labels say.
func (s *score) add(t *trace, l labels, got *verdict.Statement) {
	s.traces++
	complain := func(what string, rule verdict.Rule, service, text string) {
		s.complaints = append(s.complaints, fmt.Sprintf("%s: trace %s: %s %s on %s%s", t.label(), t.spans[0].Trace, what, rule, service, text))
	}
	seen := map[sign]bool{}
	for _, f := range got.Findings {
		at := sign{f.Rule, f.Service}
		owed := slices.Contains(l.must, at)
		if !owed && !l.explains(f) {
			s.rules[f.Rule].wrong++
			complain("not so:", f.Rule, f.Service, ": "+f.Text)
			continue
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		if owed {
			s.rules[f.Rule].found++
		} else {
			s.rules[f.Rule].consequences++
		}
	}
	for _, m := range l.must {
		if !seen[m] {
			s.rules[m.rule].missed++
			complain("nothing said of", m.rule, m.service, "")
		}
	}
}

// least is the smallest precision and recall of the rules that count; what was neither said nor owed has neither.
func (s *score) least(counts func(verdict.Rule) bool) (precision, recall float64) {
	precision, recall = 1, 1
	for rule, t := range s.rules {
		if !counts(rule) {
			continue
		}
		if p, ok := t.precision(); ok {
			precision = min(precision, p)
		}
		if r, ok := t.recall(); ok {
			recall = min(recall, r)
		}
	}
	return precision, recall
}

// write prints the table of the rules.
func (s *score) write(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "finding\tfound\tconsequences\tmissed\twrong\tprecision\trecall")
	for _, e := range verdict.Catalogue() {
		t := s.rules[e.Rule]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\n", e.Rule, t.found, t.consequences, t.missed, t.wrong, share(t.precision()), share(t.recall()))
	}
	w.Flush()
}

func share(v float64, ok bool) string {
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}
