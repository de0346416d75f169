package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/laxity-dev/laxity/internal/verdict"
)

// Markdown writes the incident record of one trace, fit for a post-mortem.
func Markdown(w io.Writer, s *verdict.Statement) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s %s\n\n", escape(s.Service), escape(s.Route))
	b.WriteString(escape(summary(s)) + "\n\n")
	facts(&b, s)
	b.WriteString("\n## Statement\n\n")
	if s.Opening == nil {
		b.WriteString("| # | at | what | time | | how known |\n|--:|--:|---|--:|---|---|\n")
	} else {
		b.WriteString("| # | at | what | amount | balance | | how known |\n|--:|--:|---|--:|--:|---|---|\n")
	}
	for _, l := range s.Lines {
		if l.Kind.Outside() {
			continue
		}
		r := rowOf(l)
		fmt.Fprintf(&b, "| %d | %s | %s | %s | ", l.N, r.at, r.kind, r.amount)
		if s.Opening != nil {
			fmt.Fprintf(&b, "%s | ", r.balance)
		}
		fmt.Fprintf(&b, "%s | %s |\n", escape(r.text), words(l.Evidence))
	}
	outsideTable(&b, s)
	findingsTable(&b, s)
	b.WriteString("\n`measured` on one monotonic clock; `same clock`, one machine's clock; `bound`, at least so much whatever the clocks say; " +
		"`estimate`, by the clocks of two machines; `missing`, not known.\n")
	_, err := w.Write(b.Bytes())
	return err
}

func facts(b *bytes.Buffer, s *verdict.Statement) {
	fact := func(name, value string) { fmt.Fprintf(b, "| %s | %s |\n", name, value) }
	b.WriteString("| | |\n|---|---|\n")
	fact("trace", "`"+s.TraceID+"`")
	fact("entry span", "`"+s.EntrySpanID+"`")
	fact("started", s.StartedAt.Format("2006-01-02T15:04:05.000000Z07:00"))
	fact("lasted", s.Duration.Human())
	if s.Budget != nil {
		budget := s.Budget.Received.Human()
		if s.Budget.Requested != nil {
			budget += ", asked for " + s.Budget.Requested.Human()
		}
		if s.Budget.Source != "" {
			budget += ", source " + escape(string(s.Budget.Source))
		}
		fact("budget", budget+", governed by "+escape(string(s.Budget.GovernedBy)))
		fact("margin", s.Margin.Human()+" at "+escape(string(s.Target)))
	}
	fact("outcome", escape(words(s.Outcome)))
	fact("class", "`"+string(s.Class)+"`")
	if s.FirstViolation != "" {
		fact("first violation", "`"+string(s.FirstViolation)+"`")
	}
	if s.SpentIn != nil {
		name := "largest debits lead to"
		if most(s) {
			name = "most time in"
		}
		fact(name, escape(placeText(s.SpentIn))+", "+s.SpentIn.Amount.Human())
	}
	if s.Orphan > 0 {
		fact("work for nobody", orphanSum(s))
	}
	if s.PostCancel > 0 {
		fact("work after cancellation", s.PostCancel.Human())
	}
	complete := "yes"
	if !s.Complete {
		complete = "no, spans name parents that are not here"
	}
	fact("complete", complete)
	if s.Missing != "" {
		fact("not known", s.Missing)
	}
}

func outsideTable(b *bytes.Buffer, s *verdict.Statement) {
	first := true
	for _, l := range s.Lines {
		if !l.Kind.Outside() {
			continue
		}
		if first {
			b.WriteString("\n## Outside the balance\n\n| # | at | what | time | span | | how known |\n|--:|--:|---|--:|---|---|---|\n")
			first = false
		}
		text := l.Text
		if l.IncludedIn != "" {
			text += " (included in span " + l.IncludedIn + ")"
		}
		fmt.Fprintf(b, "| %d | %s | %s | %s | `%s` | %s | %s |\n", l.N, l.At.Human(), words(l.Kind), amount(l), l.SpanID, escape(text), words(l.Evidence))
	}
}

func findingsTable(b *bytes.Buffer, s *verdict.Statement) {
	if len(s.Findings) == 0 {
		return
	}
	b.WriteString("\n## Findings\n\n| severity | rule | at | span | | how known |\n|---|---|--:|---|---|---|\n")
	for _, f := range s.Findings {
		fmt.Fprintf(b, "| %s | `%s` | %s | `%s` | %s | %s |\n", f.Severity, f.Rule, f.At.Human(), f.SpanID, escape(f.Text), words(f.Evidence))
	}
}

// escape keeps a text of a trace from being read as Markdown or HTML.
var escaper = strings.NewReplacer(`\`, `\\`, "&", "&amp;", "|", `\|`, "<", "&lt;", ">", "&gt;", "`", "'", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`)

func escape(text string) string { return escaper.Replace(Clean(text)) }
