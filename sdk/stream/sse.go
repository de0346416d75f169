package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
)

// MaxEvent bounds the size of one server-sent event, in bytes.
const MaxEvent = 16 << 20

// ErrEventTooLong is returned for a server-sent event above MaxEvent.
var ErrEventTooLong = errors.New("server-sent event is too long")

// Event is one server-sent event, as the HTML standard defines them.
type Event struct {
	// Type is the field event, "message" where there was none.
	Type string
	// Data is the field data, its lines joined by line feeds.
	Data string
	// ID is the last id that the stream has set.
	ID string
}

// SSE watches a stream of server-sent events. open and the options are as for NewReader; content reports whether an event is
// content or only a sign of life, and nil means that every event is content. Comments are signs of life. The first error is the
// last pair.
func SSE(ctx context.Context, open func(context.Context) (io.ReadCloser, error), content func(Event) bool, opts ...Option) iter.Seq2[Event, error] {
	isContent := orAll(content)
	return func(yield func(Event, error) bool) {
		var scanner EventScanner
		var events []Event
		feed := func(chunk []byte) (progress bool) {
			for e := range scanner.Feed(chunk) {
				events = append(events, e)
				progress = isContent(e) || progress
			}
			return progress
		}
		b := &body{open: open}
		w := newWatch(ctx, source[[]byte]{pull: b.pull, finish: b.close, abort: b.close}, feed, opts)
		defer w.close()
		for {
			_, err := w.next()
			if err == nil {
				err = scanner.Err()
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			events = events[:0]
			if err != nil {
				if err != io.EOF {
					yield(Event{}, err)
				}
				return
			}
		}
	}
}

// EventScanner cuts raw bytes into server-sent events, however they are split into chunks. The zero value is ready. It is not
// safe for concurrent use.
type EventScanner struct {
	line    []byte
	data    []byte
	hasData bool
	kind    string
	id      string
	started bool
	skipLF  bool
	err     error
}

// Err returns ErrEventTooLong once an event was too long; nothing is scanned after it.
func (s *EventScanner) Err() error { return s.err }

// Feed scans the next chunk and yields the events that it completes. The sequence must be read to its end and only once.
func (s *EventScanner) Feed(chunk []byte) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for len(chunk) > 0 && s.err == nil {
			if s.skipLF {
				s.skipLF = false
				if chunk[0] == '\n' {
					chunk = chunk[1:]
					continue
				}
			}
			end := bytes.IndexAny(chunk, "\r\n")
			if end < 0 {
				s.grow(chunk)
				return
			}
			s.grow(chunk[:end])
			s.skipLF = chunk[end] == '\r'
			chunk = chunk[end+1:]
			line := s.takeLine()
			if len(line) > 0 {
				s.field(line)
				continue
			}
			if e, ok := s.dispatch(); ok && !yield(e) {
				return
			}
		}
	}
}

func (s *EventScanner) grow(part []byte) {
	if len(s.line)+len(s.data)+len(part) > MaxEvent {
		s.err = ErrEventTooLong
		return
	}
	s.line = append(s.line, part...)
}

// takeLine returns the finished line; it is valid until the next one grows. A byte order mark may begin the stream.
func (s *EventScanner) takeLine() []byte {
	line := s.line
	if !s.started {
		s.started = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	s.line = s.line[:0]
	return line
}

func (s *EventScanner) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if s.hasData {
			s.data = append(s.data, '\n')
		}
		s.hasData = true
		s.data = append(s.data, value...)
	case "event":
		s.kind = string(value)
	case "id":
		if !bytes.ContainsRune(value, 0) {
			s.id = string(value)
		}
	}
}

func (s *EventScanner) dispatch() (Event, bool) {
	e := Event{Type: s.kind, Data: string(s.data), ID: s.id}
	ok := s.hasData
	s.data, s.hasData, s.kind = s.data[:0], false, ""
	if e.Type == "" {
		e.Type = "message"
	}
	return e, ok
}
