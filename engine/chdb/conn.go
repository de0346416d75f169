package chdb

import (
	"errors"
	"runtime"
	"strings"
	"unsafe"
)

// Param is one value for a {name:Type} placeholder, in ClickHouse's escaped text form.
type Param struct{ Name, Value string }

// Stats counts the rows and bytes of a statement, as far as it got.
type Stats struct {
	ReadRows, ReadBytes       uint64 // from tables
	WrittenRows, WrittenBytes uint64
	ResultRows, ResultBytes   uint64 // bytes in the engine's memory
}

// Conn is one connection to the engine. It runs one statement at a time and is not safe for concurrent use.
type Conn struct {
	handle *uintptr // the library's own cell: it holds the connection, and closing clears it
}

var errClosed = errors.New("engine connection is closed")

var errNoResult = errors.New("engine returned nothing")

// connect opens a connection; the first of a process boots the engine with args.
func connect(args []string) (*Conn, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	argv := make([]unsafe.Pointer, 0, len(args)+2)
	for _, a := range append([]string{"laxity"}, args...) {
		b := append([]byte(a), 0)
		pin.Pin(&b[0])
		argv = append(argv, unsafe.Pointer(&b[0]))
	}
	argv = append(argv, nil)
	pin.Pin(&argv[0])
	handle := lib.connect(int32(len(argv)-1), unsafe.Pointer(&argv[0]))
	if handle == nil || *handle == 0 {
		return nil, errors.New("engine refuses the connection")
	}
	return &Conn{handle: handle}, nil
}

// Close ends the connection and forgets its settings and temporary tables.
func (c *Conn) Close() {
	if c.handle != nil {
		lib.close(c.handle)
		c.handle = nil
	}
}

// call passes a statement to one of the library's two entry points for statements.
func (c *Conn) call(f queryFunc, sql, format string, params []Param) (uintptr, error) {
	if c.handle == nil {
		return 0, errClosed
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	text := func(s string) unsafe.Pointer {
		if s == "" {
			s = "\x00" // a length of zero goes with it: the library wants an address all the same
		}
		p := unsafe.StringData(s)
		pin.Pin(p)
		return unsafe.Pointer(p)
	}
	n := len(params)
	pointers, lengths := make([]unsafe.Pointer, 2*n+1), make([]uintptr, 2*n+1)
	pin.Pin(&pointers[0])
	pin.Pin(&lengths[0])
	for i, p := range params {
		pointers[i], lengths[i] = text(p.Name), uintptr(len(p.Name))
		pointers[n+i], lengths[n+i] = text(p.Value), uintptr(len(p.Value))
	}
	result := f(*c.handle, text(sql), uintptr(len(sql)), text(format), uintptr(len(format)),
		unsafe.Pointer(&pointers[0]), unsafe.Pointer(&lengths[0]), unsafe.Pointer(&pointers[n]), unsafe.Pointer(&lengths[n]), uintptr(n))
	if result == 0 {
		return 0, errNoResult
	}
	if text := lib.resultError(result); text != "" {
		lib.destroy(result)
		return 0, parseError(text)
	}
	return result, nil
}

// Result is the whole result of a statement, in the library's memory.
type Result struct{ handle uintptr }

// Exec runs a statement and returns its result in format, to be closed by the caller.
func (c *Conn) Exec(sql, format string, params ...Param) (*Result, error) {
	handle, err := c.call(lib.query, sql, format, params)
	if err != nil {
		return nil, err
	}
	return &Result{handle: handle}, nil
}

// Run runs a statement for its effect.
func (c *Conn) Run(sql string) error {
	r, err := c.Exec(sql, "Null")
	if err != nil {
		return err
	}
	r.Close()
	return nil
}

// Bytes is valid until Close.
func (r *Result) Bytes() []byte { return contents(r.handle) }

// Stats is what the statement read and wrote.
func (r *Result) Stats() Stats { return stats(r.handle) }

// Close frees the result.
func (r *Result) Close() {
	if r.handle != 0 {
		lib.destroy(r.handle)
		r.handle = 0
	}
}

// Stream is a result under way.
type Stream struct {
	conn  *Conn
	query uintptr
	chunk uintptr
	stats Stats
	done  bool
}

// ErrNotStreamable is returned by Stream for a statement that only Exec can run.
var ErrNotStreamable = errors.New("statement has no streaming form")

// Stream starts a SELECT whose result is fetched in chunks. It must be closed before the connection is used again.
// Each chunk is a whole output of the format, so only formats without a header or frame may be streamed.
func (c *Conn) Stream(sql, format string, params ...Param) (*Stream, error) {
	query, err := c.call(lib.stream, sql, format, params)
	if e := new(Error); errors.As(err, &e) && e.Code == CodeBadArguments && strings.Contains(e.Message, "Streaming query is not supported") {
		return nil, ErrNotStreamable
	}
	if err != nil {
		return nil, err
	}
	return &Stream{conn: c, query: query}, nil
}

// Next returns the next chunk, valid until the next call, or nil at the end.
func (s *Stream) Next() ([]byte, error) {
	s.freeChunk()
	if s.done {
		return nil, nil
	}
	s.done = true
	s.chunk = lib.streamFetch(*s.conn.handle, s.query)
	if s.chunk == 0 {
		return nil, errNoResult
	}
	if text := lib.resultError(s.chunk); text != "" {
		if strings.Contains(text, "No active streaming query") { // an empty result has ended with its first chunk
			return nil, nil
		}
		return nil, parseError(text)
	}
	got := stats(s.chunk)
	s.stats.ReadRows += got.ReadRows
	s.stats.ReadBytes += got.ReadBytes
	s.stats.ResultRows += got.ResultRows
	s.stats.ResultBytes += got.ResultBytes
	data := contents(s.chunk)
	s.done = len(data) == 0
	return data, nil
}

// Stats is what the statement has read so far.
func (s *Stream) Stats() Stats { return s.stats }

// Close ends the statement, whether or not its result was read to the end.
func (s *Stream) Close() {
	s.freeChunk()
	if s.query == 0 {
		return
	}
	if !s.done {
		lib.streamCancel(*s.conn.handle, s.query)
	}
	lib.destroy(s.query)
	s.query, s.done = 0, true
}

func (s *Stream) freeChunk() {
	if s.chunk != 0 {
		lib.destroy(s.chunk)
		s.chunk = 0
	}
}

func contents(result uintptr) []byte {
	n := lib.length(result)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(lib.buffer(result)), n)
}

func stats(result uintptr) Stats {
	return Stats{
		ReadRows: lib.storageRows(result), ReadBytes: lib.storageBytes(result),
		WrittenRows: lib.rowsWritten(result), WrittenBytes: lib.bytesWritten(result),
		ResultRows: lib.rowsRead(result), ResultBytes: lib.bytesRead(result),
	}
}
