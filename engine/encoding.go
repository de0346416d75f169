package engine

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/laxity-dev/laxity/engine/chdb"
)

// decodeBody undoes the Content-Encoding of a request and ClickHouse's own compression.
func decodeBody(r *http.Request, blocks bool) (io.ReadCloser, error) {
	body, err := decodeContent(r.Body, r.Header.Get("Content-Encoding"))
	if err != nil {
		return nil, err
	}
	if blocks {
		return struct {
			io.Reader
			io.Closer
		}{blockReader{compress.NewReader(body)}, body}, nil
	}
	return body, nil
}

func decodeContent(body io.ReadCloser, encoding string) (io.ReadCloser, error) {
	var err error
	switch encoding {
	case "", "identity":
		return body, nil
	case "gzip":
		var r *gzip.Reader
		if r, err = gzip.NewReader(body); err == nil {
			return r, nil
		}
	case "deflate":
		var r io.ReadCloser
		if r, err = zlib.NewReader(body); err == nil {
			return r, nil
		}
	case "br":
		return io.NopCloser(brotli.NewReader(body)), nil
	case "zstd":
		var r *zstd.Decoder
		if r, err = zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20)); err == nil {
			return r.IOReadCloser(), nil
		}
	default:
		return nil, exception(chdb.CodeNotImplemented, "NOT_IMPLEMENTED", fmt.Sprintf("Content-Encoding %q is not supported: use gzip, deflate, br or zstd", encoding))
	}
	if errors.Is(err, io.EOF) {
		return http.NoBody, nil
	}
	return nil, bodyError(err)
}

// blockReader ends where the compressed blocks end: the reader of the blocks wraps that end into an error.
type blockReader struct{ r io.Reader }

func (b blockReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// bodyError tells a body that cannot be read: broken compression, a limit, a client that went away.
func bodyError(err error) error {
	if e := new(http.MaxBytesError); errors.As(err, &e) {
		return exception(chdb.CodeQueryTooLarge, "QUERY_IS_TOO_LARGE", fmt.Sprintf("The body is longer than %d bytes", e.Limit))
	}
	if e := new(os.PathError); errors.As(err, &e) {
		return exception(243, "NOT_ENOUGH_SPACE", "The body cannot be kept: "+e.Err.Error())
	}
	return exception(chdb.CodeCannotDecompress, "CANNOT_DECOMPRESS", "The body cannot be read: "+err.Error())
}

// chooseEncoding picks the first encoding that the client accepts and we write; "" for none.
func chooseEncoding(accept string) string {
	for part := range strings.SplitSeq(accept, ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(quality) == "q=0" {
			continue
		}
		switch name = strings.TrimSpace(name); name {
		case "gzip", "deflate", "br", "zstd":
			return name
		}
	}
	return ""
}

// encodeContent applies a Content-Encoding to what is written to w.
func encodeContent(w io.Writer, encoding string) io.WriteCloser {
	switch encoding {
	case "gzip":
		return gzip.NewWriter(w)
	case "deflate":
		return zlib.NewWriter(w)
	case "br":
		return brotli.NewWriterLevel(w, brotli.BestSpeed)
	case "zstd":
		// The options are constants that the encoder accepts.
		z, _ := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		return z
	}
	return nopCloser{w}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// blockWriter writes ClickHouse's own compressed blocks.
type blockWriter struct {
	w io.Writer
	c *compress.Writer
}

// maxBlock bounds one compressed block, and with it the memory of the one who reads it.
const maxBlock = 1 << 20

func newBlockWriter(w io.Writer, method string) (*blockWriter, error) {
	methods := map[string]compress.Method{"LZ4": compress.LZ4, "LZ4HC": compress.LZ4HC, "ZSTD": compress.ZSTD, "NONE": compress.None}
	m, ok := methods[method]
	if !ok {
		return nil, exception(chdb.CodeBadArguments, "BAD_ARGUMENTS", fmt.Sprintf("network_compression_method %q is not supported: use LZ4, ZSTD or NONE", method))
	}
	return &blockWriter{w: w, c: compress.NewWriter(compress.LevelZero, m)}, nil
}

func (b *blockWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxBlock)
		if err := b.c.Compress(rest[:n]); err != nil {
			return 0, fmt.Errorf("compress the result: %w", err)
		}
		if _, err := b.w.Write(b.c.Data); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}
