package classify

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Row says what one status, flag, code, type or text on a span means. Exactly one of GRPC, HTTP, Flag, Code, Type, Whole and
// Text is set. docs/classification.md describes the fields for users.
type Row struct {
	GRPC  string `mapstructure:"grpc" yaml:"grpc"`   // name or number of a gRPC status
	HTTP  int64  `mapstructure:"http" yaml:"http"`   // HTTP status
	Flag  string `mapstructure:"flag" yaml:"flag"`   // response flag of Envoy
	Code  string `mapstructure:"code" yaml:"code"`   // code of a database, of System if that is set
	Type  string `mapstructure:"type" yaml:"type"`   // error.type or exception.type, whole or its last part
	Whole string `mapstructure:"whole" yaml:"whole"` // all of an error's text
	Text  string `mapstructure:"text" yaml:"text"`   // words of an error's text, in lower case; * stands for anything

	System string `mapstructure:"system" yaml:"system"` // db.system.name that Code is about
	// On lists the sides of a call on which the row holds: calling, called, inside, any. Default: both sides for Flag, any for
	// Whole, calling for Code, Type and Text; GRPC and HTTP need it.
	On string `mapstructure:"on" yaml:"on"`

	Rule    string `mapstructure:"rule" yaml:"rule"` // what deadline.inferred.rule will name
	Cause   string `mapstructure:"cause" yaml:"cause"`
	Phase   string `mapstructure:"phase" yaml:"phase"`
	Outcome string `mapstructure:"outcome" yaml:"outcome"`
	// Stop: what matches says nothing, whatever a row below it would say.
	Stop bool `mapstructure:"stop" yaml:"stop"`

	Example string `mapstructure:"example" yaml:"example"` // a real text that a Text row must match
	Source  string `mapstructure:"source" yaml:"source"`   // where the row is known from
	Checked string `mapstructure:"checked" yaml:"checked"` // the file, with its version, in which name or text were seen
}

// rowKeys are the keys of a row in a file.
var rowKeys = []string{"grpc", "http", "flag", "code", "type", "whole", "text", "system", "on", "rule", "cause", "phase",
	"outcome", "stop", "example", "source", "checked"}

// ReadRules reads rows from a file of the form `rules: [{…}, …]`. Errors name the line.
func ReadRules(path string) ([]Row, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows, err := parseRules(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

// parseRules reports all bad rows, each with its line, so that a file is mended in one go.
func parseRules(data []byte) ([]Row, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, errors.New("no rules in it; want rules: [{type: …, rule: …, cause: …}, …]")
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode || len(top.Content) != 2 || top.Content[0].Value != "rules" || top.Content[1].Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: want one key, rules, with a list of rows", max(top.Line, 1))
	}
	var rows []Row
	var errs []error
	lines := map[string]int{}
	for _, node := range top.Content[1].Content {
		row, err := parseRow(node)
		if err == nil {
			_, err = row.compile()
		}
		if err == nil {
			if first, twice := lines[row.key()]; twice {
				err = fmt.Errorf("the same as line %d", first)
			}
			lines[row.key()] = node.Line
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", node.Line, err))
			continue
		}
		rows = append(rows, row)
	}
	return rows, errors.Join(errs...)
}

func parseRow(node *yaml.Node) (row Row, err error) {
	if node.Kind != yaml.MappingNode {
		return row, errors.New("want a row like {type: …, rule: …, cause: …}")
	}
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i].Value; !slices.Contains(rowKeys, key) {
			return row, fmt.Errorf("unknown key %q; known are %s", key, strings.Join(rowKeys, ", "))
		}
	}
	if err := node.Decode(&row); err != nil {
		return row, errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: unmarshal errors:   "))
	}
	return row, nil
}

// key is the same for rows that match the same thing on the same sides.
func (r *Row) key() string {
	return strings.Join([]string{r.GRPC, strconv.FormatInt(r.HTTP, 10), r.Flag, r.System, r.Code, r.Type, r.Whole, r.Text, r.On}, "\x00")
}

