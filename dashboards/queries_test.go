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
	"strings"
	"testing"
	"time"
)

// file is what a test reads of a dashboard's file.
type file struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr, RawSQL string }
	}
	Templating struct {
		List []struct{ Type, Name, Query string }
	}
}

// mayBeEmpty are panels about what need not have happened, or comes from the worker a minute later.
var mayBeEmpty = map[string]bool{
	"Findings by rule": true, "Orphan work": true, "Orphan work as judged": true, "Who works for nobody": true, "Still running": true,
	"Cost after the deadline": true, "Quarantined spans": true, "Watermarks of the worker": true, "Retries left out": true,
	"Not started for lack of time": true,
}

// askAll asks every query of every dashboard as Grafana would.
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
		for _, p := range f.Panels {
			rows := 0
			for _, target := range p.Targets {
				asked++
				if target.Expr != "" {
					rows += i.promql(t, target.Expr)
				} else if found := i.sql(t, target.RawSQL); found != "" {
					rows++
				}
			}
			if rows == 0 && !mayBeEmpty[p.Title] {
				t.Errorf("%s: %s is empty", name, p.Title)
			}
		}
		for _, v := range f.Templating.List {
			if v.Type != "query" {
				continue
			}
			asked++
			if m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Query); m != nil {
				if i.ask(t, "label/"+m[2]+"/values", "match[]", m[1]) == 0 {
					t.Errorf("%s: nothing to choose for %s", name, v.Name)
				}
			} else if i.sql(t, v.Query) == "" {
				t.Errorf("%s: nothing to choose for %s", name, v.Name)
			}
		}
	}
	t.Logf("%d queries of %d dashboards", asked, len(names))
}

// promql asks over the last minute and returns the number of series.
func (i *installation) promql(t *testing.T, expr string) int {
	t.Helper()
	expr = strings.NewReplacer("$__rate_interval", "10s", "$service", ".*", "$route", ".*", "$stage", ".*", "$peer", ".*").Replace(expr)
	now := time.Now()
	return i.ask(t, "query_range", "query", expr, "start", fmt.Sprint(now.Add(-time.Minute).Unix()), "end", fmt.Sprint(now.Unix()), "step", "2")
}

// ask asks Prometheus and returns the length of the answer.
func (i *installation) ask(t *testing.T, path string, pairs ...string) int {
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
	var list []json.RawMessage
	if json.Unmarshal(answer.Data, &list) == nil {
		return len(list)
	}
	var data struct{ Result []json.RawMessage }
	if err := json.Unmarshal(answer.Data, &data); err != nil {
		t.Fatal(err)
	}
	return len(data.Result)
}

// sql asks the engine, with the macros of Grafana's plugin replaced as that does, and returns rows of text.
func (i *installation) sql(t *testing.T, statement string) string {
	t.Helper()
	now := time.Now().Unix()
	statement = regexp.MustCompile(`\$__timeFilter\((\w+)\)`).ReplaceAllString(statement, fmt.Sprintf("$1 >= toDateTime(%d) AND $1 <= toDateTime(%d)", now-3600, now+60))
	statement = regexp.MustCompile(`\$__timeInterval\((\w+)\)`).ReplaceAllString(statement, "toStartOfInterval(toDateTime($1), INTERVAL 10 second)")
	statement = regexp.MustCompile(`\$\{(\w+):regex\}`).ReplaceAllString(statement, ".*")
	response, err := http.Post(i.engine+"/?database=laxity&default_format=TSV", "text/plain", strings.NewReader(statement))
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
