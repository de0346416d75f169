package deadlineprocessor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.yaml.in/yaml/v3"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	raw := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
		t.Fatal(err)
	}
	config := NewFactory().CreateDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(raw).Unmarshal(config); err != nil {
		return config, err
	}
	return config, config.Validate()
}

// TestOwnRules: rows of the configuration are read in the form of the file, and act.
func TestOwnRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte("rules:\n  - {type: StockBusy, rule: stock_busy, cause: local_deadline, phase: queue}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := load(t, "rules_file: "+file+"\nrules:\n  - {text: ran out of patience, rule: patience, cause: client_disconnect}\n")
	if err != nil {
		t.Fatal(err)
	}
	got := process(t, config, ptrace.SpanKindClient, map[string]any{"error": "stock: ran out of patience"})
	if got[budgetattr.InferredRuleKey] != "patience" {
		t.Errorf("a row of the configuration: %v", got)
	}
	got = process(t, config, ptrace.SpanKindClient, map[string]any{"error.type": "shop.StockBusy"})
	if got[budgetattr.InferredRuleKey] != "stock_busy" || got[budgetattr.TimeoutPhaseKey] != "queue" {
		t.Errorf("a row of the file: %v", got)
	}
}

func TestBadConfigurationIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte("rules:\n  - {type: StockBusy, rule: stock_busy, cause: because}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"rules_file: " + file: "rules.yaml: line 2: cause: \"because\" is none of",
		"rules:\n  - {type: X, rule: x, cause: expiry}\n  - {type: Y, rule: y}": "rules[1]: none of cause, phase and outcome",
		"rules:\n  - {tpye: X}":                    "tpye",
		"budget_from: [{attribute: a, unit: min}]": "unit \"min\"",
		"budget: []": "budget",
	} {
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