// matcher is a row made ready.
type matcher struct {
	kind    matchKind
	key     string
	on      [roles]bool
	pieces  []string
	inWord  bool // the first piece may begin within a word
	guarded bool
	grams   [3]gram
	verdict
}

type matchKind uint8

const (
	byGRPC matchKind = iota
	byHTTP
	byFlag
	byCode
	byType
	byWhole
	byText
)

// compile checks a row.
func (r *Row) compile() (matcher, error) {
	m, err := r.match()
	if err != nil {
		return m, err
	}
	if m.on, err = r.sides(m.kind); err != nil {
		return m, err
	}
	if m.verdict, err = r.verdict(); err != nil {
		return m, err
	}
	m.source = sources[m.kind]
	if r.System != "" && m.kind != byCode {
		return m, errors.New("system goes with code only")
	}
	if r.Example != "" && m.kind == byText && !m.matches(strings.ToLower(shorten(r.Example))) {
		return m, fmt.Errorf("the example %q does not contain %q", r.Example, r.Text)
	}
	return m, nil
}

func (r *Row) match() (m matcher, err error) {
	given := 0
	set := func(kind matchKind, key string) {
		if key != "" {
			m.kind, m.key = kind, key
			given++
		}
	}
	if r.HTTP != 0 {
		set(byHTTP, strconv.FormatInt(r.HTTP, 10))
	}
	set(byGRPC, r.GRPC)
	set(byFlag, r.Flag)
	set(byCode, r.Code)
	set(byType, r.Type)
	set(byWhole, r.Whole)
	set(byText, r.Text)
	if given != 1 {
		return m, errors.New("want exactly one of grpc, http, flag, code, type, whole and text")
	}
	switch m.kind {
	case byGRPC:
		code, ok := grpcStatus(r.GRPC)
		if !ok {
			return m, fmt.Errorf("grpc: %q is no status", r.GRPC)
		}
		m.key = strconv.FormatInt(code, 10)
	case byHTTP:
		if r.HTTP < 100 || r.HTTP > 999 {
			return m, fmt.Errorf("http: %d is no status", r.HTTP)
		}
	case byCode:
		m.key = codeKey(r.System, r.Code)
	case byText:
		if r.Text != strings.ToLower(r.Text) {
			return m, fmt.Errorf("text: %q can never match, texts are compared in lower case", r.Text)
		}
		m.inWord = strings.HasPrefix(r.Text, "*")
		for piece := range strings.SplitSeq(r.Text, "*") {
			if piece != "" {
				m.pieces = append(m.pieces, piece)
				m.guarded = m.guarded || mentions(piece)
			}
		}
		if longest := slices.MaxFunc(append(m.pieces, ""), func(a, b string) int { return len(a) - len(b) }); len(longest) < 4 {
			return m, fmt.Errorf("text: %q would match almost anything; give at least four letters", r.Text)
		}
		m.grams = gramsOf(m.pieces)
	}
	return m, nil
}

func (r *Row) sides(kind matchKind) (on [roles]bool, err error) {
	text := r.On
	if text == "" {
		switch kind {
		case byGRPC, byHTTP:
			return on, errors.New("on is missing: a status means something else for the calling than for the called side")
		case byFlag:
			text = "calling, called"
		case byWhole:
			text = "any"
		default:
			text = "calling"
		}
	}
	for side := range strings.SplitSeq(text, ",") {
		switch strings.TrimSpace(side) {
		case "calling":
			on[calling] = true
		case "called":
			on[called] = true
		case "inside":
			on[inner] = true
		case "any":
			on = [roles]bool{true, true, true}
		default:
			return on, fmt.Errorf("on: %q is none of calling, called, inside, any", strings.TrimSpace(side))
		}
	}
	return on, nil
}

