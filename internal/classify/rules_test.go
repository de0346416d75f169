package classify

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// TestEveryRowSpeaks: every built-in row names its source, and a span that carries what the row is about gets what the row
// says, on each side that it names: nothing before it is in its way.
func TestEveryRowSpeaks(t *testing.T) {
	kinds := map[role]span.Kind{calling: span.KindClient, called: span.KindServer, inner: span.KindInternal}
	for _, row := range BuiltinRows() {
		name := strings.TrimSpace(strings.ReplaceAll(row.key(), "\x00", " "))
		if row.Source == "" {
			t.Errorf("%s: no source", name)
		}
		if row.Text != "" && row.Example == "" {
			t.Errorf("%s: no example", name)
		}
		m, err := row.compile()
		if err != nil {
			t.Fatal(err)
		}
		for r, holds := range m.on {
			if !holds {
				continue
			}
			s := span.Span{Kind: kinds[role(r)], Status: span.StatusError, Attrs: span.Attributes{}}
			set := func(key, value string) {
				if value != "" {
					s.Attrs[key] = value
				}
			}
			if row.HTTP != 0 {
				s.Attrs["http.response.status_code"] = row.HTTP
			}
			set("rpc.response.status_code", row.GRPC)
			set("response_flags", row.Flag)
			set("db.system.name", row.System)
			set("db.response.status_code", row.Code)
			set("error.type", row.Type)
			s.StatusMessage = row.Whole + row.Example
			Builtin().Annotate(&s)
			if cause := s.Attrs.String(budgetattr.CancelCauseKey); cause != row.Cause {
				t.Errorf("%s: cause %q, want %q", name, cause, row.Cause)
			}
			if phase := s.Attrs.String(budgetattr.TimeoutPhaseKey); phase != row.Phase {
				t.Errorf("%s: phase %q, want %q", name, phase, row.Phase)
			}
			if got := s.Attrs.String(budgetattr.InferredRuleKey); !row.Stop && (row.Cause != "" || row.Phase != "") && got != row.Rule {
				t.Errorf("%s: rule %q, want %q", name, got, row.Rule)
			}
		}
	}
}

// checkedRows is how many of the built-in rows name the version of the file in which they were seen.
var checkedRows = regexp.MustCompile(`(\d+) of the (\d+) rows were seen`)

// TestDocsCountCheckedRows: what docs/classification.md says of the rows' sources is true.
func TestDocsCountCheckedRows(t *testing.T) {
	docs, err := os.ReadFile("../../docs/classification.md")
	if err != nil {
		t.Fatal(err)
	}
	checked, all := 0, BuiltinRows()
	for _, row := range all {
		if row.Checked != "" {
			checked++
		}
	}
	said := checkedRows.FindSubmatch(docs)
	if said == nil || string(said[1]) != strconv.Itoa(checked) || string(said[2]) != strconv.Itoa(len(all)) {
		t.Errorf("%d of the %d rows were seen; the docs say %q", checked, len(all), said)
	}
}

// TestNoLooseBuiltinText bounds what a text without any word of time costs: it is searched for few rows.
func TestNoLooseBuiltinText(t *testing.T) {
	loose := 0
	for _, m := range builtin().texts {
		if !m.guarded {
			loose++
		}
	}
	if loose > 20 {
		t.Errorf("%d rows speak neither of time nor of cancelling; every error text is searched for them", loose)
	}
}

