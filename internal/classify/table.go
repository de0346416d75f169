package classify

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

//go:embed rules.yaml
var builtinRules []byte

// verdict is what a row says. An empty field says nothing: a phase without a cause means that time ran out in that phase of
// a call, not who set the limit.
type verdict struct {
	rule  string
	cause budgetattr.Cause
	phase budgetattr.Phase
	// outcome is set where the status of the span misleads.
	outcome budgetattr.Outcome
	stop    bool
	source  Source
}

// Source is what on a span told its verdict.
type Source string

// The sources; the zero value is none.
const (
	SourceGRPC Source = "grpc"
	SourceHTTP Source = "http"
	SourceFlag Source = "flag"
	SourceCode Source = "code"
	SourceType Source = "type"
	SourceText Source = "text"
	SourceTag  Source = "tag"
)

var sources = [...]Source{byGRPC: SourceGRPC, byHTTP: SourceHTTP, byFlag: SourceFlag, byCode: SourceCode, byType: SourceType,
	byWhole: SourceText, byText: SourceText}

// none: no row, or one that says nothing.
func (v verdict) none() bool { return v.rule == "" || v.stop }

// Verdicts of the code that are no rows.
var (
	// Envoy tags its span of the outgoing request `canceled` when the router resets it.
	// Source: envoy source/common/router/upstream_request.cc.
	envoyCanceled = verdict{rule: "envoy_canceled", cause: budgetattr.CauseUpstreamCancel, source: SourceTag}
	serverError   = verdict{rule: "http_5xx", outcome: budgetattr.OutcomeFailed, source: SourceHTTP}
	errorTagged   = verdict{rule: "error_tag", outcome: budgetattr.OutcomeFailed, source: SourceTag}
)

// table is all rows, ready to be asked.
type table struct {
	exact [byText]map[string]*[roles]verdict
	// texts in order: the first that matches wins.
	texts []matcher
	// loose rows speak neither of time nor of cancelling; then every text must be searched.
	loose bool
	// speaks: a gRPC (0 to 16) or an HTTP status has a row.
	speaks [1000]bool
}

var builtin = sync.OnceValue(func() *table {
	t, err := newTable(BuiltinRows(), nil)
	if err != nil {
		panic(fmt.Sprintf("classify: built-in rules: %v", err))
	}
	return t
})

// newTable lays rows over a table; they come before its own.
func newTable(rows []Row, under *table) (*table, error) {
	t := &table{}
	for kind := range t.exact {
		t.exact[kind] = map[string]*[roles]verdict{}
		if under != nil {
			for key, sides := range under.exact[kind] {
				copied := *sides
				t.exact[kind][key] = &copied
			}
		}
	}
	for i := range rows {
		m, err := rows[i].compile()
		if err != nil {
			return nil, fmt.Errorf("rules[%d]: %w", i, err)
		}
		if m.kind == byText {
			t.texts = append(t.texts, m)
			continue
		}
		sides := t.exact[m.kind][m.key]
		if sides == nil {
			sides = &[roles]verdict{}
			t.exact[m.kind][m.key] = sides
		}
		for r, holds := range m.on {
			if holds {
				sides[r] = m.verdict
			}
		}
	}
	if under != nil {
		t.texts = append(t.texts, under.texts...)
	}
	for _, kind := range [...]matchKind{byGRPC, byHTTP} {
		for status := range t.exact[kind] {
			if code, err := strconv.Atoi(status); err == nil {
				t.speaks[code] = true
			}
		}
	}
	for i := range t.texts {
		t.loose = t.loose || !t.texts[i].guarded
	}
	return t, nil
}

func (t *table) of(kind matchKind, key string, r role) verdict {
	if sides := t.exact[kind][key]; sides != nil {
		return sides[r]
	}
	return verdict{}
}

// status asks for a gRPC or an HTTP status.
func (t *table) status(kind matchKind, code int64, r role) verdict {
	var digits [20]byte
	if sides := t.exact[kind][string(strconv.AppendInt(digits[:0], code, 10))]; sides != nil {
		return sides[r]
	}
	return verdict{}
}

// flags asks for a list of Envoy's response flags; the first that says something counts.
func (t *table) flags(flags string, r role) verdict {
	for flags != "" {
		var flag string
		flag, flags, _ = strings.Cut(flags, ",")
		if v := t.of(byFlag, flag, r); !v.none() {
			return v
		}
	}
	return verdict{}
}

// typ asks for a type, whole or by its last part.
func (t *table) typ(name string, r role) verdict {
	if name == "" {
		return verdict{}
	}
	if sides := t.exact[byType][name]; sides != nil {
		return sides[r]
	}
	if i := strings.LastIndexAny(name, ".:/$"); i >= 0 {
		return t.of(byType, name[i+1:], r)
	}
	return verdict{}
}

// code asks for a database's code, by its system and then for all systems.
func (t *table) code(system, code string, r role) verdict {
	if code == "" {
		return verdict{}
	}
	if v := t.of(byCode, codeKey(system, code), r); v.rule != "" || system == "" {
		return v
	}
	return t.of(byCode, codeKey("", code), r)
}

// How much of a long text is looked at: errors say what happened first, wrapped ones last.
const (
	head = 256
	tail = 128
)

func shorten(text string) string {
	if len(text) <= head+tail {
		return text
	}
	return text[:head] + " … " + text[len(text)-tail:]
}

func (t *table) text(text string, r role) verdict {
	if text == "" {
		return verdict{}
	}
	if v := t.of(byWhole, text, r); v.rule != "" {
		return v
	}
	text = strings.ToLower(shorten(text))
	guarded := mentions(text)
	if !guarded && !t.loose {
		return verdict{}
	}
	grams := sieveOf(text)
	for i := range t.texts {
		m := &t.texts[i]
		if m.on[r] && (guarded || !m.guarded) && m.passes(&grams) && m.matches(text) {
			return m.verdict
		}
	}
	return verdict{}
}

// mentions is the quick test that a text may be in the tables: nearly all of them speak of time or of cancelling.
func mentions(text string) bool {
	return strings.Contains(text, "time") || strings.Contains(text, "cancel") || strings.Contains(text, "deadline")
}

// systemOf is the database of a span by the name that conventions give it today.
func systemOf(a span.Attributes) string {
	system := a.String("db.system.name")
	if system == "" {
		system = a.String("db.system")
	}
	switch system {
	case "mssql":
		return "microsoft.sql_server"
	case "oracle":
		return "oracle.db"
	}
	return system
}