func (r *Row) verdict() (verdict, error) {
	v := verdict{rule: r.Rule, cause: budgetattr.Cause(r.Cause), phase: budgetattr.Phase(r.Phase),
		outcome: budgetattr.Outcome(r.Outcome), stop: r.Stop}
	says := r.Cause != "" || r.Phase != "" || r.Outcome != ""
	switch {
	case r.Rule == "" || r.Rule != strings.ToLower(r.Rule) || strings.ContainsAny(r.Rule, ", \t"):
		return v, fmt.Errorf("rule: %q is no name; want lower case without spaces or commas", r.Rule)
	case r.Stop && says:
		return v, errors.New("stop says nothing: leave out cause, phase and outcome")
	case !r.Stop && !says:
		return v, errors.New("none of cause, phase and outcome is given; a row that shall say nothing has stop: true")
	}
	return v, errors.Join(known("cause", v.cause, causes), known("phase", v.phase, phases), known("outcome", v.outcome, outcomes))
}

// What a row may say: a cause that can be read off one span, any phase, any outcome.
var (
	causes = []budgetattr.Cause{budgetattr.CauseClientDisconnect, budgetattr.CauseLocalDeadline, budgetattr.CauseUpstreamDeadline,
		budgetattr.CauseUpstreamCancel, budgetattr.CauseExpiry, budgetattr.CauseShutdown, budgetattr.CauseSuperseded,
		budgetattr.CauseStreamIdle, budgetattr.CauseSiblingFailed}
	phases = []budgetattr.Phase{budgetattr.PhaseQueue, budgetattr.PhasePool, budgetattr.PhaseDNS, budgetattr.PhaseConnect,
		budgetattr.PhaseTLS, budgetattr.PhaseRequest, budgetattr.PhaseFirstByte, budgetattr.PhaseFirstToken,
		budgetattr.PhaseBetweenTokens, budgetattr.PhaseBody, budgetattr.PhaseDBExecution, budgetattr.PhaseTotal}
	outcomes = []budgetattr.Outcome{budgetattr.OutcomeDone, budgetattr.OutcomeDoneWithPending, budgetattr.OutcomeDegraded,
		budgetattr.OutcomePartial, budgetattr.OutcomeRejected, budgetattr.OutcomeExpiredInQueue, budgetattr.OutcomeCancelled,
		budgetattr.OutcomeUncertain, budgetattr.OutcomeFailed}
)

func known[T ~string](field string, value T, all []T) error {
	if value == "" || slices.Contains(all, value) {
		return nil
	}
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = string(v)
	}
	return fmt.Errorf("%s: %q is none of %s", field, value, strings.Join(names, ", "))
}

// matches reports whether the pieces stand in the text in their order, the first one at the beginning of a word: a piece of a
// longer name is another name. Each is searched once, from where the one before it ended: the first place that fits is as good
// as any later one.
func (m *matcher) matches(lower string) bool {
	for i, piece := range m.pieces {
		var ok bool
		if i == 0 && !m.inWord {
			_, lower, ok = cutWord(lower, piece)
		} else {
			_, lower, ok = strings.Cut(lower, piece)
		}
		if !ok {
			return false
		}
	}
	return true
}

// cutWord is strings.Cut around the first piece that does not go on with a word.
func cutWord(text, piece string) (before, after string, found bool) {
	for from := 0; ; {
		at := strings.Index(text[from:], piece)
		if at < 0 {
			return text, "", false
		}
		if at += from; at == 0 || !ofWord(text[at-1]) || !ofWord(piece[0]) {
			return text[:at], text[at+len(piece):], true
		}
		from = at + 1
	}
}

func ofWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

var grpcNames = []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
	"UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

// grpcStatus reads a status by its name, as newer instrumentations write it, or by its number.
func grpcStatus(text string) (int64, bool) {
	if i := slices.Index(grpcNames, strings.ToUpper(text)); i >= 0 {
		return int64(i), true
	}
	code, err := strconv.ParseInt(text, 10, 64)
	return code, err == nil && code >= 0 && code < int64(len(grpcNames))
}

func codeKey(system, code string) string { return system + "\x00" + code }

// BuiltinRows returns the rows of rules.yaml in their order. The caller owns them.
func BuiltinRows() []Row {
	rows, err := parseRules(builtinRules)
	if err != nil {
		panic(fmt.Sprintf("classify: built-in rules: %v", err)) // a test reads them
	}
	return rows
}
