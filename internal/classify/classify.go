// Package classify turns what runtimes, drivers and proxies leave on a span (status codes, error types and texts, foreign
// budget attributes) into deadline.* attributes. Everything downstream reads only those. The tables are in table.go, each
// row with its source; a text that could mean two things gives no verdict.
package classify

import (
	"fmt"
	"math"
	"strings"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Config of the classification. The zero value works. Safe for concurrent use.
type Config struct {
	// BudgetFrom maps attributes of other systems to budgets; the first one present on a span wins.
	BudgetFrom []BudgetFrom `mapstructure:"budget_from" yaml:"budget_from"`
}

// BudgetFrom is a foreign attribute that carries a budget, and its unit: s, ms, us or ns. On the called side it is what was
// received, on the calling side what was left.
type BudgetFrom struct {
	Attribute string `mapstructure:"attribute" yaml:"attribute"`
	Unit      string `mapstructure:"unit" yaml:"unit"`
}

// units in seconds.
var units = map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

// Validate says what is wrong with the configuration.
func (c Config) Validate() error {
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

// role is the side of a call that a span stands on.
type role uint8

const (
	inner role = iota
	calling
	called
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
// overwrites an attribute that is there, and says nothing about cause and phase where the span already records a cause.
func Annotate(s *span.Span, c Config) {
	r := roleOf(s.Kind)
	for i := range c.BudgetFrom {
		if mapBudget(s, r, c.BudgetFrom[i]) {
			break
		}
	}
	if s.Attrs.Has(budgetattr.CancelCauseKey) || s.Attrs.Has(budgetattr.TimeoutPhaseKey) {
		return
	}
	apply(s, r, judge(s, r))
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

func apply(s *span.Span, r role, v verdict) {
	if v.cause != "" {
		s.Infer(v.rule, budgetattr.CancelCauseKey, string(v.cause))
	}
	if v.phase != "" {
		s.Infer(v.rule, budgetattr.TimeoutPhaseKey, string(v.phase))
	}
	if v.outcome != "" && (r == called || s.Parent.IsZero()) {
		s.Infer(v.rule, budgetattr.OutcomeKey, string(v.outcome))
	}
}

// judge asks the most telling source first.
func judge(s *span.Span, r role) verdict {
	a := s.Attrs
	if flags, ok := a["response_flags"].(string); ok && flags != "-" && flags != "" {
		if v := envoy(flags, r); v.rule != "" {
			return v
		}
	}
	if r == calling {
		if canceled, _ := a.Bool("canceled"); canceled && a.String("component") == "proxy" {
			return envoyCanceled
		}
	}
	if failed(s) {
		if v := fromError(s, r); v.rule != "" {
			return v
		}
	}
	if code, ok := grpcCode(a); ok {
		if v := grpcCodes[code][r]; v.rule != "" {
			return v
		}
	}
	if code, ok := httpCode(a); ok {
		if v := httpCodes[code][r]; v.rule != "" {
			return v
		}
		if r == called && code >= 500 && code <= 599 && s.Status != span.StatusError {
			return verdict{rule: "http_5xx", outcome: budgetattr.OutcomeFailed}
		}
	}
	if r == called && s.Status != span.StatusError && errorTag(a) {
		return verdict{rule: "error_tag", outcome: budgetattr.OutcomeFailed}
	}
	return verdict{}
}

func envoy(flags string, r role) verdict {
	for flags != "" {
		var flag string
		flag, flags, _ = strings.Cut(flags, ",")
		if v := envoyFlags[flag][r]; v.rule != "" {
			return v
		}
	}
	return verdict{}
}

func grpcCode(a span.Attributes) (int64, bool) {
	for _, key := range [...]string{"rpc.grpc.status_code", "rpc.response.status_code", "grpc.status_code"} {
		v, ok := a[key]
		if !ok {
			continue
		}
		if name, isText := v.(string); isText {
			if code, known := grpcNames[strings.ToUpper(name)]; known {
				return code, true
			}
		}
		return a.Int(key)
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
		e := &s.Events[i]
		if e.Attrs.Has("error.object") || e.Attrs.Has("error") || e.Name == "error" || e.Attrs["event"] == "error" {
			return e
		}
	}
	return nil
}

// fromError reads types, then texts.
func fromError(s *span.Span, r role) verdict {
	a := s.Attrs
	for _, key := range [...]string{"error.type", "exception.type", "db.response.status_code"} {
		if v := fromType(a.String(key), r); v.rule != "" {
			return v
		}
	}
	for i := range s.Events {
		if v := fromType(s.Events[i].Attrs.String("exception.type"), r); v.rule != "" {
			return v
		}
	}
	for _, text := range [...]string{s.StatusMessage, a.String("error.message"), a.String("exception.message"), a.String("error")} {
		if v := fromText(text, r); v.rule != "" {
			return v
		}
	}
	for i := range s.Events {
		e := s.Events[i].Attrs
		for _, key := range [...]string{"exception.message", "error.object", "error", "message"} {
			if v := fromText(e.String(key), r); v.rule != "" {
				return v
			}
		}
	}
	return verdict{}
}

func fromType(name string, r role) verdict {
	if name == "" {
		return verdict{}
	}
	v, ok := types[name]
	if !ok {
		if i := strings.LastIndexAny(name, ".:/$"); i >= 0 {
			v = types[name[i+1:]]
		}
	}
	// A type on the called side or inside may have come up from a call that the span made.
	if r != calling && v.outcome == "" && v.cause != budgetattr.CauseUpstreamCancel {
		return verdict{}
	}
	return v
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

func fromText(text string, r role) verdict {
	if text == "" {
		return verdict{}
	}
	if v, ok := whole[text]; ok {
		return v
	}
	if r != calling {
		return verdict{}
	}
	text = strings.ToLower(shorten(text))
	if !mentions(text) {
		return verdict{}
	}
	for _, s := range shaped {
		if _, after, ok := strings.Cut(text, s.first); ok && strings.Contains(after, s.second) {
			return s.verdict
		}
	}
	for i := range texts {
		if strings.Contains(text, texts[i].contains) {
			return texts[i].verdict
		}
	}
	return verdict{}
}

// mentions is the quick test that a text may be in the tables: all of them speak of time or of cancelling.
func mentions(text string) bool {
	return strings.Contains(text, "time") || strings.Contains(text, "cancel") || strings.Contains(text, "deadline") ||
		strings.Contains(text, "queuepool")
}
