package api

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// maxBody bounds the description of one thing that a client adds.
const maxBody = 16 << 10

// readBody reads one JSON object and nothing more into a struct. What names the thing that is described; example is the advice.
func readBody(body io.Reader, into any, what, example string) *problem {
	decoder := json.NewDecoder(io.LimitReader(body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return invalid("body", strings.TrimPrefix(err.Error(), "json: "), "send JSON such as "+example)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return invalid("body", "goes on after the "+what, "send one JSON object of at most 16 KiB")
	}
	return nil
}
