package tracefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// object is a decoded JSON object. The getters take every spelling of a key and never fail: what has another type
// counts as absent.
type object = map[string]any

// decodeJSON decodes one value, numbers untouched.
func decodeJSON(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		var syntax *json.SyntaxError
		switch {
		case errors.As(err, &syntax):
			return nil, fmt.Errorf("invalid JSON at byte %d of the record: %w", syntax.Offset, err)
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errors.New("invalid JSON: ends in the middle")
		}
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	if dec.More() {
		return nil, fmt.Errorf("invalid JSON after byte %d of the record", dec.InputOffset())
	}
	return v, nil
}

func get(o object, keys ...string) any {
	for _, key := range keys {
		if v, ok := o[key]; ok && v != nil {
			return v
		}
	}
	return nil
}

func has(o object, keys ...string) bool {
	for _, key := range keys {
		if _, ok := o[key]; ok {
			return true
		}
	}
	return false
}

// text returns a string, number or boolean as text.
func text(o object, keys ...string) string { return scalarText(get(o, keys...)) }

func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func child(o object, keys ...string) object {
	v, _ := get(o, keys...).(map[string]any)
	return v
}

func list(o object, keys ...string) []any {
	v, _ := get(o, keys...).([]any)
	return v
}

// objects returns the elements of a list that are objects.
func objects(o object, keys ...string) []object {
	var out []object
	for _, v := range list(o, keys...) {
		if e, ok := v.(map[string]any); ok {
			out = append(out, e)
		}
	}
	return out
}

func uintOf(o object, keys ...string) uint32 {
	n, err := strconv.ParseUint(text(o, keys...), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}
