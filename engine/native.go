package engine

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"

	"github.com/laxity-dev/laxity/engine/chdb"
)

// maxRevision is the newest form of Native blocks that we can write.
const maxRevision = proto.DBMS_TCP_PROTOCOL_VERSION

// nativeWriter writes Native blocks in the form of the revision that the client asked for: the library knows only the oldest
// one. The forms differ in what stands before a block and before a column; the values are copied as they are, for the client's
// code, which finds where they end, cannot write all types that it reads. Each Write must be a whole number of blocks.
type nativeWriter struct {
	w        io.Writer
	revision uint64
	input    *bytes.Reader
	buffered *bufio.Reader
	reader   *chproto.Reader
	block    chproto.Buffer
}

func newNativeWriter(w io.Writer, revision uint64) *nativeWriter {
	n := &nativeWriter{w: w, revision: revision, input: bytes.NewReader(nil)}
	// The reader takes a buffer of this size as its own, which tells us how far it has read.
	n.buffered = bufio.NewReaderSize(n.input, 1<<17)
	n.reader = chproto.NewReader(n.buffered)
	return n
}

func (n *nativeWriter) Write(p []byte) (int, error) {
	n.input.Reset(p)
	n.buffered.Reset(n.input)
	for n.read(p) < len(p) {
		n.block.Reset()
		if err := n.copyBlock(p); err != nil {
			return 0, exception(chdb.CodeNotImplemented, "NOT_IMPLEMENTED", fmt.Sprintf("Result in Native at client_protocol_version %d: %v", n.revision, err))
		}
		if _, err := n.w.Write(n.block.Buf); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// read is how much of p has been read.
func (n *nativeWriter) read(p []byte) int { return len(p) - n.input.Len() - n.buffered.Buffered() }

func (n *nativeWriter) copyBlock(p []byte) error {
	columns, err := n.reader.UVarInt()
	if err != nil {
		return fmt.Errorf("number of columns: %w", err)
	}
	rows, err := n.reader.UVarInt()
	if err != nil {
		return fmt.Errorf("number of rows: %w", err)
	}
	if n.revision > 0 { // no overflow row, no bucket
		n.block.PutUVarInt(1)
		n.block.PutBool(false)
		n.block.PutUVarInt(2)
		n.block.PutInt32(-1)
		n.block.PutUVarInt(0)
	}
	n.block.PutUVarInt(columns)
	n.block.PutUVarInt(rows)
	for range columns {
		if err := n.copyColumn(p, int(rows)); err != nil {
			return err
		}
	}
	return nil
}

func (n *nativeWriter) copyColumn(p []byte, rows int) error {
	name, err := n.reader.Str()
	if err != nil {
		return fmt.Errorf("name of a column: %w", err)
	}
	kind, err := n.reader.Str()
	if err != nil {
		return fmt.Errorf("type of column %s: %w", name, err)
	}
	n.block.PutString(name)
	n.block.PutString(kind)
	if n.revision >= proto.DBMS_MIN_REVISION_WITH_CUSTOM_SERIALIZATION {
		n.block.PutBool(false)
	}
	if rows == 0 {
		return nil
	}
	col, err := column.Type(kind).Column(name, &column.ServerContext{Revision: n.revision, Timezone: time.UTC})
	if err != nil {
		return fmt.Errorf("column %s: %w", name, err)
	}
	start := n.read(p)
	if custom, ok := col.(column.CustomSerialization); ok {
		if err := custom.ReadStatePrefix(n.reader); err != nil {
			return fmt.Errorf("column %s of type %s: %w", name, kind, err)
		}
	}
	if err := col.Decode(n.reader, rows); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("column %s of type %s: %w", name, kind, err)
	}
	n.block.Buf = append(n.block.Buf, p[start:n.read(p)]...)
	return nil
}
