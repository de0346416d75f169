package tracefile

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/internal/span"
)

// traceID turns an id of any spelling into 16 bytes: hex with or without 0x, of up to 32 digits; base64 of the 16 bytes
// with padding; anything else is mapped by hash, and original is then the text it had. nil means none.
func traceID(text string) (id []byte, original string) { return parseID(text, 16, "trace") }

// TraceID reads a trace id in any spelling that a file may use; ok is false for none.
func TraceID(text string) (id span.TraceID, ok bool) {
	b, _ := traceID(text)
	ok = copy(id[:], b) > 0
	return id, ok
}

// SpanID does the same for a span.
func SpanID(text string) (id span.ID, ok bool) {
	b, _ := spanID(text)
	ok = copy(id[:], b) > 0
	return id, ok
}

// spanID does the same for 8 bytes.
func spanID(text string) (id []byte, original string) { return parseID(text, 8, "span") }

func parseID(text string, size int, kind string) (id []byte, original string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, ""
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
	if len(digits) <= 2*size && digits != "" {
		if b, err := hex.DecodeString(strings.Repeat("0", 2*size-len(digits)) + digits); err == nil {
			if allZero(b) {
				return nil, ""
			}
			return b, ""
		}
	}
	if len(text) == base64.StdEncoding.EncodedLen(size) && strings.HasSuffix(text, "=") {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			if b, err := enc.DecodeString(text); err == nil && len(b) == size {
				if allZero(b) {
					return nil, ""
				}
				return b, ""
			}
		}
	}
	return hashID(size, kind, text), text
}

// hashID is deterministic, so that importing a file again gives the same ids.
func hashID(size int, parts ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	sum[0] |= 1 // never the invalid id
	return sum[:size]
}

// setIDs fills the three ids of a span and keeps the texts that had to be mapped.
func setIDs(sp *tracepb.Span, trace, id, parent string) {
	var original [3]string
	sp.TraceId, original[0] = traceID(trace)
	sp.SpanId, original[1] = spanID(id)
	sp.ParentSpanId, original[2] = spanID(parent)
	for i, key := range [...]string{OriginalTraceIDKey, OriginalSpanIDKey, OriginalParentIDKey} {
		if original[i] != "" {
			sp.Attributes = append(sp.Attributes, stringAttr(key, original[i]))
		}
	}
}

func stringAttr(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: clean(key), Value: stringValue(value)}
}
