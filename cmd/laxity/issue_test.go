package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// ended waits for a command that has to end by itself and returns its output.
func (p *process) ended(t *testing.T) string {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(60 * time.Second):
		t.Fatalf("it does not end:\n%s", p.output())
	}
	var out string
	eventually(t, 5*time.Second, func() error {
		if out = p.output(); !strings.Contains(out, "laxity: ") {
			return fmt.Errorf("no last words:\n%s", out)
		}
		return nil
	})
	return out
}

// upArgs are the flags of an 'up' that gets in nobody's way.
func upArgs(data string, more ...string) []string {
	any := "127.0.0.1:0"
	return append([]string{"up", "--data", data, "--listen", any, "--otlp-grpc", any, "--otlp-http", any, "--engine-listen", any,
		"--metrics-listen", any, "--worker-metrics-listen", any}, more...)
}

// A port that is taken used to be tried for ever, or what listened there was taken for a part of this run.
func TestIssueTakenPortsAreNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	p := launch(t, upArgs(t.TempDir(), "--listen", address, "--otlp-grpc", address, "--engine-listen", address)...)
	out := p.ended(t)
	for _, want := range []string{"--listen " + address + " is taken", "--otlp-grpc " + address + " is taken", "--engine-listen " + address + " is taken"} {
		if !strings.Contains(out, want) {
			t.Errorf("missing %q in\n%s", want, out)
		}
	}
	if code := p.cmd.ProcessState.ExitCode(); code != exitFailed || strings.Contains(out, "process started") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// A second 'up' on the same directory used to start its engine for a minute and then name an address instead of the holder.
func TestIssueSecondUpNamesTheHolder(t *testing.T) {
	data := t.TempDir()
	startUp(t, data)
	p := launch(t, upArgs(data)...)
	if out := p.ended(t); !strings.Contains(out, "is in use by process") || p.cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("%s", out)
	}
}

// A part that cannot start at all used to be started for a minute, and its reason was lost above.
func TestIssuePartThatNeverServesEndsUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, upArgs(file)...)
	if out := p.ended(t); !strings.Contains(out, "laxity: ") || !strings.Contains(out, "not a directory") || p.cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("%s", out)
	}
}

func TestIssueWrongValuesAreUsageErrors(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"missing token file": {upArgs(t.TempDir(), "--token-file", "nowhere"), "token file: open nowhere"},
		"log level":          {upArgs(t.TempDir(), "--log-level", "loud"), `log level "loud" is not known; use debug`},
		"scheme":             {upArgs(t.TempDir(), "--clickhouse", "ftp://x/laxity"), `begins with "ftp"; want http://`},
	} {
		t.Run(name, func(t *testing.T) {
			p := launch(t, test.args...)
			if out := p.ended(t); !strings.Contains(out, test.want) || p.cmd.ProcessState.ExitCode() != exitUsage {
				t.Errorf("exit code %d\n%s", p.cmd.ProcessState.ExitCode(), out)
			}
		})
	}
}

// A misspelt key of the settings file used to be ignored.
func TestIssueUnknownSettingIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("laxity.yaml", []byte("listen: 127.0.0.1:0\notlp-gprc: 127.0.0.1:0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t, "trace", "0af7651916cd43dd8448eb211c80319c"); err == nil || !strings.Contains(err.Error(), `no command has a flag "otlp-gprc"`) {
		t.Errorf("%v", err)
	}
}

func TestIssueHelpFitsTheTerminal(t *testing.T) {
	for _, child := range newRootCommand().Commands() {
		if child.Name() == "completion" || child.Name() == "help" {
			continue
		}
		out, err := command(t, child.Name(), "--help")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			// Examples and tables are set in by two columns.
			example := strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "      ")
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 && !example {
				t.Errorf("%s: %d columns: %s", child.Name(), n, line)
			}
		}
	}
}
