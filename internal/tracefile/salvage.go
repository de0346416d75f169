package tracefile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxSalvageDepth reaches an attribute of a span of a scope of a resource; what is broken deeper costs the part above it.
const maxSalvageDepth = 12

// decode decodes one value of the text. Where a part of it is broken, that part is refused and the rest kept: one bad
// attribute costs an attribute, one bad span a span. ok is false if nothing is left.
func (j *jsonReader) decode(raw []byte, at Position) (value any, ok bool) {
	value, err := decodeJSON(raw)
	if err == nil {
		return value, true
	}
	return j.salvage(raw, at, err, 0)
}

func (j *jsonReader) salvage(raw []byte, at Position, err error, depth int) (value any, ok bool) {
	switch word := string(raw[:min(len(raw), 10)]); {
	case word == "NaN" || word == "Infinity" || word == "-Infinity": // as Python and JavaScript write them
		return json.Number(word), true
	case raw[0] == '"':
		if text, err := decodeJSON(escapeControls(raw)); err == nil {
			return text, true
		}
	case raw[0] == '{' && depth < maxSalvageDepth:
		return j.salvageObject(raw, at, depth), true
	case raw[0] == '[' && depth < maxSalvageDepth:
		return j.salvageList(raw, at, depth), true
	}
	j.sink.refuse(at, "%v", err)
	return nil, false
}

// part decodes the next value of a broken record, of which inner reads the text.
func (j *jsonReader) part(inner *source, at Position, path string, depth int) (value any, ok bool) {
	here := Position{Line: at.Line + inner.line - 1, Offset: at.Offset + inner.offset, Path: path}
	raw, err := inner.next()
	if err != nil {
		var broken *errBroken
		if errors.As(err, &broken) {
			j.sink.refuse(here, "%s", broken.reason)
		}
		return nil, false
	}
	value, err = decodeJSON(raw)
	if err == nil {
		return value, true
	}
	return j.salvage(raw, here, err, depth)
}

func (j *jsonReader) salvageObject(raw []byte, at Position, depth int) object {
	o := object{}
	inner := newSource(bufio.NewReader(bytes.NewReader(raw)), len(raw))
	inner.skip()
	keys := &jsonReader{src: inner}
	for {
		switch c, err := inner.peek(); {
		case err != nil || c == '}':
			return o
		case c == ',':
			inner.skip()
			continue
		}
		key, err := keys.key()
		if err != nil {
			if err != io.EOF {
				j.sink.refuse(at, "%v", err)
			}
			return o
		}
		if _, err := inner.peek(); err != nil {
			return o
		}
		if value, ok := j.part(inner, at, joinPath(at.Path, key), depth+1); ok {
			o[key] = value
		}
	}
}

func (j *jsonReader) salvageList(raw []byte, at Position, depth int) []any {
	var list []any
	inner := newSource(bufio.NewReader(bytes.NewReader(raw)), len(raw))
	inner.skip()
	for i := 0; ; {
		switch c, err := inner.peek(); {
		case err != nil || c == ']':
			return list
		case c == ',':
			inner.skip()
			i++
			continue
		}
		before := inner.offset
		if value, ok := j.part(inner, at, fmt.Sprintf("%s[%d]", at.Path, i), depth+1); ok {
			list = append(list, value)
		}
		if inner.offset == before { // nothing that could be passed over
			return list
		}
	}
}

// escapeControls writes control characters inside a text, which JSON forbids, as escapes.
func escapeControls(raw []byte) []byte {
	var b []byte
	for _, c := range raw {
		if c < 0x20 {
			b = fmt.Appendf(b, `\u%04x`, c)
			continue
		}
		b = append(b, c)
	}
	return b
}