// TestRowsKnowTheNames: what a row may say is what the names of the product list.
func TestRowsKnowTheNames(t *testing.T) {
	source, err := os.ReadFile("../../sdk/budgetattr/enums.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := func(typ string) (values []string) {
		for _, m := range regexp.MustCompile(`(?m)^\s+\w+\s+`+typ+`\s+= "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
			values = append(values, m[1])
		}
		return values
	}
	check := func(typ string, have []string) {
		want := listed(typ)
		slices.Sort(want)
		slices.Sort(have)
		if len(want) == 0 || !slices.Equal(have, want) {
			t.Errorf("%s: rows know %v, the names are %v", typ, have, want)
		}
	}
	check("Cause", texts(causes))
	check("Phase", texts(phases))
	check("Outcome", texts(outcomes))
}

func texts[T ~string](values []T) (all []string) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

func TestBadRowsAreRefusedWithTheirLines(t *testing.T) {
	const file = `# my rows
rules:
  - {type: ShopTimeout, rule: shop, cause: local_deadline}
  - {type: A, text: abcd, rule: x, cause: local_deadline}
  - {rule: x, cause: local_deadline}
  - {type: B, rule: x, cause: because}
  - {type: C, rule: x, phase: lunch}
  - {type: D, rule: x}
  - {type: E, rule: x, stop: true, cause: expiry}
  - {type: F, rule: "Not A Name", cause: expiry}
  - {type: G, rule: x, cause: expiry, colour: red}
  - {http: 504, rule: x, cause: expiry}
  - {http: 7, on: called, rule: x, cause: expiry}
  - {grpc: LATE, on: called, rule: x, cause: expiry}
  - {text: Upper Case, rule: x, cause: expiry}
  - {text: "a*b", rule: x, cause: expiry}
  - {text: "took too long", rule: x, cause: expiry, example: "was too slow"}
  - {type: H, on: nowhere, rule: x, cause: expiry}
  - {type: I, system: mysql, rule: x, cause: expiry}
  - {http: soon, on: called, rule: x, cause: expiry}
  - just words
  - {type: ShopTimeout, rule: again, cause: expiry}
`
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Config{RulesFile: path}.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		path,
		`line 4: want exactly one of grpc, http, flag, code, type, whole and text`,
		`line 5: want exactly one of`,
		`line 6: cause: "because" is none of client_disconnect, local_deadline,`,
		`line 7: phase: "lunch" is none of queue, pool,`,
		`line 8: none of cause, phase and outcome is given`,
		`line 9: stop says nothing`,
		`line 10: rule: "Not A Name" is no name`,
		`line 11: unknown key "colour"; known are grpc, http,`,
		`line 12: on is missing`,
		`line 13: http: 7 is no status`,
		`line 14: grpc: "LATE" is no status`,
		`line 15: text: "Upper Case" can never match`,
		`line 16: text: "a*b" would match almost anything`,
		`line 17: the example "was too slow" does not contain "took too long"`,
		`line 18: on: "nowhere" is none of calling, called, inside, any`,
		`line 19: system goes with code only`,
		`line 20: line 20: cannot unmarshal`,
		`line 21: want a row like`,
		`line 22: the same as line 3`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing: %s\nin: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "line 3:") {
		t.Errorf("a good row is refused: %v", err)
	}
}

func TestFilesThatAreNoRules(t *testing.T) {
	for _, data := range []string{"", "# nothing", "rules: 5", "other: []", "- a", "rules: [}", "rules: []\nmore: 1"} {
		if _, err := parseRules([]byte(data)); err == nil {
			t.Errorf("%q is accepted", data)
		}
	}
	if err := (Config{RulesFile: filepath.Join(t.TempDir(), "none.yaml")}).Validate(); err == nil {
		t.Error("a file that is not there is accepted")
	}
	if err := (Config{Rules: []Row{{Type: "X", Rule: "x", Cause: "y"}}}).Validate(); err == nil || !strings.Contains(err.Error(), "rules[0]: cause") {
		t.Errorf("a bad row of the configuration: %v", err)
	}
}

// TestOwnRowsComeFirst: rows of the configuration before those of its file before the built-in ones.
func TestOwnRowsComeFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	rows := `rules:
  - {text: "shop: gave up", rule: from_file, cause: local_deadline, example: "shop: gave up after 3 tries"}
  - {text: "context deadline exceeded", rule: from_file, cause: expiry}
  - {http: 504, on: called, rule: ours, stop: true}
`
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustNew(t, Config{RulesFile: path, Rules: []Row{{Text: "gave up on purpose", Rule: "from_config", Cause: "superseded"}}})
	for message, want := range map[string]string{
		"shop: gave up on purpose":             "from_config",
		"shop: gave up":                        "from_file",
		"load cart: context deadline exceeded": "from_file",
		"dial tcp 10.0.0.1:80: i/o timeout":    "go_dial_timeout",
	} {
		s := span.Span{Kind: span.KindClient, Status: span.StatusError, StatusMessage: message}
		c.Annotate(&s)
		if got := s.Attrs.String(budgetattr.InferredRuleKey); got != want {
			t.Errorf("%s: rule %q, want %q", message, got, want)
		}
	}
	s := span.Span{Kind: span.KindServer, Attrs: span.Attributes{"http.response.status_code": int64(504)}}
	c.Annotate(&s)
	if len(s.Attrs) != 1 {
		t.Errorf("a row that stops says %v", s.Attrs)
	}
	Builtin().Annotate(&s)
	if s.Attrs[budgetattr.CancelCauseKey] != string(budgetattr.CauseLocalDeadline) {
		t.Errorf("rows of one classifier changed another: %v", s.Attrs)
	}
}

// TestTextsOfHealthySpansAreNotRead: what a span that did not fail mentions counts for nothing.
func TestTextsOfHealthySpansAreNotRead(t *testing.T) {
	for _, row := range BuiltinRows() {
		if row.Text == "" && row.Whole == "" {
			continue
		}
		s := span.Span{Kind: span.KindClient, StatusMessage: row.Whole + row.Example, Attrs: span.Attributes{"message": row.Example},
			Events: []span.Event{{Name: "retry", Attrs: span.Attributes{"message": row.Whole + row.Example}}}}
		if Builtin().Annotate(&s); len(s.Attrs) != 1 {
			t.Errorf("%q on a healthy span says %v", row.Whole+row.Example, s.Attrs)
		}
	}
}

func BenchmarkAnnotateWorstError(b *testing.B) {
	s := span.Span{Kind: span.KindClient, Status: span.StatusError, StatusMessage: strings.Repeat("timeout canceled deadlin", 500)}
	c := Builtin()
	b.ReportAllocs()
	for b.Loop() {
		c.Annotate(&s)
	}
}

func FuzzRules(f *testing.F) {
	f.Add([]byte("rules:\n  - {text: \"took*long\", rule: x, cause: expiry}"))
	f.Add(builtinRules[:2000])
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := parseRules(data)
		if err != nil {
			return
		}
		if _, err := New(Config{Rules: rows}); err != nil {
			t.Errorf("rows that were read are refused: %v", err)
		}
	})
}
