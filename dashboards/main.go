// Command dashboards writes what others load: rules of Prometheus, an example of its configuration and of Alertmanager's,
// OpenSLO, dashboards of Grafana with their provisioning, and the runbook of the alerts. All of it follows from internal/slo.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/laxity-dev/laxity/internal/promrule"
	"github.com/laxity-dev/laxity/internal/slo"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	flag.Parse()
	if err := write(*root); err != nil {
		fmt.Fprintf(os.Stderr, "dashboards: %v\n", err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generated marks a file that is not to be edited.
const generated = "# Generated from internal/slo by `make generate`.\n"

// generate returns the files by their path below the root of the repository.
func generate() (map[string][]byte, error) {
	settings := slo.DefaultSettings()
	rules, err := promrule.Rules(settings, 1)
	if err != nil {
		return nil, err
	}
	alerts, err := slo.Alerts(settings)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"docs/alerts.md": runbook(alerts, slo.SLIs())}
	for name, v := range map[string][]any{
		"dashboards/prometheus/laxity.rules.yaml": {rules},
		"dashboards/prometheus/prometheus.yaml":   {scraping()},
		"dashboards/prometheus/alertmanager.yaml": {routing()},
		"dashboards/openslo/laxity.yaml":          openSLO(slo.SLIs()),
	} {
		if files[name], err = encode(v...); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return files, nil
}

// encode writes documents of YAML.
func encode(documents ...any) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(generated)
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	for _, d := range documents {
		if err := encoder.Encode(d); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), encoder.Close()
}
