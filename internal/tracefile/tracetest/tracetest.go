// Package tracetest finds the collection of recorded traces that lies beside the repository, for tests that read it.
package tracetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Variable names the environment variable that points at the collection.
const Variable = "LAXITY_TRACES"

// Dir returns the folder of the collection: what LAXITY_TRACES says, else the next shared/traces above the working
// directory. Where there is none, ok is false and the log says how to point at it; in CI that is a failure.
func Dir(t testing.TB) (dir string, ok bool) {
	t.Helper()
	if dir, set := os.LookupEnv(Variable); set {
		if !isCollection(dir) {
			t.Fatalf("%s=%s is not the collection of traces: no README.md in it", Variable, dir)
		}
		return dir, true
	}
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if dir := filepath.Join(at, "shared", "traces"); isCollection(dir) {
			return dir, true
		}
		above := filepath.Dir(at)
		if above == at {
			break
		}
		at = above
	}
	const how = "the collection of recorded traces is not here: no shared/traces beside or above the repository; set " + Variable + " to its folder"
	if os.Getenv("CI") == "true" {
		t.Fatal(how)
	}
	t.Log(how)
	return "", false
}

func isCollection(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "README.md"))
	return err == nil
}

// Files returns the trace files of the collection, sorted, as slash paths relative to dir.
func Files(t testing.TB, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no trace files in %s: %v", dir, err)
	}
	var files []string
	for _, path := range all {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(rel, ".manifest.json") {
			files = append(files, filepath.ToSlash(rel))
		}
	}
	slices.Sort(files)
	return files
}
