package redactprocessor

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/internal/redact"
)

type redactor struct {
	*redact.Redactor
	keys, values bool // there are any
}

func newRedactor(c *Config) *redactor {
	return &redactor{redact.New(c.Rules()), len(c.Keys) > 0, len(c.Values) > 0}
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
		if name, changed := r.Mask(e.Name()); changed {
			e.SetName(name)
		}
	}
	for _, l := range s.Links().All() {
		r.attributes(l.Attributes())
	}
	if name, changed := r.Mask(s.Name()); changed {
		s.SetName(name)
	}
	if message, changed := r.Mask(s.Status().Message()); changed {
		s.Status().SetMessage(message)
	}
}

func (r *redactor) attributes(attrs pcommon.Map) {
	if attrs.Len() == 0 {
		return
	}
	if r.keys {
		attrs.RemoveIf(func(key string, v pcommon.Value) bool {
			switch r.Action(key) {
			case redact.Drop:
				return true
			case redact.Hash:
				v.SetStr(r.Hash(v.AsString()))
			}
			return false
		})
	}
	if r.values {
		for _, v := range attrs.All() {
			r.value(v)
		}
	}
}

// value masks texts, also those inside of lists and maps.
func (r *redactor) value(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		if text, changed := r.Mask(v.Str()); changed {
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
