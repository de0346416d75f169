package tracefile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// protoReader reads TracesData (which is also the request of the OTLP service) field by field: one resource at a time is
// in memory, and a message that cannot be read is opened to save the spans around the bad one.
type protoReader struct {
	br     *bufio.Reader
	sink   *sink
	max    int
	offset int64
	index  int
}

func readProto(br *bufio.Reader, opts Options, s *sink) error {
	p := &protoReader{br: br, sink: s, max: opts.MaxRecord}
	if head, _ := br.Peek(5); len(head) == 5 && head[0] == 0 && head[4] == 0x0a {
		return p.framed()
	}
	return p.message(-1)
}

// framed reads messages that each follow their length in four bytes, as the collector's file exporter writes them.
func (p *protoReader) framed() error {
	for {
		var size [4]byte
		if _, err := io.ReadFull(p.br, size[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return p.cut(err)
		}
		p.offset += 4
		if err := p.message(int64(binary.BigEndian.Uint32(size[:]))); err != nil {
			return err
		}
	}
}

// message reads the fields of one TracesData of a size; -1 reads to the end.
func (p *protoReader) message(size int64) error {
	end := p.offset + size
	for size < 0 || p.offset < end {
		at := Position{Offset: p.offset, Path: fmt.Sprintf("resource_spans[%d]", p.index)}
		tag, err := p.varint()
		if err == io.EOF && size < 0 {
			return nil
		}
		if err != nil {
			return p.cut(err)
		}
		if tag != 1<<3|uint64(protowire.BytesType) {
			p.sink.refuse(at, "not an OTLP message of traces: field %d of type %d", tag>>3, tag&7)
			return p.skipAll()
		}
		length, err := p.varint()
		if err != nil {
			return p.cut(err)
		}
		if length > uint64(p.max) {
			p.sink.refuse(at, "a record of %d bytes, more than %d MiB", length, p.max>>20)
			return p.skipAll()
		}
		raw := make([]byte, 0, min(length, 1<<20))
		body := io.LimitReader(p.br, int64(length))
		if raw, err = appendAll(raw, body); err != nil {
			return err
		}
		start := p.offset
		p.offset += int64(len(raw))
		p.index++
		if err := p.resourceSpans(raw, at, start); err != nil {
			return err
		}
		if uint64(len(raw)) < length {
			return p.cut(io.ErrUnexpectedEOF)
		}
	}
	return nil
}

func appendAll(raw []byte, r io.Reader) ([]byte, error) {
	for {
		if len(raw) == cap(raw) {
			raw = append(raw, 0)[:len(raw)]
		}
		n, err := r.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if err == io.EOF {
			return raw, nil
		}
		if err != nil {
			return raw, fmt.Errorf("read: %w", err)
		}
	}
}

func (p *protoReader) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := p.br.ReadByte()
		if err != nil {
			if err == io.EOF && shift > 0 {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		p.offset++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, errors.New("a length of more than 64 bits")
}

func (p *protoReader) cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		p.sink.refuse(Position{Offset: p.offset}, "the file ends in the middle of a record")
		return nil
	}
	p.sink.refuse(Position{Offset: p.offset}, "%v", err)
	return p.skipAll()
}

// skipAll gives up: without a length nothing says where the next record begins.
func (p *protoReader) skipAll() error {
	if _, err := io.Copy(io.Discard, p.br); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}

// resourceSpans opens one ResourceSpans. Unknown fields are passed over as protobuf does.
func (p *protoReader) resourceSpans(raw []byte, at Position, start int64) error {
	res := &resourcepb.Resource{}
	var groups []wireField
	ok := p.fields(raw, at, start, func(f wireField) {
		switch f.number {
		case 1:
			p.unmarshal(f, res, withPath(at, at.Path+".resource"))
		case 2, 1000: // 1000: instrumentation_library_spans of old releases
			groups = append(groups, f)
		}
	})
	if !ok && len(groups) == 0 {
		return nil
	}
	for i, group := range groups {
		here := withPath(at, fmt.Sprintf("%s.scope_spans[%d]", at.Path, i))
		if err := p.scopeSpans(group, res, here); err != nil {
			return err
		}
	}
	return nil
}

func (p *protoReader) scopeSpans(group wireField, res *resourcepb.Resource, at Position) error {
	sc := &commonpb.InstrumentationScope{}
	schema := ""
	var spans []wireField
	p.fields(group.value, at, group.offset, func(f wireField) {
		switch f.number {
		case 1:
			p.unmarshal(f, sc, withPath(at, at.Path+".scope"))
		case 2:
			spans = append(spans, f)
		case 3:
			schema = clean(string(f.value))
		}
	})
	for i, f := range spans {
		here := Position{Offset: f.offset, Path: fmt.Sprintf("%s.spans[%d]", at.Path, i)}
		sp := &tracepb.Span{}
		if !p.unmarshal(f, sp, here) {
			continue
		}
		err := p.sink.add(here, OTLPProto, res, scope{sc.Name, sc.Version, schema, sc.Attributes}, sp)
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *protoReader) unmarshal(f wireField, m proto.Message, at Position) bool {
	if err := proto.Unmarshal(f.value, m); err != nil {
		p.sink.refuse(at, "invalid protobuf: %s", protoReason(err))
		return false
	}
	return true
}

// protoReason is an error without the beginning that all of them have, whose white space differs from build to build.
func protoReason(err error) string {
	return strings.TrimSpace(strings.TrimPrefix(err.Error(), "proto:"))
}

// wireField is a field of bytes; offset is where its value begins in the file.
type wireField struct {
	number protowire.Number
	value  []byte
	offset int64
}

// fields walks the fields of a message and refuses the rest of it where it is damaged.
func (p *protoReader) fields(raw []byte, at Position, start int64, do func(wireField)) bool {
	for pos := 0; pos < len(raw); {
		number, kind, n := protowire.ConsumeTag(raw[pos:])
		if n < 0 {
			p.sink.refuse(withOffset(at, start+int64(pos)), "invalid protobuf: %s", protoReason(protowire.ParseError(n)))
			return false
		}
		pos += n
		size := protowire.ConsumeFieldValue(number, kind, raw[pos:])
		if size < 0 {
			p.sink.refuse(withOffset(at, start+int64(pos)), "invalid protobuf: %s", protoReason(protowire.ParseError(size)))
			return false
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(raw[pos:])
			do(wireField{number, value, start + int64(pos+size-len(value))})
		}
		pos += size
	}
	return true
}

func withOffset(at Position, offset int64) Position {
	at.Offset = offset
	return at
}
