package tracefile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"unicode/utf8"
)

const peekSize = 64 << 10

// read unpacks, tells the format family by the first bytes, and reads on accordingly.
func read(r io.Reader, opts Options, s *sink) error {
	br := bufio.NewReaderSize(r, peekSize)
	damage := &damageReader{}
	for range 3 { // a file compressed twice is a common accident
		magic, _ := br.Peek(3)
		if len(magic) < 3 || magic[0] != 0x1f || magic[1] != 0x8b || magic[2] != 8 {
			break
		}
		unzip, err := gzip.NewReader(br)
		if err != nil {
			return fmt.Errorf("%w: starts like gzip, but: %v", ErrFormat, err)
		}
		s.summary.Gzip = true
		damage = &damageReader{r: unzip}
		br = bufio.NewReaderSize(damage, peekSize)
	}
	if bom, _ := br.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		_, _ = br.Discard(3)
	}
	head, err := br.Peek(peekSize)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read: %w", err)
	}
	if err := readFamily(br, head, opts, s); err != nil {
		return err
	}
	if damage.err != nil {
		s.refuse(Position{Offset: damage.read}, "the compressed data are damaged or cut, what follows is lost: %v", damage.err)
	}
	return nil
}

func readFamily(br *bufio.Reader, head []byte, opts Options, s *sink) error {
	switch {
	case opts.Columns != nil:
		return readCSV(br, opts, s)
	case len(head) >= 4 && string(head[:4]) == "\x28\xb5\x2f\xfd":
		return fmt.Errorf("%w: it is compressed with zstd; unpack it with 'zstd -d' first", ErrFormat)
	case len(head) >= 2 && (string(head[:2]) == "\xff\xfe" || string(head[:2]) == "\xfe\xff"):
		return fmt.Errorf("%w: it is UTF-16 text; convert it to UTF-8 first", ErrFormat)
	case isBinary(head):
		return readProto(br, opts, s)
	}
	first := bytes.TrimLeft(head, " \t\r\n,\x1e")
	if len(first) == 0 {
		return nil
	}
	if first[0] != '{' && first[0] != '[' && looksLikeCSV(head) {
		return readCSV(br, opts, s)
	}
	j := &jsonReader{src: newSource(br, opts.MaxRecord), sink: s}
	return j.run()
}

// isBinary reports control bytes that no text has. Protobuf cannot do without: each of its messages holds tags and
// lengths below 0x20, and ids of random bytes.
func isBinary(head []byte) bool {
	for _, c := range head {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != 0x1e && c != '\f' && c != 0x1b {
			return true
		}
	}
	n := len(head)
	for cut := 0; cut < utf8.UTFMax && cut < n; cut++ { // the peek may end inside a character
		if utf8.Valid(head[:n-cut]) {
			return false
		}
	}
	return n > 0 && head[0] == 0x0a
}

// damageReader turns an error of decompression into the end of the data and remembers it, so that what came before stays.
type damageReader struct {
	r    io.Reader
	read int64
	err  error
}

func (d *damageReader) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	d.read += int64(n)
	if err != nil && err != io.EOF {
		d.err = err
		err = io.EOF
	}
	return n, err
}
