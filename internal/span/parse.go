package span

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// ParseTraceID reads 32 hexadecimal digits of either case. The all-zero id parses too.
func ParseTraceID(text string) (TraceID, error) {
	var id TraceID
	if len(text) != 2*len(id) {
		return TraceID{}, fmt.Errorf("trace id %q: want %d hexadecimal digits", text, 2*len(id))
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return TraceID{}, fmt.Errorf("trace id %q: %w", text, err)
	}
	return id, nil
}

// ParseID reads 16 hexadecimal digits of either case. The all-zero id parses too.
func ParseID(text string) (ID, error) {
	var id ID
	if len(text) != 2*len(id) {
		return ID{}, fmt.Errorf("span id %q: want %d hexadecimal digits", text, 2*len(id))
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return ID{}, fmt.Errorf("span id %q: %w", text, err)
	}
	return id, nil
}

// ParseKind reads a kind as String writes it, or as OTLP's JSON does (SPAN_KIND_SERVER); anything else is unspecified.
func ParseKind(text string) Kind {
	text = strings.TrimPrefix(text, "SPAN_KIND_")
	for kind := KindInternal; kind <= KindConsumer; kind++ {
		if strings.EqualFold(text, kind.String()) {
			return kind
		}
	}
	return KindUnspecified
}

// ParseStatus reads a status as String writes it, or as OTLP's JSON does (STATUS_CODE_ERROR); anything else is unset.
func ParseStatus(text string) Status {
	text = strings.TrimPrefix(text, "STATUS_CODE_")
	for status := StatusOK; status <= StatusError; status++ {
		if strings.EqualFold(text, status.String()) {
			return status
		}
	}
	return StatusUnset
}
