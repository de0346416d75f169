// Package tracefile reads traces out of files written by other tools and turns them into OTLP: OTLP itself in JSON and
// protobuf, Tempo answers, Jaeger and Zipkin JSON, what OpenTelemetry SDKs print, rows of a ClickHouse otel_traces table,
// and CSV. The format is told by the content, never by the name.
//
// A record that cannot be used is refused with its position and the reason; it never takes others with it.
package tracefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Format is the format of a record, as told to people.
type Format string

// The formats.
const (
	OTLPJSON   Format = "OTLP JSON"
	OTLPProto  Format = "OTLP protobuf"
	Jaeger     Format = "Jaeger JSON"
	ZipkinV1   Format = "Zipkin v1 JSON"
	ZipkinV2   Format = "Zipkin v2 JSON"
	SDKJSON    Format = "OpenTelemetry SDK JSON"
	ClickHouse Format = "ClickHouse rows"
	CSV        Format = "CSV"
)

// Attributes that keep what the file said where ours had to differ.
const (
	OriginalTraceIDKey  = "laxity.original.trace_id"
	OriginalSpanIDKey   = "laxity.original.span_id"
	OriginalParentIDKey = "laxity.original.parent_span_id"
	OriginalTimeKey     = "laxity.original.time_unix_nano"
)

const (
	defaultMaxRecord = 256 << 20
	maxRefusals      = 1000
	batchSpans       = 1024
)

// Options change how a file is read. The zero value works.
type Options struct {
	// Columns maps the columns of a CSV file; nil takes them from its header.
	Columns *Columns
	// MaxRecord bounds the bytes of one record held in memory; 0 means 256 MiB.
	MaxRecord int
}

// Position says where in a file something is. Line counts from 1, 0 means that there are no lines; Offset counts bytes of
// the uncompressed content from 0; Path leads from the record to what was refused.
type Position struct {
	Line   int
	Offset int64
	Path   string
}

func (p Position) String() string {
	var parts []string
	if p.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", p.Line))
	}
	if p.Path != "" {
		parts = append(parts, p.Path)
	}
	return strings.Join(append(parts, fmt.Sprintf("byte %d", p.Offset)), ", ")
}

// Refusal is one record that was not taken.
type Refusal struct {
	Position
	Reason string
}

func (r Refusal) String() string { return r.Position.String() + ": " + r.Reason }

// Summary is what was found in one file.
type Summary struct {
	// Formats holds each format met, in order of appearance: lines of one file may differ.
	Formats []Format
	Gzip    bool
	Spans   int
	// Split counts the spans that came of cutting one record of two services into client and server half.
	Split  int
	Traces int
	// Other counts records of logs, metrics and profiles, which were passed over.
	Other int
	// Text counts lines of text that is no JSON, as between the spans in a log; they were passed over too.
	Text int
	// Refused counts every refusal; Refusals holds the first thousand.
	Refused  int
	Refusals []Refusal
	// First and Last are the earliest start and the latest end, in nanoseconds since 1970; meaningless without spans.
	First, Last int64
}

// FormatNames returns the formats met as one text.
func (s *Summary) FormatNames() string {
	names := make([]string, len(s.Formats))
	for i, f := range s.Formats {
		names[i] = string(f)
	}
	text := strings.Join(names, " and ")
	if s.Gzip {
		text += ", gzip"
	}
	return text
}

// Range returns the earliest start and the latest end in UTC.
func (s *Summary) Range() (from, to time.Time) {
	return time.Unix(0, s.First).UTC(), time.Unix(0, s.Last).UTC()
}

// Emit takes a batch of about a thousand spans. The batch belongs to the receiver. An error ends the reading.
type Emit func([]*tracepb.ResourceSpans) error

// Read reads r to its end and hands on what it holds. Memory is bounded by the largest record, except for Zipkin, where
// the halves of a call may lie anywhere: there one whole array is held. The summary is valid also beside an error, which
// means that the content is not a trace file at all, that reading failed, or what emit returned.
func Read(r io.Reader, opts Options, emit Emit) (*Summary, error) {
	if opts.MaxRecord <= 0 {
		opts.MaxRecord = defaultMaxRecord
	}
	s := newSink(emit)
	err := read(r, opts, s)
	if err == nil {
		err = s.flush()
	}
	if err == nil && len(s.summary.Formats) == 0 && s.summary.Other == 0 {
		err = notTraces(&s.summary)
	}
	s.summary.Traces = len(s.traces)
	return &s.summary, err
}

// File is a file read as a whole.
type File struct {
	Summary
	Resources []*tracepb.ResourceSpans
}

// ReadFile reads a whole file into memory; "-" is standard input.
func ReadFile(path string, opts Options) (*File, error) {
	var in io.Reader = os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return ReadAll(in, opts)
}

// ReadAll reads r into memory.
func ReadAll(r io.Reader, opts Options) (*File, error) {
	file := &File{}
	summary, err := Read(r, opts, func(batch []*tracepb.ResourceSpans) error {
		file.Resources = append(file.Resources, batch...)
		return nil
	})
	file.Summary = *summary
	return file, err
}

// ErrFormat is what a file without any trace in a known format gives.
var ErrFormat = errors.New("no traces in a known format")

func notTraces(s *Summary) error {
	if len(s.Refusals) > 0 {
		return fmt.Errorf("%w: %v", ErrFormat, s.Refusals[0])
	}
	if s.Text > 0 {
		return fmt.Errorf("%w: it is text, not JSON, nor CSV with the columns of a span", ErrFormat)
	}
	return fmt.Errorf("%w: it is empty", ErrFormat)
}

func (s *Summary) sawFormat(f Format) {
	if !slices.Contains(s.Formats, f) {
		s.Formats = append(s.Formats, f)
	}
}
