package tracefile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
)

// csvRows cuts CSV text into rows. A row goes over several lines if a text in quotation marks does; a mark that is never
// closed, or closed by another one that is, costs its own line and not those after it.
type csvRows struct {
	br     *bufio.Reader
	comma  rune
	max    int
	fields int // of the header, 0 before it is read

	given  [][]byte // lines given back, read before br
	offset int64
	line   int

	text   bytes.Reader
	parser *csv.Reader
}

// next returns the next row and where it begins. A *csv.ParseError costs one line; the row after it can be read.
func (r *csvRows) next() (row []string, at Position, err error) {
	var lines [][]byte
	for len(lines) == 0 {
		at = Position{Line: r.line + 1, Offset: r.offset}
		line, err := r.read()
		if err != nil {
			return nil, at, err
		}
		if len(bytes.TrimRight(line, "\r\n")) > 0 {
			lines = append(lines, line)
		}
	}
	size, open := len(lines[0]), unclosed(lines[0])
	for open && size <= r.max {
		line, err := r.read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, at, err
		}
		lines = append(lines, line)
		size += len(line)
		open = open != unclosed(line)
	}
	row, err = r.parse(bytes.Join(lines, nil))
	if len(lines) > 1 && (err != nil || r.fields > 0 && len(row) != r.fields) {
		r.giveBack(lines[1:])
		row, err = r.parse(lines[0])
	}
	return row, at, err
}

// unclosed reports an odd number of quotation marks; one inside a text is written twice.
func unclosed(line []byte) bool { return bytes.Count(line, []byte{'"'})%2 == 1 }

func (r *csvRows) parse(text []byte) ([]string, error) {
	if r.parser == nil {
		r.parser = csv.NewReader(&r.text)
		r.parser.Comma, r.parser.FieldsPerRecord = r.comma, -1
	}
	r.text.Reset(text)
	row, err := r.parser.Read()
	if err != nil {
		r.parser = nil // it may hold a part of the text
	}
	return row, err
}

// read returns one line with its end.
func (r *csvRows) read() ([]byte, error) {
	var line []byte
	if len(r.given) > 0 {
		line, r.given = r.given[0], r.given[1:]
	} else {
		for {
			piece, err := r.br.ReadSlice('\n')
			line = append(line, piece...)
			switch {
			case err == bufio.ErrBufferFull && len(line) <= r.max:
				continue
			case err == bufio.ErrBufferFull:
				return nil, fmt.Errorf("read: a record of more than %d MiB", r.max>>20)
			case err == io.EOF && len(line) == 0:
				return nil, io.EOF
			case err != nil && err != io.EOF:
				return nil, fmt.Errorf("read: %w", err)
			}
			break
		}
	}
	r.line++
	r.offset += int64(len(line))
	return line, nil
}

func (r *csvRows) giveBack(lines [][]byte) {
	for _, line := range lines {
		r.line--
		r.offset -= int64(len(line))
	}
	r.given = append(lines, r.given...)
}
