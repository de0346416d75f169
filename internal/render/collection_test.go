package render

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/limit"
	"github.com/laxity-dev/laxity/internal/skew"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/tracefile"
	"github.com/laxity-dev/laxity/internal/tracefile/tracetest"
	"github.com/laxity-dev/laxity/internal/verdict"
)

var update = flag.Bool("update", false, "write the golden files anew")

// known is what the collection's README tells about a file and no span records.
var known = map[string]classify.Config{
	"zipkin-shapes": {BudgetFrom: []classify.BudgetFrom{{Attribute: "request_budget", Unit: "ms"}}},
}

// quiet are the files in which nobody is to blame.
var quiet = []string{"zipkin-smartthings-oauth", "zipkin-messaging", "tw-hotel-skew-early", "tw-hotel-skew-late", "tw-hotel-clean",
	"tw-media", "dsb-social-jaeger", "bookinfo-tempo", "nezha-trainticket", "agents-packetpanic", "agents-genai-jaegerui",
	"agents-genai-otlp", "agents-monocle", "agents-okahu", "agents-langchain", "agents-telemetryhub", "jaegerui-shapes",
	"zipkin-shapes", "hotrod-jaeger-duo", "hotrod-otlp-concurrent", "hotrod-otlp-v3api", "tempo-otlp-checkout", "trainticket-zipkin1"}

// TestFindingsOfCollection compares the findings of every file of the collection of recorded traces with golden files.
func TestFindingsOfCollection(t *testing.T) {
	dir, ok := tracetest.Dir(t)
	if !ok {
		return
	}
	for folder, files := range byFolder(tracetest.Files(t, dir)) {
		t.Run(folder, func(t *testing.T) {
			var got strings.Builder
			for _, file := range files {
				statements := judgeFile(t, filepath.Join(dir, file), folder)
				fmt.Fprintf(&got, "== %s: %d traces\n", file, len(statements))
				for _, s := range statements {
					describe(&got, s)
					checkPage(t, s)
				}
			}
			compare(t, filepath.Join("testdata", "findings", folder+".txt"), got.String())
			for _, name := range quiet {
				if name == folder && (strings.Contains(got.String(), "\n  error ") || strings.Contains(got.String(), "\n  warn ")) {
					t.Errorf("%s has a violation and must have none", folder)
				}
			}
		})
	}
}

func byFolder(files []string) map[string][]string {
	folders := map[string][]string{}
	for _, file := range files {
		folder, _, _ := strings.Cut(file, "/")
		if strings.HasSuffix(file, ".manifest.json") {
			continue
		}
		folders[folder] = append(folders[folder], file)
	}
	return folders
}

func judgeFile(t *testing.T, path, folder string) []*verdict.Statement {
	file, err := tracefile.ReadFile(path, tracefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	classifier, err := classify.New(known[folder])
	if err != nil {
		t.Fatal(err)
	}
	spans := tracefile.Spans(file.Resources)
	for i := range spans {
		classifier.Annotate(&spans[i])
	}
	groups := verdict.Group(spans)
	var calls []verdict.Call
	for _, group := range groups {
		calls = append(calls, verdict.Calls(group)...)
	}
	opts := verdict.Options{Hidden: limit.Hidden(limit.Find(calls))}
	opts.Offsets = skew.Learn(calls, opts.Hidden)
	var statements []*verdict.Statement
	for _, group := range groups {
		statements = append(statements, verdict.Judge(group, opts))
	}
	return statements
}

// describe writes the verdict and every finding, but those that say no budget was recorded, which are counted.
func describe(b *strings.Builder, s *verdict.Statement) {
	without := 0
	for _, f := range s.Findings {
		if f.Rule == verdict.RuleMissingBudget {
			without++
		}
	}
	fmt.Fprintf(b, "%s %s, %s, %s, orphan %s, without budget %d\n", s.TraceID, s.Service+" "+s.Route, s.Outcome, s.Class, s.Orphan, without)
	for _, f := range s.Findings {
		if f.Rule == verdict.RuleMissingBudget {
			continue
		}
		included := ""
		if f.IncludedIn != "" {
			included = " in " + f.IncludedIn
		}
		fmt.Fprintf(b, "  %s %s %s [%s] %s%s\n", f.Severity, f.Rule, f.Amount, f.Evidence, f.Text, included)
	}
}

// checkPage: no line of the page is too long, whatever the names.
func checkPage(t *testing.T, s *verdict.Statement) {
	var b strings.Builder
	if err := Text(&b, s, 80); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if width(line) > 80 || !utf8.ValidString(line) {
			t.Errorf("%d columns: %q", width(line), line)
		}
	}
	if err := Markdown(&b, s); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s changed; review and run go test ./internal/render -update\n%s", path, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			expected := "nothing"
			if i < len(w) {
				expected = w[i]
			}
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], expected)
		}
	}
	return fmt.Sprintf("line %d is missing: %s", len(g)+1, w[len(g)])
}

// TestHiddenLimitOfAds: with the limit of 1,000 ms found in the file itself, the collection's README counts 23 calls whose server worked at
// least 34.3 s longer than its caller waited, and 29 that outlived it by 44.5 s by the clocks.
func TestHiddenLimitOfAds(t *testing.T) {
	dir, ok := tracetest.Dir(t)
	if !ok {
		return
	}
	bounds, estimates := 0, 0
	var bound, estimate span.Seconds
	for _, s := range judgeFile(t, filepath.Join(dir, "nezha-hipster/cut40-16_33_trace.csv"), "nezha-hipster") {
		for _, l := range s.Lines {
			if l.Kind != verdict.LineOrphan || l.IncludedIn != "" {
				continue
			}
			estimates++
			if l.Evidence == verdict.EvidenceBound {
				bounds++
				bound += l.Amount
				estimate += *l.Estimate
			} else {
				estimate += l.Amount
			}
		}
	}
	if bounds != 23 || bound.Duration().Round(time.Millisecond) != 34_343*time.Millisecond {
		t.Errorf("bound %s over %d calls, want 34.343 over 23", bound, bounds)
	}
	if estimates != 29 || estimate.Duration().Round(time.Millisecond) != 44_527*time.Millisecond {
		t.Errorf("estimate %s over %d calls, want 44.527 over 29", estimate, estimates)
	}
}
