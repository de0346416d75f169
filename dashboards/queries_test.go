package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// file is what a test reads of a dashboard's file.
type file struct {
	Title      string
	Panels     []drawn
	Templating struct {
		List []struct{ Type, Name, Query string }
	}
}

// drawn is a panel in a file, and the answers to its queries.
type drawn struct {
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct{ Expr, LegendFormat, RawSQL string }

	lines []line
	table [][]string // with a head
}

// line is one series of a panel.
type line struct {
	name   string
	points [][2]float64 // seconds since 1970, value
}

// mayBeEmpty are panels about what need not have happened.
var mayBeEmpty = map[string]bool{
	"Still running": true, "Cost after the deadline": true, "Quarantined spans": true, "Retries left out": true, "Not started for lack of time": true,
}

// askAll asks every query of every dashboard as Grafana would. With LAXITY_SHOTS it draws the answers into that folder.
func (i *installation) askAll(t *testing.T) {
	t.Helper()
	names, err := filepath.Glob("grafana/*/*.json")
	if err != nil || len(names) != len(boards()) {
		t.Fatalf("%v: %d files, %d dashboards", err, len(names), len(boards()))
	}
	asked := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f file
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n := range f.Panels {
			p := &f.Panels[n]
			asked += len(p.Targets)
			i.fill(t, p)
			if len(p.lines)+len(p.table) == 0 && !mayBeEmpty[p.Title] {
				t.Errorf("%s: %s is empty", name, p.Title)
			}
		}
		for _, v := range f.Templating.List {
			if v.Type != "query" {
				continue
			}
			asked++
			if m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Query); m != nil {
				if len(i.ask(t, "label/"+m[2]+"/values", "match[]", m[1])) < len(`[""]`) {
					t.Errorf("%s: nothing to choose for %s", name, v.Name)
				}
			} else if i.sql(t, v.Query) == "" {
				t.Errorf("%s: nothing to choose for %s", name, v.Name)
			}
		}
		if folder := os.Getenv("LAXITY_SHOTS"); folder != "" {
			draw(t, f, filepath.Join(folder, filepath.Base(filepath.Dir(name))+"-"+strings.TrimSuffix(filepath.Base(name), ".json")+".html"))
		}
	}
	t.Logf("%d queries of %d dashboards", asked, len(names))
}

// fill asks the queries of a panel.
func (i *installation) fill(t *testing.T, p *drawn) {
	t.Helper()
	for _, target := range p.Targets {
		switch {
		case target.Expr != "":
			for _, s := range i.series(t, target.Expr) {
				p.lines = append(p.lines, line{s.called(target.LegendFormat), s.points()})
			}
		case p.Type == "timeseries":
			p.lines = append(p.lines, i.columns(t, target.RawSQL)...)
		default:
			if found := i.sql(t, target.RawSQL+"\nFORMAT TSVWithNames"); strings.Contains(found, "\n") {
				for row := range strings.SplitSeq(found, "\n") {
					p.table = append(p.table, strings.Split(row, "\t"))
				}
			}
		}
	}
}

// columns reads lines out of rows of time, perhaps name, and values.
func (i *installation) columns(t *testing.T, statement string) (lines []line) {
	t.Helper()
	rows := strings.Split(i.sql(t, "SELECT toUnixTimestamp(time) AS at, * EXCEPT time FROM (\n"+statement+"\n) FORMAT TSVWithNames"), "\n")
	head := strings.Split(rows[0], "\t")
	at := map[string]int{}
	for _, row := range rows[1:] {
		fields := strings.Split(row, "\t")
		when, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			t.Fatalf("%v in\n%s", err, statement)
		}
		name := ""
		for c := 1; c < len(fields); c++ {
			if head[c] == "name" {
				name = fields[c] + " "
				continue
			}
			value, err := strconv.ParseFloat(fields[c], 64)
			if err != nil {
				continue // a quantile of nothing
			}
			called := strings.TrimSpace(name + head[c])
			if _, ok := at[called]; !ok {
				at[called] = len(lines)
				lines = append(lines, line{name: called})
			}
			l := &lines[at[called]]
			l.points = append(l.points, [2]float64{when, value})
		}
	}
	return lines
}

// series is one of an answer of Prometheus.
type series struct {
	Metric map[string]string
	Values [][2]any
}

func (s series) called(legend string) string {
	if legend == "" {
		var pairs []string
		for name, value := range s.Metric {
			if name != "__name__" && name != "instance" {
				pairs = append(pairs, name+"="+value)
			}
		}
		slices.Sort(pairs)
		return strings.Join(pairs, " ")
	}
	return strings.TrimSpace(regexp.MustCompile(`{{(\w+)}}`).ReplaceAllStringFunc(legend, func(m string) string { return s.Metric[m[2:len(m)-2]] }))
}

func (s series) points() (points [][2]float64) {
	for _, v := range s.Values {
		at, _ := v[0].(float64)
		text, _ := v[1].(string)
		if value, err := strconv.ParseFloat(text, 64); err == nil && value == value {
			points = append(points, [2]float64{at, value})
		}
	}
	return points
}

// series asks over the time of the test.
func (i *installation) series(t *testing.T, expr string) (found []series) {
	t.Helper()
	expr = strings.NewReplacer("$__rate_interval", "10s", "$service", ".*", "$route", ".*", "$stage", ".*", "$peer", ".*").Replace(expr)
	answer := i.ask(t, "query_range", "query", expr, "start", fmt.Sprint(i.began.Unix()), "end", fmt.Sprint(time.Now().Unix()), "step", "2")
	var data struct{ Result []series }
	if err := json.Unmarshal(answer, &data); err != nil {
		t.Fatal(err)
	}
	return data.Result
}

// firing is how many series an instant query finds.
func (i *installation) firing(t *testing.T, expr string) int {
	t.Helper()
	var data struct{ Result []json.RawMessage }
	if err := json.Unmarshal(i.ask(t, "query", "query", expr), &data); err != nil {
		t.Fatal(err)
	}
	return len(data.Result)
}

// ask asks Prometheus and returns the data of its answer.
func (i *installation) ask(t *testing.T, path string, pairs ...string) json.RawMessage {
	t.Helper()
	values := url.Values{}
	for n := 0; n < len(pairs); n += 2 {
		values.Set(pairs[n], pairs[n+1])
	}
	response, err := http.Get("http://" + i.prometheus + "/api/v1/" + path + "?" + values.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s %v: %v %s", path, pairs, err, answer.Error)
	}
	return answer.Data
}

// sql asks the engine, with the macros of Grafana's plugin replaced as that does, and returns rows of text.
func (i *installation) sql(t *testing.T, statement string) string {
	t.Helper()
	now := time.Now().Unix()
	statement = regexp.MustCompile(`\$__timeFilter\((\w+)\)`).ReplaceAllString(statement, fmt.Sprintf("$1 >= toDateTime(%d) AND $1 <= toDateTime(%d)", now-3600, now+60))
	statement = regexp.MustCompile(`\$__timeInterval\((\w+)\)`).ReplaceAllString(statement, "toStartOfInterval(toDateTime($1), INTERVAL 5 second)")
	statement = regexp.MustCompile(`\$\{(\w+):regex\}`).ReplaceAllString(statement, ".*")
	response, err := http.Post(i.engine.said[0]+"/?database=laxity&default_format=TSV", "text/plain", strings.NewReader(statement))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s\n%s", response.Status, body, statement)
	}
	return strings.TrimSuffix(string(body), "\n")
}
