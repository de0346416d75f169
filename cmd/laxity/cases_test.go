package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/laxity-dev/laxity/internal/tracefile/tracetest"
)

var update = flag.Bool("update", false, "write the output shown in docs/cases.md anew")

// TestIssueCasesRunAsWritten runs every `$ laxity explain …` of docs/cases.md as a reader would, flags and all, and compares
// what follows it; -update writes it.
func TestIssueCasesRunAsWritten(t *testing.T) {
	dir, ok := tracetest.Dir(t)
	if !ok {
		return
	}
	path, err := filepath.Abs("../../docs/cases.md")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var got strings.Builder
	inside := false
	for line := range strings.Lines(string(data)) {
		command, isCommand := strings.CutPrefix(line, "$ laxity ")
		switch {
		case isCommand:
			inside = true
			got.WriteString(line)
			got.WriteString(runAsWritten(t, strings.Fields(command)))
			continue
		case inside && strings.HasPrefix(line, "```"):
			inside = false
		}
		if !inside {
			got.WriteString(line)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(data) {
		t.Error("docs/cases.md differs from what the program says; review and run go test ./cmd/laxity -run CasesRunAsWritten -update")
	}
}

func runAsWritten(t *testing.T, args []string) string {
	t.Helper()
	var out, notes strings.Builder
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&notes)
	if err := root.ExecuteContext(t.Context()); err != nil || notes.String() != "" {
		t.Fatalf("laxity %s: %v\n%s", strings.Join(args, " "), err, notes.String())
	}
	return out.String()
}

// TestIssueListFitsThePage: a list with the hint below it is no wider than 80 columns, and calls nothing in time that had no
// budget.
func TestIssueListFitsThePage(t *testing.T) {
	out, _, err := explainTest(t, "analyzer-sample-otlp/sample-trace.json", "", explainFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "in time") || !strings.Contains(out, " failed ") || !strings.Contains(out, " done ") {
		t.Errorf("verdicts:\n%s", out)
	}
	hint := out[strings.Index(out, "To see one of them"):]
	for line := range strings.Lines(out) {
		if utf8.RuneCountInString(strings.TrimSpace(line)) > 80 && !strings.Contains(line, "sample-trace.json") {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	if len(strings.Split(strings.TrimSpace(hint), "\n")) != 3 {
		t.Errorf("the hint: %s", hint)
	}
}

// TestIssueExplainOfNoTraces: a folder is a wrong use, a file of logs says what it holds.
func TestIssueExplainOfNoTraces(t *testing.T) {
	var usage *usageError
	var out strings.Builder
	if err := explain(&out, &out, t.TempDir(), "", explainFlags{output: "text"}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	logs := filepath.Join(t.TempDir(), "logs.json")
	if err := os.WriteFile(logs, []byte(`{"resourceLogs":[{}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := explain(&out, &out, logs, "", explainFlags{output: "text"}); err == nil || !strings.Contains(err.Error(), "no span") {
		t.Errorf("logs: %v", err)
	}
}
