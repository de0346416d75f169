package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// readmeBlock returns the one fenced block of the README that contains text.
func readmeBlock(t *testing.T, text string) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```(?:go)?\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		if strings.Contains(m[1], text) {
			return m[1]
		}
	}
	t.Fatalf("no block of the README contains %q", text)
	return ""
}

func TestReadmeFirstTrace(t *testing.T) {
	s := startUp(t, t.TempDir())
	block := readmeBlock(t, "curl -s")
	send, show, found := strings.Cut(block, "bin/laxity trace ")
	if !found {
		t.Fatal("the README does not show the trace that it sends")
	}
	send = strings.ReplaceAll(send, "http://127.0.0.1:4318", s.http)
	send = strings.ReplaceAll(send, "$(date +%s)", strconv.FormatInt(time.Now().Unix(), 10)) // twice the same second
	if out, err := exec.CommandContext(t.Context(), "bash", "-c", "set -e\n"+strings.Replace(send, "curl -s", "curl -sSf", 1)).CombinedOutput(); err != nil {
		t.Fatalf("the README's command (it needs bash and curl): %v\n%s", err, out)
	}
	eventually(t, time.Minute, func() error {
		response, err := http.Get(s.page + "/api/v1/traces/" + strings.TrimSpace(show) + "/statement")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		var statement struct {
			Margin json.Number `json:"margin_s"`
			Late   bool        `json:"late"`
		}
		if err := json.NewDecoder(response.Body).Decode(&statement); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK || statement.Margin != "-0.3" || !statement.Late {
			return fmt.Errorf("%s: %+v", response.Status, statement)
		}
		return nil
	})
}

// The Go of the README is compiled as the body of a function.
func TestReadmeGoCompiles(t *testing.T) {
	sdk, err := filepath.Abs("../../sdk")
	if err != nil {
		t.Fatal(err)
	}
	source := `package readme

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

func Readme(ctx context.Context, mux http.Handler, rawOrder string) (order string, err error) {
` + readmeBlock(t, "budgethttp.NewMiddleware") + `
	_, _, _ = handler, client, ctx
	return order, err
}
`
	file := filepath.Join(t.TempDir(), "readme.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(sdk, "readme", "readme.go"): file}})
	if err := errors.Join(err, os.WriteFile(overlay, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "./readme")
	build.Dir = sdk
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Every command that the README names exists.
func TestReadmeNamesRealCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("(?:bin/|`)laxity ([a-z]+)").FindAllStringSubmatch(string(readme), -1)
	if len(named) < 4 {
		t.Fatalf("only %d commands found", len(named))
	}
	for _, m := range named {
		if cmd, _, err := newRootCommand().Find([]string{m[1]}); err != nil || cmd.Name() != m[1] {
			t.Errorf("the README names laxity %s, which does not exist", m[1])
		}
	}
}
