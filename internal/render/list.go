package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
)

// List writes one line per statement, worst first, for a terminal of so many columns (80 if width is less than 60).
func List(w io.Writer, statements []*verdict.Statement, width int) error {
	p := page{columns: width}
	if width < minWidth {
		p.columns = defaultWidth
	}
	if len(statements) == 0 {
		p.line("no traces")
	} else {
		p.line(left("TRACE", 32) + right("LASTED", 10) + " " + left("VERDICT", 17) + " ENTRY")
	}
	for _, s := range WorstFirst(statements) {
		p.line(left(s.TraceID, 32) + right(s.Duration.Human(), 10) + " " + left(label(s), 17) + " " + Clean(s.Service+" "+s.Route))
	}
	if len(statements) > 0 {
		p.line("")
		p.paragraph("", totals(statements))
	}
	_, err := w.Write(p.Bytes())
	return err
}

// label is the verdict in a word: the first violation, else how it ended. Nothing is in time without a budget.
func label(s *verdict.Statement) string {
	switch {
	case s.FirstViolation != "":
		return string(s.FirstViolation)
	case s.Class == verdict.ClassInTime && s.Margin != nil:
		return words(s.Class)
	}
	return words(s.Outcome)
}

func totals(statements []*verdict.Statement) string {
	violations, orphan := 0, span.Seconds(0)
	for _, s := range statements {
		if s.FirstViolation != "" {
			violations++
		}
		orphan += s.Orphan
	}
	text := fmt.Sprintf("%s, %d with a violation", count(len(statements), "trace"), violations)
	if orphan > 0 {
		text += "; work for nobody " + orphan.Human() + " in all"
	}
	return text + "."
}

// WorstFirst returns the statements in order of what deserves a look: missed or failed, then by the severity of their
// findings, degraded, cancelled; within each by how much time was overdrawn or wasted, then by length.
func WorstFirst(statements []*verdict.Statement) []*verdict.Statement {
	sorted := slices.Clone(statements)
	slices.SortStableFunc(sorted, func(a, b *verdict.Statement) int {
		return cmp.Or(cmp.Compare(badness(a), badness(b)), cmp.Compare(wasted(b), wasted(a)),
			cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.TraceID, b.TraceID))
	})
	return sorted
}

func badness(s *verdict.Statement) int {
	worst := verdict.SeverityInfo
	for _, f := range s.Findings {
		if severityRank(f.Severity) < severityRank(worst) {
			worst = f.Severity
		}
	}
	switch {
	case s.Class == verdict.ClassLateOrFailed:
		return 0
	case worst == verdict.SeverityError:
		return 1
	case worst == verdict.SeverityWarn:
		return 2
	case s.Class == verdict.ClassDegraded:
		return 3
	case s.Class == verdict.ClassBenign:
		return 4
	}
	return 5
}

func wasted(s *verdict.Statement) span.Seconds {
	sum := s.Orphan
	if s.Margin != nil && *s.Margin < 0 {
		sum -= *s.Margin
	}
	return sum
}
