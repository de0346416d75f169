package api

import (
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/laxity-dev/laxity/internal/hop"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/storage"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// params are the query parameters of one request. The first problem met is kept and the getters give zero values after it.
type params struct {
	values  url.Values
	problem *problem
}

// readParams refuses parameters that the endpoint does not know, because a misspelt filter that is ignored answers a
// different question.
func readParams(query string, known ...string) *params {
	values, err := url.ParseQuery(query)
	p := &params{values: values}
	if err != nil {
		p.fail(invalid("query", "malformed: "+err.Error(), "percent-encode names and values"))
	}
	for name, all := range values {
		if !slices.Contains(known, name) {
			p.fail(invalid(name, "unknown parameter", "this endpoint knows "+strings.Join(known, ", ")))
			continue
		}
		if len(all) > 1 && !strings.HasPrefix(name, excluding) {
			p.fail(invalid(name, "given more than once", "give each parameter once"))
		}
	}
	return p
}

// excluding begins the names of parameters that leave values out. They may be given more than once.
const excluding = "not."

// maxExcluded bounds the values that one parameter leaves out.
const maxExcluded = 50

// exclusions reads what is left out; a rule must be one of some.
func (p *params) exclusions(known []verdict.Rule) storage.Exclusions {
	return storage.Exclusions{
		Services: p.names("not.service", hop.Name), Routes: p.names("not.route", hop.Name), Environments: p.names("not.environment", hop.Label), Versions: p.names("not.version", hop.Label),
		Stages: p.names("not.stage", hop.Name), Peers: p.names("not.peer", hop.Name),
		Outcomes: manyOf(p, "not.outcome", outcomes), Classes: manyOf(p, "not.class", classes), Causes: manyOf(p, "not.cause", causes), Phases: manyOf(p, "not.phase", phases),
		Rules: manyOf(p, "not.rule", known),
	}
}

// longestName bounds what may be asked for in a name, in bytes. Rows keep less of it, and are found by what they keep.
const longestName = 4096

// name returns the name of a service, a route, a stage or a peer as rows keep it.
func (p *params) name(parameter string) string { return hop.Name(p.text(parameter, longestName)) }

// label returns an environment or a version as rows keep it.
func (p *params) label(parameter string) string { return hop.Label(p.text(parameter, longestName)) }

// names returns the values of a parameter that may be given more than once, as rows keep them.
func (p *params) names(parameter string, kept func(string) string) []string {
	values := p.texts(parameter, longestName)
	for i := range values {
		values[i] = kept(values[i])
	}
	return values
}

// texts returns the values of a parameter that may be given more than once, but for empty ones.
func (p *params) texts(name string, max int) []string {
	var values []string
	for _, value := range p.values[name] {
		if !p.valid(name, value, max) {
			return nil
		}
		if value != "" {
			values = append(values, value)
		}
	}
	if len(values) > maxExcluded {
		p.fail(invalid(name, "given more than "+strconv.Itoa(maxExcluded)+" times", "leave out fewer values, or ask for those that you want"))
		return nil
	}
	return values
}

// manyOf returns the values of a parameter that may be given more than once; each must be one of the allowed words.
func manyOf[T ~string](p *params, name string, allowed []T) []string {
	values := p.texts(name, 300)
	for _, value := range values {
		if !slices.Contains(allowed, T(value)) {
			p.unknown(name, value, words(allowed))
			return nil
		}
	}
	return values
}

func words[T ~string](allowed []T) []string {
	all := make([]string, len(allowed))
	for i, word := range allowed {
		all[i] = string(word)
	}
	return all
}

func (p *params) unknown(name, value string, allowed []string) {
	p.fail(invalid(name, strconv.Quote(value)+" is not known", "use one of "+strings.Join(allowed, ", ")))
}

func (p *params) fail(problem *problem) {
	if p.problem == nil {
		p.problem = problem
	}
}

// text returns a parameter of at most max bytes of valid text.
func (p *params) text(name string, max int) string {
	value := p.values.Get(name)
	if !p.valid(name, value, max) {
		return ""
	}
	return value
}

// valid reports whether a value is text of at most max bytes; if not, that is the problem.
func (p *params) valid(name, value string, max int) bool {
	ok := len(value) <= max && utf8.ValidString(value) && !strings.ContainsRune(value, 0)
	if !ok {
		p.fail(invalid(name, "not valid text of at most "+strconv.Itoa(max)+" bytes", "shorten it"))
	}
	return ok
}

// oneOf returns a parameter that must be empty or one of the allowed words.
func oneOf[T ~string](p *params, name string, allowed ...T) T {
	value := T(p.values.Get(name))
	if value == "" || slices.Contains(allowed, value) {
		return value
	}
	p.unknown(name, string(value), words(allowed))
	return ""
}

// seconds returns a parameter in seconds as nanoseconds, or nil.
func (p *params) seconds(name string) *time.Duration {
	value := p.values.Get(name)
	if value == "" {
		return nil
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1e9 {
		p.fail(invalid(name, strconv.Quote(value)+" is no number of seconds", "use a decimal number such as -0.3"))
		return nil
	}
	d := time.Duration(math.Round(f * 1e9))
	return &d
}

// entryFilters are the parameters that entryFilter reads.
var entryFilters = []string{"environment", "version", "outcome", "late", "margin_lt", "margin_gt"}

func (p *params) entryFilter() storage.EntryFilter {
	return storage.EntryFilter{
		Environment: p.label("environment"), Version: p.label("version"), Outcome: string(oneOf(p, "outcome", outcomes...)),
		Late: p.boolean("late"), MarginLess: p.seconds("margin_lt"), MarginMore: p.seconds("margin_gt"),
	}
}

func (p *params) boolean(name string) *bool {
	switch value := p.values.Get(name); value {
	case "":
		return nil
	case "true", "false":
		b := value == "true"
		return &b
	default:
		p.fail(invalid(name, strconv.Quote(value)+" is neither true nor false", "use true or false"))
		return nil
	}
}

func (p *params) limit() int {
	value := p.values.Get("limit")
	if value == "" {
		return defaultLimit
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxLimit {
		p.fail(invalid("limit", strconv.Quote(value)+" is not between 1 and 1000", "use limit=1000 and follow next"))
		return defaultLimit
	}
	return n
}

const cursorAdvice = "send the next of the previous answer with the same other parameters"

// page is where an answer goes on. It holds the window too, so that now does not move between two pages.
type page struct {
	From   int64  `json:"f"` // nanoseconds since 1970
	To     int64  `json:"t"`
	Query  uint64 `json:"q"` // fingerprint of the other parameters
	Offset int    `json:"o,omitempty"`
	At     int64  `json:"a,omitempty"` // start of the last trace, nanoseconds since 1970
	Trace  string `json:"i,omitempty"` // ids of the last trace and its entry
	Span   string `json:"s,omitempty"`
}

// window returns the page asked for: the first page of the window in from and to, or the one the cursor names.
func (p *params) window(now time.Time) page {
	from, to, bad := parseWindow(p.values.Get("from"), p.values.Get("to"), now)
	if bad != nil {
		p.fail(bad)
		return page{}
	}
	first := page{From: from.UnixNano(), To: to.UnixNano(), Query: p.fingerprint()}
	cursor := p.values.Get("cursor")
	if cursor == "" {
		return first
	}
	var next page
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(data, &next)
	}
	valid := err == nil && next.From < next.To && next.To-next.From <= int64(maxWindow) && next.From >= 0 && next.Offset >= 0
	if !valid || next.Query != first.Query {
		p.fail(invalid("cursor", "does not belong to this question", cursorAdvice))
		return page{}
	}
	return next
}

// fingerprint covers every parameter but cursor, which differs from page to page.
func (p *params) fingerprint() uint64 {
	rest := url.Values{}
	for name, value := range p.values {
		if name != "cursor" {
			rest[name] = value
		}
	}
	hash := fnv.New64a()
	hash.Write([]byte(rest.Encode()))
	return hash.Sum64()
}

// String encodes the page as a cursor.
func (p page) String() string {
	data, err := json.Marshal(p)
	if err != nil { // numbers and text only: cannot happen
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// entry returns the entry span that the page goes on after, zero on the first page.
func (p page) entry(params *params) storage.Entry {
	if p.Trace == "" {
		return storage.Entry{}
	}
	trace, err := span.ParseTraceID(p.Trace)
	id, idErr := span.ParseID(p.Span)
	if err != nil || idErr != nil {
		params.fail(invalid("cursor", "does not belong to this question", cursorAdvice))
	}
	return storage.Entry{Start: p.At, Trace: trace, Span: id}
}

func (p page) begin() time.Time { return time.Unix(0, p.From).UTC() }
func (p page) end() time.Time   { return time.Unix(0, p.To).UTC() }

// parseTraceID reads 32 hexadecimal digits, or 16, which are the low half of an id whose high half is zero.
func parseTraceID(text string) (span.TraceID, *problem) {
	if len(text) == 16 {
		text = strings.Repeat("0", 16) + text
	}
	id, err := span.ParseTraceID(text)
	if err != nil || id.IsZero() {
		return id, invalid("id", strconv.Quote(text)+" is no trace id", "a trace id is 32 hexadecimal digits and not all zero")
	}
	return id, nil
}

// entry reads the optional id of an entry span.
func (p *params) entry() span.ID {
	text := p.values.Get("entry")
	if text == "" {
		return span.ID{}
	}
	id, err := span.ParseID(text)
	if err != nil || id.IsZero() {
		p.fail(invalid("entry", strconv.Quote(text)+" is no span id", "a span id is 16 hexadecimal digits and not all zero"))
	}
	return id
}
