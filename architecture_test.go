package laxity_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const (
	product = "github.com/laxity-dev/laxity"
	sdk     = product + "/sdk"
)

// modules are the folders of the modules whose packages ARCHITECTURE.md lists.
var modules = []string{".", "sdk", "sdk/adapters"}

type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// rule lets only the named packages, or packages below a name that ends in a slash, import what pattern matches.
type rule struct {
	pattern *regexp.Regexp
	allowed []string
	why     string
}

var rules = []rule{
	{regexp.MustCompile(`^github\.com/gin-gonic/`), []string{"api"}, "only the api serves HTTP handlers of gin"},
	{regexp.MustCompile(`^github\.com/ClickHouse/`), []string{"storage", "storage/", "migrations", "engine", "engine/"}, "one place talks to the database"},
	{regexp.MustCompile(`^github\.com/grafana/`), []string{"dashboards"}, "what writes dashboards is no part of the binary"},
	{regexp.MustCompile(`^` + product + `/dashboards`), nil, "what writes dashboards is no part of the binary"},
	{regexp.MustCompile(`^github\.com/ebitengine/purego`), []string{"engine/chdb"}, "one place calls C"},
	{regexp.MustCompile(`^(go\.opentelemetry\.io/collector|github\.com/open-telemetry/opentelemetry-collector-contrib)/`),
		[]string{"processor/", "cmd/laxity/collector", "internal/bench/"}, "judgement does not depend on how spans arrive"},
	{regexp.MustCompile(`^` + product + `/(api|web|storage|processor|migrations|engine)(/|$)`),
		[]string{"api", "cmd/", "storage", "storage/", "processor/", "migrations", "engine", "engine/", "web", "internal/bench", "internal/bench/", "internal/demo"},
		"shared pure packages stand below those that do input and output"},
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, product), "/")
		for _, imported := range p.Imports {
			for _, r := range rules {
				if r.pattern.MatchString(imported) && !anyOf(r.allowed, name) {
					t.Errorf("%s imports %s: %s", name, imported, r.why)
				}
			}
			if strings.HasPrefix(p.ImportPath, sdk) && strings.HasPrefix(imported, product) && !strings.HasPrefix(imported, sdk) {
				t.Errorf("%s imports %s: applications import the sdk alone", name, imported)
			}
			if name == "internal/verdict" && strings.HasPrefix(imported, product) &&
				imported != sdk+"/budgetattr" && imported != product+"/internal/span" {
				t.Errorf("%s imports %s: the judgement is pure", name, imported)
			}
		}
	}
}

func TestArchitectureListsEveryPackage(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		listed[m[1]] = true
	}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, product), "/")
		if name != "" && len(p.Imports) > 0 && !listed[name] {
			t.Errorf("ARCHITECTURE.md does not list %s: add a row", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("ARCHITECTURE.md lists %s, which does not exist: remove the row", name)
		}
	}
}

// packages lists the packages of all modules with what they import.
func packages(t *testing.T) []pkg {
	t.Helper()
	var all []pkg
	for _, dir := range modules {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("packages of module %s: %v", dir, err)
		}
		for d := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p pkg
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("packages of module %s: %v", dir, err)
			}
			all = append(all, p)
		}
	}
	if len(all) < 3 {
		t.Fatalf("%d packages found, expected many", len(all))
	}
	return all
}

func anyOf(allowed []string, name string) bool {
	for _, a := range allowed {
		if name == a || strings.HasSuffix(a, "/") && strings.HasPrefix(name, a) {
			return true
		}
	}
	return false
}
