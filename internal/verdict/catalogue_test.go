package verdict

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFindingsDocNamesTheCatalogue: docs/findings.md has every rule in the order of the catalogue, in its words.
func TestFindingsDocNamesTheCatalogue(t *testing.T) {
	data, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, e := range Catalogue() {
		row := fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", e.Rule, e.Severity, e.Meaning, e.Threshold, e.Action)
		i := strings.Index(string(data)[at:], row)
		if i < 0 {
			t.Fatalf("docs/findings.md lacks, or has out of order:\n%s", row)
		}
		at += i + len(row)
		if e.OneTrace && strings.Count(string(data), "`"+string(e.Rule)+"`") < 2 {
			t.Errorf("docs/findings.md does not say what %s rests on", e.Rule)
		}
	}
}

// TestTiesGoByTheCatalogue: errors before warnings before infos, each in the order of the requirements.
func TestTiesGoByTheCatalogue(t *testing.T) {
	order := []Severity{SeverityError, SeverityWarn, SeverityInfo}
	last := 0
	for i, e := range Catalogue() {
		at := slices.Index(order, e.Severity)
		if at < last {
			t.Errorf("%s of severity %s stands after a lesser one", e.Rule, e.Severity)
		}
		last = at
		if e.Rule.Rank() != i || e.Rule.Severity() != e.Severity {
			t.Errorf("%s: rank %d, severity %s", e.Rule, e.Rule.Rank(), e.Rule.Severity())
		}
	}
	if Rule("unknown").Rank() != len(Catalogue()) || Rule("unknown").Severity() != SeverityInfo {
		t.Error("an unknown rule is not last and harmless")
	}
}
