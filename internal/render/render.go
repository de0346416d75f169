// Package render writes statements for people: terminal text, and the incident record as Markdown. Nothing depends on
// colour.
package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
)

const (
	defaultWidth = 80
	minWidth     = 60
	// How much of a long statement is shown; the rest is summed.
	maxLedger   = 40
	maxOutside  = 20
	maxFindings = 20
)

// Text writes the statement for a terminal of so many columns (80 if width is less than 60).
func Text(w io.Writer, s *verdict.Statement, width int) error {
	p := page{columns: width}
	if width < minWidth {
		p.columns = defaultWidth
	}
	p.header(s)
	p.ledger(s)
	p.outside(s)
	p.findings(s)
	p.legend(s)
	_, err := w.Write(p.Bytes())
	return err
}

// page collects lines that never exceed its columns.
type page struct {
	bytes.Buffer
	columns int
}

func (p *page) line(text string) {
	p.WriteString(strings.TrimRight(fit(text, p.columns), " "))
	p.WriteByte('\n')
}

// paragraph writes a text behind a fixed beginning and aligns what follows.
func (p *page) paragraph(begin, text string) {
	indent := width(begin)
	for i, part := range wrap(Clean(text), p.columns-indent) {
		if i > 0 {
			begin = strings.Repeat(" ", indent)
		}
		p.line(begin + part)
	}
}

func (p *page) header(s *verdict.Statement) {
	p.line(fit(Clean(s.Service+"  "+s.Route), p.columns))
	p.paragraph("", "trace "+s.TraceID+", entry "+s.EntrySpanID)
	p.line(fmt.Sprintf("%s, %s long, %s", s.StartedAt.Format("2006-01-02 15:04:05.000 MST"), s.Duration.Human(), count(s.Spans, "span")))
	p.line("")
	p.paragraph("", summary(s))
	if s.SpentIn != nil && s.SpentIn.SpanID != s.EntrySpanID {
		if most(s) {
			p.paragraph("", "Most of the time, "+s.SpentIn.Amount.Human()+", went into "+placeText(s.SpentIn)+".")
		} else {
			p.paragraph("", "The largest debits lead to "+placeText(s.SpentIn)+": "+s.SpentIn.Amount.Human()+".")
		}
	}
	if !s.Complete {
		p.paragraph("", "The trace is incomplete: spans name parents that are not here.")
	}
	if s.Missing != "" {
		p.paragraph("", "Not all is known: "+s.Missing+".")
	}
}

// most: more than half of the time went into the place that the largest debits lead to.
func most(s *verdict.Statement) bool { return s.SpentIn.Amount > s.Duration/2 }

func placeText(p *verdict.Place) string {
	if p.Calls > 1 {
		return fmt.Sprintf("%d calls of %s %s (the longest is span %s)", p.Calls, p.Service, p.Stage, p.SpanID)
	}
	return fmt.Sprintf("%s %s (span %s)", p.Service, p.Stage, p.SpanID)
}

// summary says the verdict in one sentence or two.
func summary(s *verdict.Statement) string {
	var b strings.Builder
	outcome := words(s.Outcome)
	b.WriteString(strings.ToUpper(outcome[:1]) + outcome[1:])
	switch {
	case s.Margin == nil:
		b.WriteString("; no budget recorded, so no margin")
	case s.Late:
		fmt.Fprintf(&b, ", late by %s of a budget of %s", (-*s.Margin).Human(), s.Budget.Received.Human())
	case *s.Margin < 0:
		fmt.Fprintf(&b, ", %s beyond a budget of %s", (-*s.Margin).Human(), s.Budget.Received.Human())
	default:
		fmt.Fprintf(&b, ", %s left of a budget of %s", s.Margin.Human(), s.Budget.Received.Human())
	}
	if s.Exhausted {
		b.WriteString(", out of time")
	}
	b.WriteString(".")
	if s.FirstViolation != "" {
		fmt.Fprintf(&b, " First violation: %s.", s.FirstViolation)
	}
	if s.Orphan > 0 {
		fmt.Fprintf(&b, " Work for nobody: %s.", orphanSum(s))
	}
	if s.PostCancel > 0 {
		fmt.Fprintf(&b, " Work after cancellation: %s.", s.PostCancel.Human())
	}
	for _, unit := range units(s) {
		fmt.Fprintf(&b, " Spent after cancellation: %g %s.", s.Costs[unit], Clean(unit))
	}
	return b.String()
}

