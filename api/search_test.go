package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

type found struct {
	Rows []struct {
		TraceID  string   `json:"trace_id"`
		Service  string   `json:"service"`
		Route    string   `json:"route"`
		Margin   *float64 `json:"margin_s"`
		Late     bool     `json:"late"`
		Class    string   `json:"class"`
		Rules    []string `json:"rules"`
		EntryID  string   `json:"entry_span_id"`
		Duration float64  `json:"duration_s"`
	} `json:"rows"`
	Next      *string `json:"next"`
	Examined  int     `json:"examined"`
	Exhausted bool    `json:"exhausted"`
}

func (f found) traces() string {
	var ids []string
	for _, row := range f.Rows {
		ids = append(ids, strings.TrimLeft(strings.TrimPrefix(row.TraceID, "4bf9"), "0"))
	}
	return strings.Join(ids, " ")
}

func searchFor(t *testing.T, server *Server, query string) found {
	t.Helper()
	response, body := get(t, server, "/api/v1/traces?"+query)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", query, response.StatusCode, body)
	}
	var f found
	if err := json.Unmarshal(body, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func testSearch(t *testing.T, server *Server) {
	for query, want := range map[string]string{
		"late=true":                                "1",
		"rule=late":                                "1",
		"rule=orphan_work":                         "1",
		"rule=exhausted":                           "1e 1f",
		"margin_lt=0":                              "1",
		"margin_lt=-0.3":                           "",
		"margin_gt=0.55&route=/answer":             "a",
		"class=benign":                             "21",
		"class=degraded":                           "20",
		"outcome=rejected":                         "1e",
		"cause=local_deadline&phase=body":          "1",
		"stage=generate":                           "1",
		"peer=model":                               "1",
		"service=shop":                             "20 21 22",
		"service=nobody":                           "",
		"service=search":                           "1",
		"service=model&route=/v1/generate":         "1",
		"service=shop&from=now-7d&to=now-24h":      "",
		"late=false&service=assistant&from=now-1h": "a 1e 1f",
		"not.service=assistant":                    "20 21 22",
		"not.service=assistant&not.route=/orders":  "22",
		"not.rule=late&from=now-30m":               "a 1e 1f 20 21 22",
		"not.rule=missing_budget&not.rule=late&service=shop":                  "20 21",
		"not.rule=orphan_work&late=true":                                      "",
		"not.outcome=done&not.outcome=cancelled&service=shop":                 "20",
		"not.class=late_or_failed&not.class=in_time&from=now-30m":             "20 21",
		"not.stage=generate&from=now-30m":                                     "a 1e 1f 20 21 22",
		"not.peer=search&late=true":                                           "",
		"not.cause=local_deadline&not.cause=client_disconnect&from=now-30m":   "a 1e 20 22",
		"not.phase=body&from=now-11m":                                         "a 1e",
		"answered=true&service=shop":                                          "20 22",
		"duration_gt=0.119999999&duration_lt=0.8&service=shop":                "21",
		"not.outcome=cancelled&service=assistant&route=/answer&margin_lt=0.1": "1 1e",
	} {
		f := searchFor(t, server, query)
		if got := f.traces(); got != want || !f.Exhausted || f.Next != nil {
			t.Errorf("%s: found %q, want %q; searched to the end: %v", query, got, want, f.Exhausted)
		}
	}
}

// Facets count under the same exclusions as a search finds.
func testFacetsLeaveOutAlike(t *testing.T, server *Server) {
	for _, query := range []string{
		"", "not.service=assistant", "not.rule=late", "not.rule=missing_budget", "not.outcome=done&not.outcome=cancelled", "not.class=in_time", "not.stage=generate",
		"not.peer=search", "not.cause=local_deadline&not.cause=client_disconnect", "not.phase=body", "answered=false", "duration_lt=0.5", "not.route=/orders&service=shop",
		"not.outcome=cancelled&service=assistant",
	} {
		_, body := get(t, server, "/api/v1/facets?from=now-7h&"+query)
		var counted struct{ Traces int }
		if err := json.Unmarshal(body, &counted); err != nil {
			t.Fatal(err)
		}
		if rows := searchFor(t, server, "from=now-7h&"+query).Rows; counted.Traces != len(rows) {
			t.Errorf("%s: facets count %d, the search finds %d: %s", query, counted.Traces, len(rows), body)
		}
	}
}

// The search that a cell of a heat map leads to finds the traces of the cell, no more and no less.
func testCellsLeadToTheirTraces(t *testing.T, server *Server) {
	for _, measure := range []string{"margin", "duration"} {
		_, body := get(t, server, "/api/v1/reports/cells?from=now-7h&service=assistant&route=/answer&measure="+measure)
		var answer struct {
			Window struct {
				Bucket float64 `json:"bucket_s"`
			}
			Rows []struct {
				At       time.Time
				LowS     *float64 `json:"low_s"`
				HighS    *float64 `json:"high_s"`
				Seen     int
				Examples []string `json:"example_trace_ids"`
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, cell := range answer.Rows {
			query := url.Values{
				"service": {"assistant"}, "route": {"/answer"}, "from": {cell.At.Format(time.RFC3339)},
				"to": {cell.At.Add(time.Duration(answer.Window.Bucket) * time.Second).Format(time.RFC3339)},
			}
			if measure == "margin" {
				query.Set("answered", "true")
			}
			if cell.LowS != nil {
				query.Set(measure+"_gt", fmt.Sprintf("%.9f", *cell.LowS-1e-9))
			}
			if cell.HighS != nil {
				query.Set(measure+"_lt", fmt.Sprint(*cell.HighS))
			}
			f := searchFor(t, server, query.Encode())
			if len(f.Rows) != cell.Seen || !slices.ContainsFunc(cell.Examples, func(id string) bool { return id == f.Rows[0].TraceID }) {
				t.Errorf("%s: a cell of %d, the search finds %s", query.Encode(), cell.Seen, f.traces())
			}
			total += cell.Seen
		}
		if want := map[string]int{"margin": 7, "duration": 9}[measure]; total != want {
			t.Errorf("%s: cells hold %d requests, want %d: %s", measure, total, want, body)
		}
	}
}

// A row found by an inner service is about the entry of that service; its statement is the same account.
func testRowOfAnInnerService(t *testing.T, server *Server) {
	f := searchFor(t, server, "service=search")
	if len(f.Rows) != 1 || f.Rows[0].Service != "search" || f.Rows[0].Route != "Search/Query" || f.Rows[0].Margin == nil || *f.Rows[0].Margin != 0.21 {
		t.Fatalf("%+v", f.Rows)
	}
	row := f.Rows[0]
	_, body := get(t, server, "/api/v1/traces/"+row.TraceID+"/statement?entry="+row.EntryID)
	var statement struct {
		Service string   `json:"service"`
		Margin  *float64 `json:"margin_s"`
	}
	if err := json.Unmarshal(body, &statement); err != nil {
		t.Fatal(err)
	}
	if statement.Service != "search" || statement.Margin == nil || *statement.Margin != *row.Margin {
		t.Errorf("the statement says %+v, the row %+v", statement, row)
	}
}

// A call that was tried twice enters its service twice; the attempt that fits is found, in one row.
func testSearchFindsTheAttemptThatFits(t *testing.T, engine *enginetest.Engine) {
	store := storagetest.OpenOn(t, engine)
	s := newStory(1, 0)
	s.add(0, "edge", "GET /", span.KindServer, 0, second, span.Attributes{"deadline.budget.received": 2.0})
	for i, outcome := range []string{"done", "cancelled", "done"} {
		attrs := span.Attributes{"http.route": "/stream", "deadline.budget.received": 1.0, "deadline.outcome": outcome}
		if outcome == "cancelled" {
			attrs["deadline.cancel.cause"] = "local_deadline"
		}
		s.add(1, "model", "POST /stream", span.KindServer, time.Duration(i)*100*time.Millisecond, 50*time.Millisecond, attrs)
	}
	store.Insert(t, s.spans...)
	server := newServer(t, store, nil)
	for query, want := range map[string]string{
		"service=model":                    "0100000000000002",
		"service=model&rule=exhausted":     "0100000000000003",
		"route=/stream&outcome=cancelled":  "0100000000000003",
		"service=model&outcome=done":       "0100000000000002",
		"rule=exhausted&outcome=cancelled": "",
		"":                                 "0100000000000001",
	} {
		f := searchFor(t, server, query)
		got := ""
		for _, row := range f.Rows {
			got += row.EntryID
		}
		if got != want {
			t.Errorf("%q: rows about %q, want %q", query, got, want)
		}
	}
}

func testSearchPages(t *testing.T, server *Server) {
	want := searchFor(t, server, "").traces()
	for limit := 1; limit <= 4; limit++ {
		var got []string
		for query := fmt.Sprintf("limit=%d", limit); ; {
			f := searchFor(t, server, query)
			if len(f.Rows) > 0 {
				got = append(got, f.traces())
			}
			if f.Next == nil {
				break
			}
			query = fmt.Sprintf("limit=%d&cursor=%s", limit, url.QueryEscape(*f.Next))
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("pages of %d: %q, want %q", limit, all, want)
		}
	}
	f := searchFor(t, server, "limit=1")
	response, body := get(t, server, "/api/v1/traces?limit=2&cursor="+url.QueryEscape(*f.Next))
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("a cursor of another question: %d %s", response.StatusCode, body)
	}
}

// An entry span of 1.3 s that only says that it received 1 s is late by 0.3 s wherever it shows.
func testOneSpanOneMargin(t *testing.T, engine *enginetest.Engine) {
	store := storagetest.OpenOn(t, engine)
	s := newStory(1, 0)
	s.add(0, "worker", "job", span.KindServer, 0, 1300*1e6, span.Attributes{"deadline.budget.received": 1.0})
	store.Insert(t, s.spans...)
	server := newServer(t, store, nil)
	for target, want := range map[string][]string{
		"/api/v1/traces": {`"margin_s":-0.3,`, `"late":true`, `"class":"late_or_failed"`, `"late"]`},
		"/api/v1/traces/" + lateTrace + "/statement": {`"margin_s":-0.3,`, `"closing_s":-0.3,`, `"late":true`},
		"/api/v1/reports/margin":                     {`"margin_p05_s":-0.3,`, `"margin_p50_s":-0.3,`, `"late":1,`, `"missed_ratio":1,`, `"used_p50":1.3`},
		"/api/v1/traces/" + lateTrace:                {`"deadline.margin":"-0.3"`, `"deadline.late":"true"`},
	} {
		response, body := get(t, server, target)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", target, response.StatusCode)
		}
		for _, part := range want {
			if !strings.Contains(string(body), part) {
				t.Errorf("%s does not say %s: %s", target, part, body)
			}
		}
	}
}

func testMarginPages(t *testing.T, server *Server) {
	routes := func(query string) (names []string, next *string) {
		t.Helper()
		_, body := get(t, server, "/api/v1/reports/margin?"+query)
		var answer struct {
			Rows []struct{ Service, Route string }
			Next *string
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatal(err)
		}
		for _, row := range answer.Rows {
			names = append(names, row.Service+row.Route)
		}
		return names, answer.Next
	}
	want, next := routes("")
	if next != nil || len(want) != 5 {
		t.Fatalf("%v %v", want, next)
	}
	var got []string
	for query := "limit=2"; ; {
		page, next := routes(query)
		got = append(got, page...)
		if next == nil {
			break
		}
		query = "limit=2&cursor=" + url.QueryEscape(*next)
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages %v, want %v", got, want)
	}
}
