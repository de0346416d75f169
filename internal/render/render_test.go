package render

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

func id(n byte) span.ID { return span.ID{7: n} }

// sample is a request that was answered late while one of its calls was cut and went on, with names that want to break
// the page.
func sample() []span.Span {
	at := func(ms int64) int64 { return 1_700_000_000_000_000_000 + ms*1_000_000 }
	trace := span.TraceID{15: 1}
	return []span.Span{
		{Trace: trace, ID: id(1), Service: "buchung|\x1b[31mrot", Name: "POST /book", Kind: span.KindServer, Start: at(0), End: at(2400),
			Attrs: span.Attributes{budgetattr.BudgetReceivedKey: 2.0, budgetattr.BudgetRequestedKey: 5.0, budgetattr.BudgetSourceKey: "clamped",
				budgetattr.MarginKey: -0.4, budgetattr.OutcomeKey: "degraded", budgetattr.QueueTimeKey: 0.1}},
		{Trace: trace, ID: id(2), Parent: id(1), Service: "buchung|\x1b[31mrot", Name: "予約サービスの在庫を確認するための非常に長い名前の操作", Kind: span.KindClient,
			Start: at(200), End: at(1200), Attrs: span.Attributes{budgetattr.CancelCauseKey: "local_deadline", budgetattr.TimeoutPhaseKey: "first_byte"}},
		{Trace: trace, ID: id(3), Parent: id(2), Service: "hotel", Name: "reserve", Kind: span.KindServer, Start: at(220), End: at(4220),
			Attrs: span.Attributes{budgetattr.PostCancelCostKey: 120.0, budgetattr.CostUnitKey: "token"}},
		{Trace: trace, ID: id(4), Parent: id(1), Service: "buchung|\x1b[31mrot", Name: "com.example." + strings.Repeat("VeryLong", 12) + ".call", Kind: span.KindClient,
			Start: at(1300), End: at(2300)},
	}
}

func TestPages(t *testing.T) {
	s := verdict.Judge(sample(), verdict.Options{})
	for name, write := range map[string]func(*strings.Builder) error{
		"text.txt":   func(b *strings.Builder) error { return Text(b, s, 80) },
		"narrow.txt": func(b *strings.Builder) error { return Text(b, s, 60) },
		"record.md":  func(b *strings.Builder) error { return Markdown(b, s) },
		"list.txt":   func(b *strings.Builder) error { return List(b, []*verdict.Statement{s, s}, 80) },
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsRune(b.String(), '\x1b') {
				t.Error("an escape sequence of a name reaches the terminal")
			}
			compare(t, filepath.Join("testdata", name), b.String())
		})
	}
}

func TestNothingToList(t *testing.T) {
	var b strings.Builder
	if err := List(&b, nil, 80); err != nil || b.String() != "no traces\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestLinesFit: whatever the text, no line is wider than the page and no word is lost.
func TestLinesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		columns := rapid.IntRange(2, 40).Draw(t, "columns")
		var joined strings.Builder
		for _, line := range wrap(Clean(text), columns) {
			if width(line) > columns {
				t.Fatalf("%d columns in %d: %q", width(line), columns, line)
			}
			joined.WriteString(line)
		}
		squash := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squash(joined.String()) != squash(Clean(text)) {
			t.Fatalf("%q became %q", text, joined.String())
		}
		if got := left(Clean(text), columns); width(got) != columns {
			t.Fatalf("padded to %d columns: %q", width(got), got)
		}
	})
}

func TestWorstFirst(t *testing.T) {
	late := &verdict.Statement{TraceID: "late", Class: verdict.ClassLateOrFailed}
	blamed := &verdict.Statement{TraceID: "blamed", Class: verdict.ClassInTime, Orphan: span.SecondsOf(time.Second),
		Findings: []verdict.Finding{{Severity: verdict.SeverityError}}}
	blamedMore := &verdict.Statement{TraceID: "blamed more", Class: verdict.ClassInTime, Orphan: span.SecondsOf(2 * time.Second),
		Findings: []verdict.Finding{{Severity: verdict.SeverityError}}}
	degraded := &verdict.Statement{TraceID: "degraded", Class: verdict.ClassDegraded}
	fine := &verdict.Statement{TraceID: "fine", Class: verdict.ClassInTime}
	var got []string
	for _, s := range WorstFirst([]*verdict.Statement{fine, degraded, blamed, blamedMore, late}) {
		got = append(got, s.TraceID)
	}
	if want := "late, blamed more, blamed, degraded, fine"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestIssueMarkdownKeepsTables: no name breaks out of its cell or is read as Markdown.
func TestIssueMarkdownKeepsTables(t *testing.T) {
	for text, want := range map[string]string{
		`a\|b`: `a\\\|b`, "a|b": `a\|b`, "&lt;": "&amp;lt;", "~~x~~": `\~\~x\~\~`, "a\nb": "a b", "<b>`": "&lt;b&gt;'",
	} {
		if got := escape(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// TestIssueSumsAreNoBetterThanTheirParts: the sum of work for nobody says how well it is known.
func TestIssueSumsAreNoBetterThanTheirParts(t *testing.T) {
	line := func(e verdict.Evidence) verdict.Line {
		return verdict.Line{Kind: verdict.LineOrphan, Evidence: e, Amount: span.SecondsOf(time.Second)}
	}
	inner := line(verdict.EvidenceEstimate)
	inner.IncludedIn = "07"
	for want, lines := range map[string][]verdict.Line{
		"2 s":          {line(verdict.EvidenceMeasured), line(verdict.EvidenceSameClock)},
		"at least 2 s": {line(verdict.EvidenceBound), inner, line(verdict.EvidenceMeasured)},
		"about 2 s":    {line(verdict.EvidenceBound), line(verdict.EvidenceEstimate)},
	} {
		if got := orphanSum(&verdict.Statement{Lines: lines, Orphan: span.SecondsOf(2 * time.Second)}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
