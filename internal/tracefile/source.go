package tracefile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errBroken is JSON whose brackets or strings do not close where they should.
type errBroken struct{ reason string }

func (e *errBroken) Error() string { return e.reason }

// source cuts JSON text into values without decoding them, knows where it is, and finds its way after a broken one.
type source struct {
	br      *bufio.Reader
	pending []byte // text given back, read before br
	max     int
	offset  int64
	line    int
	value   []byte // what the last call of next has collected, from start on
	start   Position
	broken  bool // that value was not completed
}

func newSource(br *bufio.Reader, maxRecord int) *source {
	return &source{br: br, max: maxRecord, line: 1}
}

func (s *source) here() Position { return Position{Line: s.line, Offset: s.offset} }

// chunk returns at least one byte that lies ahead, or io.EOF.
func (s *source) chunk() ([]byte, error) {
	if len(s.pending) > 0 {
		return s.pending, nil
	}
	if b, err := s.br.Peek(1); len(b) == 0 {
		if err == io.EOF || err == nil {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read: %w", err)
	}
	return s.br.Peek(s.br.Buffered())
}

// advance consumes n bytes of the chunk.
func (s *source) advance(chunk []byte, n int) {
	s.offset += int64(n)
	s.line += bytes.Count(chunk[:n], []byte{'\n'})
	if len(s.pending) > 0 {
		s.pending = s.pending[n:]
		return
	}
	_, _ = s.br.Discard(n)
}

// peek skips white space and returns the next byte without consuming it.
func (s *source) peek() (byte, error) {
	for {
		chunk, err := s.chunk()
		if err != nil {
			return 0, err
		}
		for i, c := range chunk {
			if c != ' ' && c != '\n' && c != '\t' && c != '\r' && c != 0x1e {
				s.advance(chunk, i)
				return c, nil
			}
		}
		s.advance(chunk, len(chunk))
	}
}

// skip consumes the byte that peek has returned.
func (s *source) skip() {
	chunk, err := s.chunk()
	if err == nil {
		s.advance(chunk, 1)
	}
}

// next returns the text of one value; it stays valid until the next call. Only brackets and strings are looked at.
// An *errBroken leaves in s.value what was read of it.
func (s *source) next() ([]byte, error) {
	if _, err := s.peek(); err != nil {
		return nil, err
	}
	s.start = s.here()
	s.value, s.broken = s.value[:0], true
	if cap(s.value) > 4<<20 {
		s.value = nil // one large record must not keep its memory for good
	}
	var scan valueScanner
	for {
		chunk, err := s.chunk()
		if err == io.EOF {
			if scan.bare() {
				s.broken = false
				return s.value, nil
			}
			return nil, &errBroken{"the file ends in the middle of a record"}
		}
		if err != nil {
			return nil, err
		}
		n, done, broken := scan.scan(chunk)
		s.value = append(s.value, chunk[:n]...)
		s.advance(chunk, n)
		switch {
		case broken != nil:
			return nil, broken
		case done && len(s.value) == 0:
			return nil, &errBroken{fmt.Sprintf("invalid JSON: %q where a value is due", chunk[0])}
		case done:
			s.broken = false
			return s.value, nil
		case len(s.value) > s.max:
			return nil, &errBroken{fmt.Sprintf("a record of more than %d MiB", s.max>>20)}
		}
	}
}

// resync gives up on a broken value and goes on at the next line that begins like a record, which may lie inside of what
// was already taken for a part of the value.
func (s *source) resync() error {
	if !s.broken {
		s.value = s.value[:0]
	}
	s.broken = false
	previous := byte(0)
	if i := recordStart(s.value); i >= 0 {
		rest := bytes.Clone(s.value[i:])
		s.offset = s.start.Offset + int64(i)
		s.line = s.start.Line + bytes.Count(s.value[:i], []byte{'\n'})
		s.pending = append(rest, s.pending...)
		s.value = s.value[:0]
		return nil
	}
	if n := len(s.value); n > 0 {
		previous = s.value[n-1]
	}
	s.value = s.value[:0]
	for {
		chunk, err := s.chunk()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if previous == '\n' && (chunk[0] == '{' || chunk[0] == '[' || chunk[0] == ',') {
			return nil
		}
		if i := recordStart(chunk); i >= 0 {
			s.advance(chunk, i)
			return nil
		}
		previous = chunk[len(chunk)-1]
		s.advance(chunk, len(chunk))
	}
}

// recordStart finds a line that begins with a bracket, or with a comma before one.
func recordStart(b []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return -1
		}
		from += i + 1
		rest := b[from:]
		if len(rest) > 1 && rest[0] == ',' {
			rest = bytes.TrimLeft(rest[1:], " ")
		}
		if len(rest) > 0 && (rest[0] == '{' || rest[0] == '[') {
			return from
		}
	}
}

// skipLine consumes the rest of the line and reports whether a quotation mark was in it, as in a piece of JSON.
func (s *source) skipLine() (quoted bool, err error) {
	for {
		chunk, err := s.chunk()
		if errors.Is(err, io.EOF) {
			return quoted, nil
		}
		if err != nil {
			return quoted, err
		}
		line, _, ended := bytes.Cut(chunk, []byte{'\n'})
		quoted = quoted || bytes.IndexByte(line, '"') >= 0
		if ended {
			s.advance(chunk, len(line)+1)
			return quoted, nil
		}
		s.advance(chunk, len(chunk))
	}
}

// valueScanner follows one JSON value over several chunks.
type valueScanner struct {
	stack    []byte // closing brackets that are due
	previous byte   // last byte outside of strings that is not white space; 0 at the start
	inString bool
	escaped  bool
}

// bare reports a value that only the end of the text can end: a number or a word.
func (v *valueScanner) bare() bool { return len(v.stack) == 0 && !v.inString && v.previous != 0 }

// mayOpen reports whether a bracket may open here: as an element of a list or after a colon, nowhere else.
func (v *valueScanner) mayOpen() bool {
	switch v.previous {
	case 0, '[', ':':
		return true
	case ',':
		return v.stack[len(v.stack)-1] == ']'
	}
	return false
}

// scan returns how much of the chunk belongs to the value and whether it is complete.
func (v *valueScanner) scan(chunk []byte) (n int, done bool, err error) {
	for i := 0; i < len(chunk); i++ {
		c := chunk[i]
		if v.inString {
			switch {
			case v.escaped:
				v.escaped = false
			case c == '\\':
				v.escaped = true
			case c == '\n':
				return i, false, &errBroken{"the line ends inside a text"}
			case c == '"':
				v.inString = false
				if v.previous = c; len(v.stack) == 0 {
					return i + 1, true, nil
				}
			}
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			if v.bare() {
				return i, true, nil
			}
			continue
		case '"':
			v.inString = true
		case '{', '[':
			if !v.mayOpen() {
				return i, false, &errBroken{"invalid JSON: a new record begins inside of this one"}
			}
			v.stack = append(v.stack, c+2) // '{'+2 is '}', '['+2 is ']'
		case '}', ']', ',':
			if len(v.stack) == 0 {
				return i, true, nil
			}
			if c == ',' {
				break
			}
			if v.stack[len(v.stack)-1] != c {
				return i, false, &errBroken{fmt.Sprintf("invalid JSON: %q where %q is due", c, v.stack[len(v.stack)-1])}
			}
			if v.stack = v.stack[:len(v.stack)-1]; len(v.stack) == 0 {
				return i + 1, true, nil
			}
		}
		v.previous = c
	}
	return len(chunk), false, nil
}
