package redact_test

import (
	"reflect"
	"testing"

	"github.com/laxity-dev/laxity/internal/redact"
	"github.com/laxity-dev/laxity/internal/span"
)

// Everything a span says is redacted, and what it shares with other spans stays as it was.
func TestSpan(t *testing.T) {
	r := redact.New(redact.Config{Salt: "pepper", Values: []string{"card [0-9]+"},
		Keys: []redact.Key{{Pattern: "user.*", Action: redact.Drop}, {Pattern: "enduser.id", Action: redact.Hash}}})
	attrs := func() span.Attributes {
		return span.Attributes{"user.mail": "ann", "enduser.id": "ann", "note": "by card 1", "list": []any{"card 2", int64(3)}, "n": int64(4)}
	}
	want := span.Attributes{"enduser.id": r.Hash("ann"), "note": "by ****", "list": []any{"****", int64(3)}, "n": int64(4)}
	shared := attrs()
	s := span.Span{
		Service: "card 5", Name: "pay card 6", StatusMessage: "card 7 refused", Attrs: shared, Resource: shared,
		Events: []span.Event{{Name: "card 8", Attrs: attrs()}}, Links: []span.Link{{Attrs: attrs()}},
	}
	r.Span(&s)
	expected := span.Span{
		Service: "****", Name: "pay ****", StatusMessage: "**** refused", Attrs: want, Resource: want,
		Events: []span.Event{{Name: "****", Attrs: want}}, Links: []span.Link{{Attrs: want}},
	}
	if !reflect.DeepEqual(s, expected) {
		t.Errorf("%+v\nwant\n%+v", s, expected)
	}
	if !reflect.DeepEqual(shared, attrs()) {
		t.Errorf("shared attributes were changed: %v", shared)
	}
	if len(r.Hash("ann")) != 32 || r.Hash("ann") == r.Hash("bob") {
		t.Error("hashes")
	}
}
