package deadlineconnector

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

// TestReadmeLoads: the configuration that the README shows is one, and its table has the defaults of every field.
func TestReadmeLoads(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	block, _, _ := strings.Cut(rest, "```")
	var shown struct {
		Connectors struct {
			Metrics map[string]any `yaml:"deadline_metrics"`
		}
	}
	if err := yaml.Unmarshal([]byte(block), &shown); err != nil {
		t.Fatal(err)
	}
	config := defaultConfig()
	if err := confmap.NewFromStringMap(shown.Connectors.Metrics).Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	if err := config.Validate(); err != nil {
		t.Error(err)
	}
	d := defaultConfig()
	short := func(d time.Duration) string { return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m") }
	for field, value := range map[string]any{
		"flush_interval": d.FlushInterval, "temporality": d.Temporality, "max_series": d.MaxSeries, "series_expiration": short(d.SeriesExpiration),
		"max_age": short(d.MaxAge), "exemplars": d.Exemplars, "dedup_spans": d.DedupSpans, "skeletons::enabled": d.Skeletons.Enabled,
		"exponential::enabled": d.Exponential.Enabled, "exponential::max_size": d.Exponential.MaxSize,
		"skeletons::memory_mib": d.Skeletons.MemoryMiB,
	} {
		if row := fmt.Sprintf("| `%s` | `%v` |", field, value); !strings.Contains(string(text), row) {
			t.Errorf("README.md has no row %s", row)
		}
	}
}
