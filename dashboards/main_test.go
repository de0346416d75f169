package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/laxity-dev/laxity/internal/slo"
)

func TestFilesAreCurrent(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v): run make generate", name, err)
		}
	}
}

// Every query of the OpenSLO file is one that Prometheus reads, and what the specification asks for is there.
func TestOpenSLO(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing: run make prometheus")
	}
	file, err := os.Open("openslo/laxity.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	type metric struct {
		Source struct {
			Type string
			Spec struct{ Query string }
		} `yaml:"metricSource"`
	}
	names, kinds := map[string]bool{}, map[string]int{}
	decoder := yaml.NewDecoder(file)
	for {
		var d struct {
			Version  string `yaml:"apiVersion"`
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				Service   string
				Method    string                      `yaml:"budgetingMethod"`
				Window    []struct{ Duration string } `yaml:"timeWindow"`
				Indicator struct {
					Spec struct {
						Ratio struct{ Bad, Total metric } `yaml:"ratioMetric"`
					}
				}
				Objectives []struct{ Target float64 }
			}
		}
		err := decoder.Decode(&d)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds[d.Kind]++
		if d.Version != "openslo/v1" || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString(d.Metadata.Name) || names[d.Kind+d.Metadata.Name] {
			t.Errorf("%+v: version or name", d)
		}
		names[d.Kind+d.Metadata.Name] = true
		if d.Kind != "SLO" {
			continue
		}
		s := d.Spec
		if !names["Service"+s.Service] || s.Method != "Occurrences" || len(s.Window) != 1 || len(s.Objectives) != 1 || s.Objectives[0].Target <= 0 || s.Objectives[0].Target >= 1 {
			t.Errorf("%s: %+v", d.Metadata.Name, s)
		}
		for _, m := range []metric{s.Indicator.Spec.Ratio.Bad, s.Indicator.Spec.Ratio.Total} {
			rules, err := yaml.Marshal(tree{"groups": []tree{{"name": "g", "rules": []tree{{"record": "a:b", "expr": m.Source.Spec.Query}}}}})
			if err != nil || m.Source.Type != "Prometheus" {
				t.Fatalf("%s: %v %q", d.Metadata.Name, err, m.Source.Type)
			}
			path := filepath.Join(t.TempDir(), "rules.yaml")
			if err := os.WriteFile(path, rules, 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(tool, "check", "rules", path).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", d.Metadata.Name, err, out)
			}
		}
	}
	if kinds["SLO"] != len(slo.SLIs()) || kinds["Service"] != 1 {
		t.Errorf("documents: %v", kinds)
	}
}
