package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// maxRevision is the newest form of Native blocks that we can write.
const maxRevision = proto.DBMS_TCP_PROTOCOL_VERSION

// nativeWriter writes Native blocks again at the revision that the client asked for: the library knows only the plain form.
// Each Write must be a whole number of blocks.
type nativeWriter struct {
	w        io.Writer
	revision uint64
	buffer   chproto.Buffer
}

func (n *nativeWriter) Write(p []byte) (int, error) {
	input := bytes.NewReader(p)
	reader := chproto.NewReader(input)
	for {
		block := proto.Block{ServerContext: &column.ServerContext{Revision: n.revision, Timezone: time.UTC}}
		err := block.Decode(reader, 0)
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return len(p), nil
		}
		if err != nil {
			return 0, fmt.Errorf("result in Native at client_protocol_version %d: %w", n.revision, err)
		}
		n.buffer.Reset()
		if err := block.Encode(&n.buffer, n.revision); err != nil {
			return 0, fmt.Errorf("result in Native at client_protocol_version %d: %w", n.revision, err)
		}
		if _, err := n.w.Write(n.buffer.Buf); err != nil {
			return 0, err
		}
	}
}