// orphanSum says how well the sum is known: no better than its parts.
func orphanSum(s *verdict.Statement) string {
	text := ""
	for _, l := range s.Lines {
		if l.Kind != verdict.LineOrphan || l.IncludedIn != "" || l.Amount == 0 {
			continue
		}
		switch l.Evidence {
		case verdict.EvidenceEstimate:
			return "about " + s.Orphan.Human()
		case verdict.EvidenceBound:
			text = "at least "
		}
	}
	return text + s.Orphan.Human()
}

func units(s *verdict.Statement) []string {
	var names []string
	for unit := range s.Costs {
		names = append(names, unit)
	}
	slices.Sort(names)
	return names
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// marks say how a figure is known where that is not by one clock.
var marks = map[verdict.Evidence]string{verdict.EvidenceBound: "≥ ", verdict.EvidenceEstimate: "≈ ", verdict.EvidenceMissing: "? "}

func amount(l verdict.Line) string {
	switch {
	case l.Kind == verdict.LineOpening, l.Kind == verdict.LineClosing:
		return ""
	case l.Kind == verdict.LineReserve, l.Kind == verdict.LineRefund:
		return "(" + l.Amount.Human() + ")"
	case l.Kind.Outside():
		if l.Evidence == verdict.EvidenceMissing {
			return "?"
		}
		return marks[l.Evidence] + l.Amount.Human()
	}
	if l.Balance == nil {
		return marks[l.Evidence] + l.Amount.Human()
	}
	return marks[l.Evidence] + (-l.Amount).Human()
}

// words writes a code of the statement as words.
func words[T ~string](code T) string { return strings.ReplaceAll(string(code), "_", " ") }

// row is a line of the ledger, or several small ones together.
type row struct {
	at, kind, amount, balance, text string
}

func (p *page) ledger(s *verdict.Statement) {
	rows := ledgerRows(s)
	p.line("")
	if s.Opening == nil {
		p.line(right("at", 9) + "  " + left("", 12) + right("time", 11) + "  ")
		for _, r := range rows {
			p.paragraph(right(r.at, 9)+"  "+left(r.kind, 12)+right(r.amount, 11)+"  ", r.text)
		}
		return
	}
	p.line(right("at", 9) + "  " + left("", 12) + right("amount", 11) + right("balance", 11) + "  ")
	for _, r := range rows {
		p.paragraph(right(r.at, 9)+"  "+left(r.kind, 12)+right(r.amount, 11)+right(r.balance, 11)+"  ", r.text)
	}
}

// ledgerRows shows the debits one by one and sums runs of small ones: below a thousandth of the largest, or in a long
// ledger all but the largest.
func ledgerRows(s *verdict.Statement) []row {
	var inside []verdict.Line
	var sizes []span.Seconds
	for _, l := range s.Lines {
		if !l.Kind.Outside() {
			inside = append(inside, l)
			if l.Kind.Debit() {
				sizes = append(sizes, abs(l.Amount))
			}
		}
	}
	least := span.Seconds(0)
	for _, size := range sizes {
		least = max(least, size/1000)
	}
	few := len(inside) <= maxLedger
	if !few {
		slices.Sort(sizes)
		least = max(least, sizes[max(len(sizes)-maxLedger/2, 0)])
	}
	var rows []row
	for i := 0; i < len(inside); {
		n, sum := 0, span.Seconds(0)
		for ; i+n < len(inside) && small(inside[i+n], least, few); n++ {
			sum += inside[i+n].Amount
		}
		if n < 2 {
			rows = append(rows, rowOf(inside[i]))
			i++
			continue
		}
		last := inside[i+n-1]
		r := row{at: inside[i].At.Human(), kind: "…", amount: sum.Human(), text: fmt.Sprintf("%d smaller ones", n)}
		if last.Balance != nil {
			r.amount, r.balance = (-sum).Human(), last.Balance.Human()
		}
		rows = append(rows, r)
		i += n
	}
	return rows
}

// small: a debit that matters little; in a long ledger also memos and what ran beside other work.
func small(l verdict.Line, least span.Seconds, few bool) bool {
	switch {
	case l.Kind == verdict.LineOpening, l.Kind == verdict.LineClosing, l.Kind == verdict.LineLimitChange:
		return false
	case !l.Kind.Debit(), l.Amount == 0:
		return !few
	}
	return abs(l.Amount) < least
}

func abs(s span.Seconds) span.Seconds { return max(s, -s) }

func rowOf(l verdict.Line) row {
	r := row{at: l.At.Human(), kind: words(l.Kind), amount: amount(l), text: l.Text}
	if l.Balance != nil {
		r.balance = l.Balance.Human()
	}
	if l.PeerTime != nil && l.Kind == verdict.LineHop && abs(*l.Between) >= 1e5 {
		r.text += "; worked there " + l.PeerTime.Human()
		if *l.Between > 0 {
			r.text += ", between " + l.Between.Human()
		}
	}
	return r
}

func (p *page) outside(s *verdict.Statement) {
	shown, rest := outsideLines(s)
	if len(shown) == 0 {
		return
	}
	p.line("")
	p.line("Outside the balance")
	for _, l := range shown {
		text := l.Text
		if l.IncludedIn != "" {
			text += " (included in span " + l.IncludedIn + ")"
		}
		p.paragraph(right(l.At.Human(), 9)+"  "+left(words(l.Kind), 12)+right(amount(l), 11)+"  ", text)
	}
	if rest > 0 {
		p.line(strings.Repeat(" ", 11) + fmt.Sprintf("and %d smaller ones", rest))
	}
}

// outsideLines are the largest lines outside the balance in order of time, and how many are left out.
func outsideLines(s *verdict.Statement) ([]verdict.Line, int) {
	var lines []verdict.Line
	for _, l := range s.Lines {
		if l.Kind.Outside() {
			lines = append(lines, l)
		}
	}
	if len(lines) <= maxOutside {
		return lines, 0
	}
	rest := len(lines) - maxOutside
	slices.SortStableFunc(lines, func(a, b verdict.Line) int {
		return cmp.Or(cmp.Compare(overhang(a), overhang(b)), cmp.Compare(b.Amount, a.Amount))
	})
	lines = lines[:maxOutside]
	slices.SortFunc(lines, func(a, b verdict.Line) int { return cmp.Compare(a.N, b.N) })
	return lines, rest
}

func overhang(l verdict.Line) int {
	if l.Kind == verdict.LineOverhang {
		return 1
	}
	return 0
}

func (p *page) findings(s *verdict.Statement) {
	shown, rest := worstFindings(s)
	if len(shown) == 0 {
		return
	}
	p.line("")
	p.line("Findings")
	for _, f := range shown {
		text := f.Text
		if toldOutside(f.Rule) {
			text = f.Service + " " + f.Stage + ", see above"
		}
		p.paragraph("  "+left(string(f.Severity), 6)+left(string(f.Rule), 18), text)
	}
	if rest > 0 {
		p.line(fmt.Sprintf("  and %d more", rest))
	}
}

// toldOutside: the text of the finding is that of a line outside the balance.
func toldOutside(r verdict.Rule) bool {
	switch r {
	case verdict.RuleOrphanWork, verdict.RuleOverhang, verdict.RulePostCancelWork, verdict.RuleStillRunning, verdict.RuleDetachedWork,
		verdict.RuleLateResult:
		return true
	}
	return false
}

// worstFindings are the findings by severity, then in order of time.
func worstFindings(s *verdict.Statement) ([]verdict.Finding, int) {
	list := slices.Clone(s.Findings)
	slices.SortStableFunc(list, func(a, b verdict.Finding) int {
		return cmp.Compare(severityRank(a.Severity), severityRank(b.Severity))
	})
	if len(list) <= maxFindings {
		return list, 0
	}
	return list[:maxFindings], len(list) - maxFindings
}

func severityRank(s verdict.Severity) int {
	return slices.Index([]verdict.Severity{verdict.SeverityError, verdict.SeverityWarn, verdict.SeverityInfo}, s)
}

// legend explains the marks that occur.
func (p *page) legend(s *verdict.Statement) {
	used := map[verdict.Evidence]bool{}
	for _, l := range s.Lines {
		if amount(l) != "" {
			used[l.Evidence] = true
		}
	}
	var parts []string
	for _, m := range [...]struct {
		grade verdict.Evidence
		text  string
	}{
		{verdict.EvidenceBound, "≥ at least, whatever the clocks say"},
		{verdict.EvidenceEstimate, "≈ by the clocks of two machines"},
		{verdict.EvidenceMissing, "? not known"},
	} {
		if used[m.grade] {
			parts = append(parts, m.text)
		}
	}
	if len(parts) > 0 {
		p.line("")
		p.paragraph("", strings.Join(parts, "; ")+".")
	}
}
