package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/tracefile"
	"github.com/laxity-dev/laxity/internal/tracefile/tracetest"
	"github.com/laxity-dev/laxity/internal/verdict"
)

const casesFile = "../../docs/cases.md"

// TestCasesInDocs runs every `$ laxity explain` of docs/cases.md and compares what follows it; -update writes it.
func TestCasesInDocs(t *testing.T) {
	dir, ok := tracetest.Dir(t)
	if !ok {
		return
	}
	data, err := os.ReadFile(casesFile)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	inside := false
	for _, line := range strings.SplitAfter(string(data), "\n") {
		command, isCommand := strings.CutPrefix(line, "$ laxity explain ")
		switch {
		case isCommand:
			inside = true
			b.WriteString(line + explained(t, dir, strings.Fields(command)))
			continue
		case inside && strings.HasPrefix(line, "```"):
			inside = false
		}
		if !inside {
			b.WriteString(line)
		}
	}
	compare(t, casesFile, b.String())
}

func explained(t *testing.T, dir string, args []string) string {
	var opts verdict.Options
	var config classify.Config
	id := ""
	for i := 1; i < len(args); i++ {
		switch args[i] {
		case "--limit":
			i++
			edge, limit, _ := strings.Cut(args[i], "=")
			caller, peer, _ := strings.Cut(edge, ",")
			d, err := time.ParseDuration(limit)
			if err != nil {
				t.Fatal(err)
			}
			opts.Limits = map[verdict.Edge]time.Duration{{Caller: caller, Peer: peer}: d}
		case "--budget-from":
			i++
			attribute, unit, _ := strings.Cut(args[i], "=")
			config.BudgetFrom = []classify.BudgetFrom{{Attribute: attribute, Unit: unit}}
		default:
			id = args[i]
		}
	}
	file, err := tracefile.ReadFile(filepath.Join(dir, args[0]), tracefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	spans := tracefile.Spans(file.Resources)
	for i := range spans {
		classify.Annotate(&spans[i], config)
	}
	for _, group := range verdict.Group(spans) {
		if s := verdict.Judge(group, opts); id == "" || s.TraceID == id {
			var b strings.Builder
			if err := Text(&b, s, 80); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
	}
	t.Fatalf("%v: no such trace", args)
	return ""
}
