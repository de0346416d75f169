package redactprocessor

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
)

func spans(secret string) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	rs.Resource().Attributes().PutStr("user.team", secret)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().Attributes().PutStr("user.scope", secret)
	s := ss.Spans().AppendEmpty()
	s.SetName("GET /users/" + secret)
	s.Status().SetMessage("no user " + secret)
	a := s.Attributes()
	a.PutStr("user.name", secret)
	a.PutStr("enduser.id", secret)
	a.PutInt("enduser.number", 4711)
	a.PutStr("http.route", "/users/{id}")
	a.PutDouble("deadline.budget.received", 2)
	a.PutStr("deadline.detached.id", "kept")
	a.PutStr("note", "mail to "+secret+" was sent")
	list := a.PutEmptySlice("list")
	list.AppendEmpty().SetStr(secret)
	list.AppendEmpty().SetEmptyMap().PutStr("inner", secret)
	e := s.Events().AppendEmpty()
	e.SetName("saw " + secret)
	e.Attributes().PutStr("user.name", secret)
	s.Links().AppendEmpty().Attributes().PutStr("user.name", secret)
	return td
}

const secret = "ann@example.org"

func run(t *testing.T, config Config, td ptrace.Traces) ptrace.Span {
	t.Helper()
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	sink := &consumertest.TracesSink{}
	factory := NewFactory()
	p, err := factory.CreateTraces(t.Context(), processortest.NewNopSettings(factory.Type()), &config, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	if err := p.ConsumeTraces(t.Context(), td); err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sink.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
}

// Nothing of a secret is left anywhere in what goes on.
func TestNothingIsLeftOfASecret(t *testing.T) {
	td := spans(secret)
	s := run(t, Config{
		Keys:   []Key{{Pattern: "user.*", Action: Drop}, {Pattern: "enduser.*", Action: Hash}},
		Values: []string{`[a-z]+@[a-z]+\.[a-z]+`},
		Salt:   "pepper",
	}, td)
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{secret, "ann", "4711", "user.name", "user.team", "user.scope"} {
		if strings.Contains(strings.ReplaceAll(string(text), "enduser", ""), word) {
			t.Errorf("%q is left in %s", word, text)
		}
	}
	for key, want := range map[string]string{
		"http.route": "/users/{id}", "deadline.budget.received": "2", "deadline.detached.id": "kept", "note": "mail to **** was sent",
	} {
		if v, ok := s.Attributes().Get(key); !ok || v.AsString() != want {
			t.Errorf("%s is %q, want %q", key, v.AsString(), want)
		}
	}
	if s.Name() != "GET /users/****" || s.Status().Message() != "no user ****" {
		t.Errorf("%q, %q", s.Name(), s.Status().Message())
	}
}

// The same value has the same hash with one salt, and another with another.
func TestHashes(t *testing.T) {
	hash := func(salt, value string) string {
		s := run(t, Config{Keys: []Key{{Pattern: "enduser.id", Action: Hash}}, Salt: configopaque.String(salt)}, spans(value))
		v, _ := s.Attributes().Get("enduser.id")
		return v.AsString()
	}
	if a, b, c, d := hash("1", "ann"), hash("1", "ann"), hash("1", "bob"), hash("2", "ann"); a != b || a == c || a == d || len(a) != 32 {
		t.Errorf("%s %s %s %s", a, b, c, d)
	}
}

// A pattern leaves alone what judgement lives on; a whole key does not.
func TestPatternsSpareTheBudget(t *testing.T) {
	s := run(t, Config{Keys: []Key{{Pattern: "deadline.detached.id", Action: Drop}, {Pattern: "*", Action: Drop}}}, spans(secret))
	if _, ok := s.Attributes().Get("deadline.detached.id"); ok {
		t.Error("a key that was named is left")
	}
	if s.Attributes().Len() != 1 {
		t.Errorf("%v is left, want the budget alone", s.Attributes().AsRaw())
	}
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]Config{
		"no pattern":  {Keys: []Key{{Pattern: "", Action: Drop}}},
		"no action":   {Keys: []Key{{Pattern: "a", Action: "shred"}}},
		"no salt":     {Keys: []Key{{Pattern: "a", Action: Hash}}},
		"the service": {Keys: []Key{{Pattern: "service.name", Action: Drop}}},
		"expression":  {Values: []string{"("}},
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
