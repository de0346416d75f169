package verdict

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

var update = flag.Bool("update", false, "write the verdicts of the case files anew")

const divider = "\n---\n"

// TestCases judges each drawn trace of testdata/cases and compares the verdict below its divider. README.md there
// explains the notation.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			drawn, want, _ := strings.Cut(string(data), divider)
			spans, opts, err := parseCase(drawn)
			if err != nil {
				t.Fatal(err)
			}
			s := Judge(spans, opts)
			checkInvariant(t, s)
			got := describe(s)
			if *update {
				if err := os.WriteFile(file, []byte(strings.TrimRight(drawn, "\n")+divider+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("the verdict changed; review and run with -update\ngot:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// checkInvariant: opening − Σ debits = closing = margin, and every balance is the one before less the amount.
func checkInvariant(t interface{ Errorf(string, ...any) }, s *Statement) {
	if s.Opening == nil {
		for _, l := range s.Lines {
			if l.Balance != nil {
				t.Errorf("line %d has a balance without a budget", l.N)
			}
		}
		return
	}
	balance := *s.Opening
	for _, l := range s.Lines {
		if l.Kind.Outside() {
			if l.Balance != nil {
				t.Errorf("line %d stands outside and has a balance", l.N)
			}
			continue
		}
		if l.Kind.Debit() {
			balance -= l.Amount
		}
		if l.Balance == nil || *l.Balance != balance {
			t.Errorf("line %d %s: balance %v, want %v", l.N, l.Kind, l.Balance, balance)
		}
	}
	if balance != *s.Closing || balance != *s.Margin {
		t.Errorf("debits end at %v, closing %v, margin %v", int64(balance), int64(*s.Closing), int64(*s.Margin))
	}
}

// describe writes a statement for comparison, one fact per line.
func describe(s *Statement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s, %s", s.Service, s.Route, s.Outcome, s.Class)
	if s.Budget != nil {
		fmt.Fprintf(&b, ", received %s, margin %s", s.Budget.Received, s.Margin)
	}
	if s.Late {
		b.WriteString(", late")
	}
	if s.Exhausted {
		b.WriteString(", exhausted")
	}
	if !s.Complete {
		b.WriteString(", incomplete")
	}
	b.WriteString("\n")
	if s.FirstViolation != "" {
		fmt.Fprintf(&b, "first %s\n", s.FirstViolation)
	}
	if s.Orphan != 0 || s.PostCancel != 0 {
		fmt.Fprintf(&b, "orphan %s, post-cancel %s\n", s.Orphan, s.PostCancel)
	}
	for _, unit := range slices.Sorted(maps.Keys(s.Costs)) {
		cost := s.Costs[unit]
		fmt.Fprintf(&b, "cost %g %s\n", cost, unit)
	}
	if s.SpentIn != nil {
		fmt.Fprintf(&b, "most went into %s %s (%s)\n", s.SpentIn.Service, s.SpentIn.Stage, s.SpentIn.Amount)
	}
	for _, l := range s.Lines {
		balance := ""
		if l.Balance != nil {
			balance = " = " + l.Balance.String()
		}
		included := ""
		if l.IncludedIn != "" {
			included = " (included in " + strings.TrimLeft(l.IncludedIn, "0") + ")"
		}
		fmt.Fprintf(&b, "%8s %-12s %s%s [%s] %s%s\n", l.At, l.Kind, l.Amount, balance, l.Evidence, l.Text, included)
	}
	for _, f := range s.Findings {
		fmt.Fprintf(&b, "%s %s at %s: %s [%s] %s\n", f.Severity, f.Rule, f.At, f.Amount, f.Evidence, f.Text)
	}
	return b.String()
}

// parseCase reads a drawn trace.
func parseCase(text string) ([]span.Span, Options, error) {
	var opts Options
	var spans []span.Span
	type open struct {
		depth int
		id    span.ID
	}
	var above []open
	for number, line := range strings.Split(text, "\n") {
		depth := len(line) - len(strings.TrimLeft(line, " "))
		words := splitWords(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if done, err := option(&opts, words); done {
			if err != nil {
				return nil, opts, fmt.Errorf("line %d: %w", number+1, err)
			}
			continue
		}
		for len(above) > 0 && above[len(above)-1].depth >= depth {
			above = above[:len(above)-1]
		}
		s, err := parseSpan(words, len(spans)+1)
		if err != nil {
			return nil, opts, fmt.Errorf("line %d: %w", number+1, err)
		}
		if s.Parent.IsZero() && len(above) > 0 {
			s.Parent = above[len(above)-1].id
		}
		for i := range s.Links {
			if s.Links[i].Span.IsZero() {
				s.Links[i].Span, s.Links[i].Trace = s.Parent, s.Trace
			}
		}
		above = append(above, open{depth, s.ID})
		spans = append(spans, s)
	}
	return spans, opts, nil
}

// splitWords splits at spaces outside of double quotes.
func splitWords(line string) []string {
	var words []string
	quoted := false
	for _, word := range strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	}) {
		words = append(words, strings.ReplaceAll(word, `"`, ""))
	}
	return words
}

func option(opts *Options, words []string) (bool, error) {
	switch words[0] {
	case "entry":
		n, err := strconv.Atoi(words[1])
		opts.Entry = caseID(n)
		return true, err
	case "limit", "usual":
		m := &opts.Limits
		if words[0] == "usual" {
			m = &opts.Usual
		}
		if *m == nil {
			*m = map[Edge]time.Duration{}
		}
		d, err := time.ParseDuration(words[3])
		(*m)[Edge{Caller: words[1], Peer: words[2]}] = d
		return true, err
	}
	return false, nil
}

func caseID(n int) (id span.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

// epoch is where the times of case files begin.
const epoch = int64(1_700_000_000_000_000_000)

// parseSpan reads: service name kind from to key=value…
func parseSpan(words []string, number int) (span.Span, error) {
	s := span.Span{Trace: span.TraceID{15: 1}, ID: caseID(number), Attrs: span.Attributes{}, Resource: span.Attributes{}}
	if len(words) < 5 {
		return s, fmt.Errorf("want: service name kind from to, got %q", words)
	}
	s.Service, s.Name = words[0], words[1]
	kinds := map[string]span.Kind{"none": span.KindUnspecified, "internal": span.KindInternal, "server": span.KindServer,
		"client": span.KindClient, "producer": span.KindProducer, "consumer": span.KindConsumer}
	kind, ok := kinds[words[2]]
	if !ok {
		return s, fmt.Errorf("kind %q", words[2])
	}
	s.Kind = kind
	s.Resource["service.instance.id"] = s.Service + "-1"
	for i, target := range []*int64{&s.Start, &s.End} {
		f, err := strconv.ParseFloat(words[3+i], 64)
		if err != nil {
			return s, err
		}
		*target = epoch + int64(math.Round(f*1e9))
	}
	for _, word := range words[5:] {
		if err := parseFact(&s, word); err != nil {
			return s, err
		}
	}
	return s, nil
}

func parseFact(s *span.Span, word string) error {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "error":
		s.Status = span.StatusError
		return nil
	case "id", "parent":
		n, err := strconv.Atoi(value)
		if key == "id" {
			s.ID = caseID(n)
		} else {
			s.Parent = caseID(n)
		}
		return err
	case "instance":
		delete(s.Resource, "service.instance.id")
		if value != "" {
			s.Resource["service.instance.id"] = value
		}
		return nil
	case "link":
		s.Links = append(s.Links, span.Link{})
		return nil
	case "open": // open=ID,stage,peer,cause,seconds
		parts := strings.Split(value, ",")
		n, err := strconv.Atoi(parts[0])
		if err != nil {
			return err
		}
		at, err := strconv.ParseFloat(parts[4], 64)
		s.Events = append(s.Events, span.Event{Name: budgetattr.EventOpenChild, Time: epoch + int64(at*1e9), Attrs: span.Attributes{
			budgetattr.OpenChildSpanIDKey: caseID(n).String(), budgetattr.OpenChildStageKey: parts[1],
			budgetattr.OpenChildPeerKey: parts[2], budgetattr.OpenChildCauseKey: parts[3]}})
		return err
	}
	for _, a := range budgetattr.All() {
		if a.Key != budgetattr.Prefix+key {
			continue
		}
		var v any = value
		var err error
		switch a.Type {
		case budgetattr.Float:
			v, err = strconv.ParseFloat(value, 64)
		case budgetattr.Int:
			v, err = strconv.ParseInt(value, 10, 64)
		case budgetattr.Bool:
			v, err = strconv.ParseBool(value)
		}
		s.Attrs[a.Key] = v
		return err
	}
	s.Attrs[key] = value
	return nil
}

// TestCasesCoverTheCatalogue: every rule that one trace can show appears in a case, and is absent from another.
func TestCasesCoverTheCatalogue(t *testing.T) {
	files, _ := filepath.Glob("testdata/cases/*.txt")
	for _, e := range Catalogue() {
		shown := 0
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, verdict, _ := strings.Cut(string(data), divider)
			if strings.Contains(verdict, "\n"+string(e.Severity)+" "+string(e.Rule)+" at ") {
				shown++
			}
		}
		if e.OneTrace != (shown > 0) {
			t.Errorf("%s is shown by %d cases; reported for one trace: %v", e.Rule, shown, e.OneTrace)
		}
		if shown == len(files) {
			t.Errorf("no case is without %s", e.Rule)
		}
	}
}
