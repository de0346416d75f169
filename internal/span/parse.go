package span

import (
	"encoding/hex"
	"fmt"
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
