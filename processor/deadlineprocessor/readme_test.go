package deadlineprocessor

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/laxity-dev/laxity/internal/classify"
)

// blocks returns the YAML blocks of a Markdown file.
func blocks(t *testing.T, path string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		yaml, _, _ := strings.Cut(block, "```")
		all = append(all, yaml)
	}
	return all
}

// TestReadmeLoads: the configuration that the README shows is one, and so are the rows of docs/classification.md.
func TestReadmeLoads(t *testing.T) {
	var shown struct {
		Processors struct{ Deadline map[string]any }
	}
	if err := yaml.Unmarshal([]byte(blocks(t, "README.md")[0]), &shown); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(shown.Processors.Deadline)
	if err != nil {
		t.Fatal(err)
	}
	config, err := load(t, string(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(config.BudgetFrom) != 1 || len(config.Rules) != 3 {
		t.Errorf("%+v", config)
	}
	file := t.TempDir() + "/rules.yaml"
	if err := os.WriteFile(file, []byte(blocks(t, "../../docs/classification.md")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	if rows, err := classify.ReadRules(file); err != nil || len(rows) != 3 {
		t.Errorf("%v, %v", rows, err)
	}
}

// A collector does not take a number for a text: codes and gRPC statuses stand in quotes there, and the error names the row.
func TestIssueRowsWithNumbers(t *testing.T) {
	if _, err := load(t, `rules: [{grpc: "4", on: calling, rule: mine, cause: local_deadline}, {code: "57014", rule: pg, cause: upstream_cancel}]`); err != nil {
		t.Error(err)
	}
	if _, err := load(t, "rules: [{code: 57014, rule: pg, cause: upstream_cancel}]"); err == nil || !strings.Contains(err.Error(), "rules[0].code") {
		t.Error(err)
	}
}
