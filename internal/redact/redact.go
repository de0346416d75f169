package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// mask replaces what matches an expression of values.
const mask = "****"

// Redactor redacts by one configuration. It is safe for concurrent use.
type Redactor struct {
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

// New returns a redactor by a valid configuration.
func New(c Config) *Redactor {
	r := &Redactor{salt: []byte(c.Salt)}
	for _, k := range c.Keys {
		r.keys = append(r.keys, rule{matcher(k.Pattern), k})
	}
	for _, v := range c.Values {
		r.values = append(r.values, regexp.MustCompile(v)) // validated
	}
	return r
}

// maxKnown bounds the keys that are remembered.
const maxKnown = 10_000

// Action returns what becomes of the value of a key, "" for nothing.
func (r *Redactor) Action(key string) string {
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

// Mask masks what must not be seen of a text.
func (r *Redactor) Mask(text string) (string, bool) {
	changed := false
	for _, expression := range r.values {
		if expression.MatchString(text) {
			text, changed = expression.ReplaceAllString(text, mask), true
		}
	}
	return text, changed
}

// Hash returns the same 32 hexadecimal digits for the same text and salt.
func (r *Redactor) Hash(text string) string {
	h := hmac.New(sha256.New, r.salt)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Span redacts a span. Attributes that it may share with other spans are replaced, never changed.
func (r *Redactor) Span(s *span.Span) {
	s.Attrs, s.Resource = r.attributes(s.Attrs), r.attributes(s.Resource)
	for i := range s.Events {
		e := &s.Events[i]
		e.Attrs = r.attributes(e.Attrs)
		e.Name, _ = r.Mask(e.Name)
	}
	for i := range s.Links {
		s.Links[i].Attrs = r.attributes(s.Links[i].Attrs)
	}
	s.Service, _ = r.Mask(s.Service)
	s.Name, _ = r.Mask(s.Name)
	s.StatusMessage, _ = r.Mask(s.StatusMessage)
}

func (r *Redactor) attributes(attrs span.Attributes) span.Attributes {
	redacted := make(span.Attributes, len(attrs))
	for key, value := range attrs {
		switch r.Action(key) {
		case Drop:
			continue
		case Hash:
			value = r.Hash(attrs.String(key))
		}
		redacted[key] = r.value(value)
	}
	return redacted
}

// value masks texts, also those inside of lists.
func (r *Redactor) value(value any) any {
	switch v := value.(type) {
	case string:
		text, _ := r.Mask(v)
		return text
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = r.value(v[i])
		}
		return list
	}
	return value
}
