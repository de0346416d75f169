package classify

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// TestCases runs testdata/cases.txt, one span a line.
func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		facts, want, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("no expectation in %q", line)
		}
		s := parse(t, facts)
		Builtin().Annotate(&s)
		var got []string
		for _, key := range []string{budgetattr.CancelCauseKey, budgetattr.TimeoutPhaseKey, budgetattr.OutcomeKey, budgetattr.InferredRuleKey} {
			value := s.Attrs.String(key)
			if value == "" {
				value = "-"
			}
			got = append(got, value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s\n got %s\nwant %s", facts, strings.Join(got, " "), want)
		}
		if s.Attrs.Has(budgetattr.InferredKey) != (got[3] != "-") {
			t.Errorf("%s: deadline.inferred without a rule, or a rule without it", facts)
		}
	}
}

func mustNew(t *testing.T, c Config) *Classifier {
	t.Helper()
	classifier, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return classifier
}

func parse(t *testing.T, facts string) span.Span {
	words := strings.Fields(facts)
	s := span.Span{Attrs: span.Attributes{}, Parent: span.ID{1}}
	switch words[0] {
	case "client":
		s.Kind = span.KindClient
	case "server":
		s.Kind = span.KindServer
	case "internal":
		s.Kind = span.KindInternal
	case "root":
		s.Kind, s.Parent = span.KindInternal, span.ID{}
	case "none":
	default:
		t.Fatalf("kind %q", words[0])
	}
	if words[1] == "error" {
		s.Status = span.StatusError
	}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		value = strings.ReplaceAll(value, "_", " ")
		if strings.HasPrefix(key, "deadline.") || strings.HasSuffix(key, ".type") || strings.HasSuffix(key, "_code") {
			value = word[strings.Index(word, "=")+1:]
		}
		switch {
		case key == "message":
			s.StatusMessage = value
		case strings.HasPrefix(key, "event:"):
			if len(s.Events) == 0 {
				s.Events = append(s.Events, span.Event{Name: "log", Attrs: span.Attributes{}})
			}
			s.Events[0].Attrs[strings.TrimPrefix(key, "event:")] = value
		default:
			s.Attrs[key] = value
		}
	}
	if message := s.StatusMessage; strings.Contains(message, "DEADLINE EXCEEDED") {
		s.StatusMessage = strings.ReplaceAll(message, "DEADLINE EXCEEDED", "DEADLINE_EXCEEDED")
	}
	return s
}

func TestBudgetFrom(t *testing.T) {
	config := Config{BudgetFrom: []BudgetFrom{{"request_budget", "ms"}, {"timeout", "s"}}}
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	s := span.Span{Kind: span.KindClient, Attrs: span.Attributes{"request_budget": "9989", "timeout": int64(3)}}
	mustNew(t, config).Annotate(&s)
	if got := s.Attrs[budgetattr.RemainingBeforeKey]; got != 9.989 {
		t.Errorf("a call's budget is what was left: %v", got)
	}
	s = span.Span{Kind: span.KindServer, Attrs: span.Attributes{"request_budget": int64(10003)}}
	mustNew(t, config).Annotate(&s)
	if got := s.Attrs[budgetattr.BudgetReceivedKey]; got != 10.003 || !s.InferredBy(span.RuleBudgetFrom) {
		t.Errorf("a server's budget is what it received: %v", s.Attrs)
	}
	s = span.Span{Kind: span.KindServer, Attrs: span.Attributes{"request_budget": int64(10003), budgetattr.BudgetReceivedKey: 2.5}}
	before := maps.Clone(s.Attrs)
	mustNew(t, config).Annotate(&s)
	if !maps.Equal(before, s.Attrs) {
		t.Errorf("a recorded budget was overwritten: %v", s.Attrs)
	}
	for _, bad := range []Config{{BudgetFrom: []BudgetFrom{{"", "s"}}}, {BudgetFrom: []BudgetFrom{{"x", "min"}}}} {
		if bad.Validate() == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// TestIssueAbsurdForeignBudget: a budget beyond all numbers is none, and the next attribute is asked.
func TestIssueAbsurdForeignBudget(t *testing.T) {
	config := Config{BudgetFrom: []BudgetFrom{{"request_budget", "s"}, {"timeout", "s"}}}
	s := span.Span{Kind: span.KindServer, Attrs: span.Attributes{"request_budget": 1e308, "timeout": int64(3)}}
	mustNew(t, config).Annotate(&s)
	if got := s.Attrs[budgetattr.BudgetReceivedKey]; got != 3.0 {
		t.Errorf("got %v", got)
	}
}

func BenchmarkAnnotateHealthy(b *testing.B) {
	s := span.Span{Kind: span.KindServer, Attrs: span.Attributes{"http.request.method": "GET", "http.route": "/x", "http.response.status_code": int64(200),
		"url.path": "/x", "server.address": "a", "network.protocol.version": "1.1"}}
	b.ReportAllocs()
	c := Builtin()
	for b.Loop() {
		c.Annotate(&s)
	}
}

func BenchmarkAnnotateLongError(b *testing.B) {
	s := span.Span{Kind: span.KindClient, Status: span.StatusError, StatusMessage: strings.Repeat("a long error text at some time ", 500), Attrs: span.Attributes{}}
	b.ReportAllocs()
	c := Builtin()
	for b.Loop() {
		c.Annotate(&s)
	}
}

func FuzzAnnotate(f *testing.F) {
	f.Add("context deadline exceeded", "timeout", "UT,DC", int64(4))
	c, err := New(Config{BudgetFrom: []BudgetFrom{{"error.type", "ms"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, kind, flags string, code int64) {
		for k := span.KindUnspecified; k <= span.KindConsumer; k++ {
			s := span.Span{Kind: k, Status: span.StatusError, StatusMessage: text, Attrs: span.Attributes{
				"error.type": kind, "response_flags": flags, "rpc.grpc.status_code": code, "http.status_code": text}}
			c.Annotate(&s)
			before := maps.Clone(s.Attrs)
			c.Annotate(&s)
			if s.Attrs[budgetattr.CancelCauseKey] != before[budgetattr.CancelCauseKey] {
				t.Errorf("a second look changed %v to %v", before, s.Attrs)
			}
		}
	})
}
