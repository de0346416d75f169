package span

import "testing"

func TestParse(t *testing.T) {
	id, err := ParseTraceID("4BF92F3577b34da6a3ce929d0e0e4736")
	if err != nil || id.String() != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("trace id: %v, %v", id, err)
	}
	short, err := ParseID("00f067aa0ba902b7")
	if err != nil || short.String() != "00f067aa0ba902b7" {
		t.Errorf("span id: %v, %v", short, err)
	}
	for _, text := range []string{"", "4bf92f", "zzf067aa0ba902b7", "00f067aa0ba902b700"} {
		if _, err := ParseID(text); err == nil {
			t.Errorf("span id %q: no error", text)
		}
		if _, err := ParseTraceID(text); err == nil {
			t.Errorf("trace id %q: no error", text)
		}
	}
}

func TestParseKindAndStatus(t *testing.T) {
	for kind := KindUnspecified; kind <= KindConsumer; kind++ {
		if got := ParseKind(kind.String()); got != kind {
			t.Errorf("kind %s reads as %s", kind, got)
		}
	}
	for status := StatusUnset; status <= StatusError; status++ {
		if got := ParseStatus(status.String()); got != status {
			t.Errorf("status %s reads as %s", status, got)
		}
	}
	if ParseKind("SPAN_KIND_CLIENT") != KindClient || ParseStatus("STATUS_CODE_ERROR") != StatusError || ParseKind("?") != KindUnspecified {
		t.Error("the names of OTLP's JSON are not read")
	}
}
