package main

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Every report prints what the API's golden answers hold: as a table of 80 columns, as csv with every field, as json.
func TestReportsPrintWhatTheAPIAnswers(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		body, err := os.ReadFile("../../api/testdata/" + path.Base(r.URL.Path) + ".json")
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	for _, spec := range reportSpecs {
		golden, err := os.ReadFile("../../api/testdata/" + spec.name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var report rowsReport
		if err := json.Unmarshal(golden, &report); err != nil {
			t.Fatal(err)
		}
		args := []string{"report", spec.name, "--api", server.URL}
		for _, filter := range spec.filters {
			args = append(args, "--"+filter, "some "+filter)
		}
		leaves := spec.name != "attribution"
		if leaves {
			args = append(args, "--not", "service=a=b", "--not", "service=c")
		}
		table, err := command(t, args...)
		if err != nil {
			t.Errorf("%s: %v", spec.name, err)
			continue
		}
		for _, filter := range spec.filters {
			if !strings.Contains(asked, strings.ReplaceAll(filter, "-", "_")+"=some+"+filter) {
				t.Errorf("%s asks %s", spec.name, asked)
			}
		}
		if leaves && !strings.Contains(asked, "not.service=a%3Db&not.service=c") {
			t.Errorf("%s asks %s", spec.name, asked)
		}
		want := len(report.Rows) + 3
		if spec.below != nil {
			want++
			for _, row := range report.Rows {
				want += len(spec.below(row))
			}
		}
		if report.upTo() != "" {
			want += 2
		}
		if lines := strings.Count(table, "\n"); len(report.Rows) > 0 && lines != want {
			t.Errorf("%s: %d lines for %d rows:\n%s", spec.name, lines, len(report.Rows), table)
		}
		for line := range strings.Lines(table) {
			if width := len([]rune(strings.TrimRight(line, "\n"))); width > 80 {
				t.Errorf("%s: %d columns: %s", spec.name, width, line)
			}
		}
		out, err := command(t, append(args, "-o", "csv")...)
		records, csvErr := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || csvErr != nil || len(records) != len(report.Rows)+1 {
			t.Errorf("%s: csv: %s, %v, %v", spec.name, out, err, csvErr)
			continue
		}
		for i, row := range report.Rows {
			for name := range row {
				if !slices.ContainsFunc(records[0], func(column string) bool { return column == name || strings.HasPrefix(column, name+".") }) {
					t.Errorf("%s: csv has %v, not %s", spec.name, records[0], name)
				}
			}
			for column, name := range records[0] {
				outer, _, _ := strings.Cut(name, ".")
				_, answered := row[outer]
				if value := field(row, name); !answered || value != nil && records[i+1][column] == "" && value != "" && word(value) != "" {
					t.Errorf("%s: csv has %q for %s, the answer %v", spec.name, records[i+1][column], name, value)
				}
			}
		}
		if out, err := command(t, append(args, "-o", "json")...); err != nil || !json.Valid([]byte(out)) {
			t.Errorf("%s: json: %s, %v", spec.name, out, err)
		}
	}
	_, err := command(t, "report", "nothing")
	if err == nil || !strings.Contains(err.Error(), "margin, orphans, findings, stages") {
		t.Errorf("a report that is not there: %v", err)
	}
	if _, err := command(t, "report", "nothing", "--since", "7d"); err == nil || !strings.Contains(err.Error(), `no report "nothing"`) {
		t.Errorf("a report that is not there, with flags: %v", err)
	}
}

// A report that is empty because nothing is judged yet must not look like one without findings.
func TestIssueEmptyReportSaysHowFarItReaches(t *testing.T) {
	answer := `{"window":{"from":"2026-11-28T00:00:00.123456789Z","to":"2026-11-29T00:00:00Z"},"watermark":"2026-11-28T10:00:00Z","provisional":true,"rows":[],"next":null}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	out, err := command(t, "report", "findings", "--api", server.URL)
	want := "Nothing to report between 2026-11-28T00:00:00Z and 2026-11-29T00:00:00Z.\n" +
		"Complete up to 2026-11-28T10:00:00Z; what arrived later is still being added.\n"
	if err != nil || out != want {
		t.Errorf("%q, %v", out, err)
	}
}

// A filter that cannot be applied is refused, never left out.
func TestIssueMarkerListHasNoRoute(t *testing.T) {
	if _, err := command(t, "marker", "list", "--route", "/cart"); err == nil || !strings.Contains(err.Error(), "--route") {
		t.Errorf("a flag that the API would refuse: %v", err)
	}
}

// Every report takes the parameters of its route, and no others.
func TestReportFlagsAreTheParametersOfTheirRoute(t *testing.T) {
	text, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type parameter struct {
		Name string `yaml:"name"`
		Ref  string `yaml:"$ref"`
	}
	var contract struct {
		Paths map[string]struct {
			Get struct{ Parameters []parameter }
		}
		Components struct{ Parameters map[string]parameter }
	}
	if err := yaml.Unmarshal(text, &contract); err != nil {
		t.Fatal(err)
	}
	own := []string{"help", "output", "since", "config"}
	probe := &cobra.Command{}
	addAPIFlags(probe)
	probe.Flags().VisitAll(func(f *pflag.Flag) { own = append(own, f.Name) })
	reports := 0
	for _, cmd := range newReportCommand().Commands() {
		reports++
		var flags, parameters []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains(own, f.Name) {
				flags = append(flags, strings.ReplaceAll(f.Name, "-", "_"))
			}
		})
		for _, p := range contract.Paths["/reports/"+cmd.Name()].Get.Parameters {
			if p.Ref != "" {
				p = contract.Components.Parameters[path.Base(p.Ref)]
			}
			if strings.HasPrefix(p.Name, "not.") {
				p.Name = "not" // one flag for all of them
			}
			parameters = append(parameters, p.Name)
		}
		slices.Sort(flags)
		slices.Sort(parameters)
		parameters = slices.Compact(parameters)
		if !slices.Equal(flags, parameters) {
			t.Errorf("report %s has the flags\n%q, its route the parameters\n%q", cmd.Name(), flags, parameters)
		}
	}
	for name := range contract.Paths {
		if strings.HasPrefix(name, "/reports/") {
			reports--
		}
	}
	if reports != 0 {
		t.Errorf("%d more reports than routes", reports)
	}
}
