package redactprocessor

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// mask replaces what matches an expression of values.
const mask = "****"

type redactor struct {
	keys   []rule
	values []*regexp.Regexp
	salt   []byte
	// known remembers what becomes of a key: keys are few.
	known sync.Map // string to string
	count atomic.Int64
}

type rule struct {
	match *regexp.Regexp
	key   Key
}

func newRedactor(c *Config) *redactor {
	r := &redactor{salt: []byte(c.Salt)}
	for _, k := range c.Keys {
		r.keys = append(r.keys, rule{matcher(k.Pattern), k})
	}
	for _, v := range c.Values {
		r.values = append(r.values, regexp.MustCompile(v)) // validated
	}
	return r
}

func (r *redactor) process(_ context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	for _, rs := range td.ResourceSpans().All() {
		r.attributes(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			r.attributes(ss.Scope().Attributes())
			for _, s := range ss.Spans().All() {
				r.span(s)
			}
		}
	}
	return td, nil
}

func (r *redactor) span(s ptrace.Span) {
	r.attributes(s.Attributes())
	for _, e := range s.Events().All() {
		r.attributes(e.Attributes())
		if name, changed := r.masked(e.Name()); changed {
			e.SetName(name)
		}
	}
	for _, l := range s.Links().All() {
		r.attributes(l.Attributes())
	}
	if name, changed := r.masked(s.Name()); changed {
		s.SetName(name)
	}
	if message, changed := r.masked(s.Status().Message()); changed {
		s.Status().SetMessage(message)
	}
}

func (r *redactor) attributes(attrs pcommon.Map) {
	if attrs.Len() == 0 {
		return
	}
	if len(r.keys) > 0 {
		attrs.RemoveIf(func(key string, v pcommon.Value) bool {
			switch r.action(key) {
			case Drop:
				return true
			case Hash:
				v.SetStr(r.hash(v.AsString()))
			}
			return false
		})
	}
	if len(r.values) > 0 {
		for _, v := range attrs.All() {
			r.value(v)
		}
	}
}

// value masks texts, also those inside of lists and maps.
func (r *redactor) value(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		if text, changed := r.masked(v.Str()); changed {
			v.SetStr(text)
		}
	case pcommon.ValueTypeSlice:
		for _, item := range v.Slice().All() {
			r.value(item)
		}
	case pcommon.ValueTypeMap:
		for _, item := range v.Map().All() {
			r.value(item)
		}
	}
}

// maxKnown bounds the keys that are remembered.
const maxKnown = 10_000

// action returns what becomes of the value of a key, "" for nothing.
func (r *redactor) action(key string) string {
	if action, known := r.known.Load(key); known {
		return action.(string)
	}
	action := ""
	for _, k := range r.keys {
		if k.match.MatchString(key) && (k.key.Pattern == key || !strings.HasPrefix(key, budgetattr.Prefix) && key != "service.name") {
			action = k.key.Action
			break
		}
	}
	if r.count.Add(1) <= maxKnown {
		r.known.Store(strings.Clone(key), action)
	}
	return action
}

func (r *redactor) masked(text string) (string, bool) {
	changed := false
	for _, expression := range r.values {
		if expression.MatchString(text) {
			text, changed = expression.ReplaceAllString(text, mask), true
		}
	}
	return text, changed
}

// hash returns the same 32 hexadecimal digits for the same text and salt.
func (r *redactor) hash(text string) string {
	h := hmac.New(sha256.New, r.salt)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)[:16])
}
