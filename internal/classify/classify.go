// Package classify turns what runtimes, drivers and proxies leave on a span (status codes, error types and texts, foreign
// budget attributes) into deadline.* attributes. Everything downstream reads only those. The rows are in rules.yaml, each
// with its source; what could mean two things gives no verdict.
package classify

import (
	"fmt"
	"math"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Config of the classification. The zero value works: the built-in rows alone.
type Config struct {
	// BudgetFrom maps attributes of other systems to budgets; the first one present on a span wins.
	BudgetFrom []BudgetFrom `mapstructure:"budget_from" yaml:"budget_from"`
	// RulesFile and Rules are further rows, in the form of the built-in ones (rules.yaml). They come before those: first
	// Rules, then the file.
	RulesFile string `mapstructure:"rules_file" yaml:"rules_file"`
	Rules     []Row  `mapstructure:"rules" yaml:"rules"`
}

// BudgetFrom is a foreign attribute that carries a budget, and its unit: s, ms, us or ns. On the called side it is what was
// received, on the calling side what was left.
type BudgetFrom struct {
	Attribute string `mapstructure:"attribute" yaml:"attribute"`
	Unit      string `mapstructure:"unit" yaml:"unit"`
}

// units in seconds.
var units = map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

// Validate says what is wrong with the configuration, and with the file it names.
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

func (c Config) validateBudgets() error {
	for i, b := range c.BudgetFrom {
		if b.Attribute == "" {
			return fmt.Errorf("budget_from[%d]: attribute is empty", i)
		}
		if _, ok := units[b.Unit]; !ok {
			return fmt.Errorf("budget_from[%d]: unit %q is none of s, ms, us, ns", i, b.Unit)
		}
	}
	return nil
}

// Classifier applies the rows. It is safe for concurrent use.
type Classifier struct {
	budgets []BudgetFrom
	table   *table
}

// New reads the file that the configuration names, if any, and checks all of it.
func New(c Config) (*Classifier, error) {
	if err := c.validateBudgets(); err != nil {
		return nil, err
	}
	t := builtin()
	if c.RulesFile != "" {
		rows, err := ReadRules(c.RulesFile)
		if err != nil {
			return nil, err
		}
		if t, err = newTable(rows, t); err != nil {
			return nil, err
		}
	}
	if len(c.Rules) > 0 {
		var err error
		if t, err = newTable(c.Rules, t); err != nil {
			return nil, err
		}
	}
	return &Classifier{budgets: c.BudgetFrom, table: t}, nil
}

// Builtin is the classifier of the zero Config.
func Builtin() *Classifier { return &Classifier{table: builtin()} }

// role is the side of a call that a span stands on.
type role uint8

const (
	inner role = iota
	calling
	called
	roles = 3
)

func roleOf(k span.Kind) role {
	switch k {
	case span.KindClient, span.KindProducer:
		return calling
	case span.KindServer, span.KindConsumer:
		return called
	}
	return inner
}

// Annotate sets deadline.* attributes that follow from the span, with deadline.inferred and the rule's name. It never
// overwrites an attribute that is there, and says nothing about cause and phase where the span already records a cause. It
// returns what told cause, phase or outcome.
func (c *Classifier) Annotate(s *span.Span) Source {
	r := roleOf(s.Kind)
	for i := range c.budgets {
		if mapBudget(s, r, c.budgets[i]) {
			break
		}
	}
	if s.Attrs.Has(budgetattr.CancelCauseKey) || s.Attrs.Has(budgetattr.TimeoutPhaseKey) {
		return ""
	}
	return apply(s, r, c.table.judge(s, r))
}

func mapBudget(s *span.Span, r role, b BudgetFrom) bool {
	value, ok := s.Attrs.Float(b.Attribute)
	unit := units[b.Unit]
	if !ok || unit == 0 || value < 0 {
		return false
	}
	key := budgetattr.RemainingBeforeKey
	if r == called || r == inner && s.Parent.IsZero() {
		key = budgetattr.BudgetReceivedKey
	}
	// Rounded to the nanosecond, so that 9989 ms is 9.989 s.
	seconds := math.Round(value*unit*1e9) / 1e9
	if math.IsInf(seconds, 0) {
		return false
	}
	s.Infer(span.RuleBudgetFrom, key, seconds)
	return true
}

func apply(s *span.Span, r role, v verdict) (told Source) {
	set := func(key, value string) {
		if value != "" && s.Infer(v.rule, key, value) {
			told = v.source
		}
	}
	set(budgetattr.CancelCauseKey, string(v.cause))
	set(budgetattr.TimeoutPhaseKey, string(v.phase))
	if r == called || s.Parent.IsZero() {
		set(budgetattr.OutcomeKey, string(v.outcome))
	}
	return told
}

// judge asks the most telling source first.
func (t *table) judge(s *span.Span, r role) verdict {
	a := s.Attrs
	if flags, ok := a["response_flags"].(string); ok && flags != "-" {
		if v := t.flags(flags, r); !v.none() {
			return v
		}
	}
	if r == calling {
		if canceled, _ := a.Bool("canceled"); canceled && a.String("component") == "proxy" {
			return envoyCanceled
		}
	}
	if failed(s) {
		if v := t.fromError(s, r); !v.none() {
			return v
		}
	}
	if code, ok := grpcCode(a); ok {
		if v := t.status(byGRPC, code, r); !v.none() {
			return v
		}
	}
	if code, ok := httpCode(a); ok {
		if v := t.status(byHTTP, code, r); v.rule != "" {
			return v
		}
		if r == called && code >= 500 && code <= 599 && s.Status != span.StatusError {
			return serverError
		}
	}
	if r == called && s.Status != span.StatusError && errorTag(a) {
		return errorTagged
	}
	return verdict{}
}

func grpcCode(a span.Attributes) (int64, bool) {
	for _, key := range [...]string{"rpc.grpc.status_code", "rpc.response.status_code", "grpc.status_code"} {
		switch v := a[key].(type) {
		case nil:
		case string:
			return grpcStatus(v)
		default:
			return a.Int(key)
		}
	}
	return 0, false
}

func httpCode(a span.Attributes) (int64, bool) {
	if code, ok := a.Int("http.response.status_code"); ok {
		return code, true
	}
	return a.Int("http.status_code")
}

// failed: the span says that it failed, in any of the ways tracers say so. What a healthy span mentions counts for nothing.
func failed(s *span.Span) bool {
	return s.Status == span.StatusError || s.Attrs.Has("error.type") || errorTag(s.Attrs) || errorEvent(s) != nil
}

// errorTag: Jaeger and Zipkin write a boolean or the text of the error, Zipkin even an empty one.
func errorTag(a span.Attributes) bool {
	v, ok := a["error"]
	return ok && v != false && v != "false"
}

// errorEvent finds the log by which OpenTracing tells an error where the tag is missing.
func errorEvent(s *span.Span) *span.Event {
	for i := range s.Events {
		if e := &s.Events[i]; isError(e) {
			return e
		}
	}
	return nil
}

func isError(e *span.Event) bool {
	return e.Attrs.Has("error.object") || e.Attrs.Has("error") || e.Name == "error" || e.Attrs["event"] == "error"
}

// fromError reads types and codes, then texts. Where a type tells less than a text that does not contradict it, the text
// wins: a SocketTimeoutException is one of connecting or of reading.
func (t *table) fromError(s *span.Span, r role) verdict {
	v := t.fromTypes(s, r)
	if !v.none() && (v.outcome != "" || v.cause != "" && v.phase != "") {
		return v
	}
	w := t.fromTexts(s, r)
	switch {
	case v.none():
		return w
	case w.none(), v.cause != "" && w.cause != v.cause, v.phase != "" && w.phase != v.phase, w.cause == "" || w.phase == "":
		return v
	}
	return w
}

func (t *table) fromTypes(s *span.Span, r role) verdict {
	a := s.Attrs
	for _, key := range [...]string{"error.type", "exception.type", "rpc.connect_rpc.error_code"} {
		if v := t.typ(a.String(key), r); !v.none() {
			return v
		}
	}
	for _, key := range [...]string{"db.response.status_code", "error.type"} {
		if v := t.code(systemOf(a), a.String(key), r); !v.none() {
			return v
		}
	}
	for i := range s.Events {
		if v := t.typ(s.Events[i].Attrs.String("exception.type"), r); !v.none() {
			return v
		}
	}
	return verdict{}
}

func (t *table) fromTexts(s *span.Span, r role) verdict {
	a := s.Attrs
	for _, text := range [...]string{s.StatusMessage, a.String("error.message"), a.String("exception.message"), a.String("error")} {
		if v := t.text(text, r); v.rule != "" {
			return v
		}
	}
	for i := range s.Events {
		e := &s.Events[i]
		for _, key := range [...]string{"exception.message", "error.object", "error", "message"} {
			// Any log has a message; of one that is no error it tells what else happened, such as an attempt before.
			if key == "message" && !isError(e) {
				continue
			}
			if v := t.text(e.Attrs.String(key), r); v.rule != "" {
				return v
			}
		}
	}
	return verdict{}
}
