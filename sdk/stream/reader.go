package stream

import (
	"context"
	"io"
	"sync"
)

// readSize is the size of the buffer that a Reader pulls into.
const readSize = 32 << 10

// Reader is a watched io.ReadCloser. Read must not be called concurrently with itself; the other methods may be called at any
// time.
type Reader struct {
	w    *watch[[]byte]
	rest []byte
}

// NewReader watches the body that open returns. open is called by the first Read, so that the clocks cover the wait for it too;
// it gets a context of the stream's own, which is cancelled when the stream ends, also where the caller's context never is, and
// the request must be made with it. content reports whether a chunk of raw bytes brought content or only a sign of life; it sees
// each chunk once, in order, and must not keep it. nil means that every byte is content.
func NewReader(ctx context.Context, open func(context.Context) (io.ReadCloser, error), content func([]byte) bool, opts ...Option) *Reader {
	b := &body{open: open}
	return &Reader{w: newWatch(ctx, source[[]byte]{pull: b.pull, finish: b.close, abort: b.close}, orAll(content), opts)}
}

// Read implements io.Reader. When a clock runs out its error is an *IdleError; when the caller's context ends it is the
// context's cause.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.rest) == 0 {
		chunk, err := r.w.next()
		if err != nil {
			return 0, err
		}
		r.rest = chunk
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close ends the stream and frees its source; it does not wait for a source that is slow to close.
func (r *Reader) Close() error {
	r.w.close()
	return nil
}

// Facts returns what is known about the stream so far.
func (r *Reader) Facts() Facts { return r.w.snapshot() }

// Wait waits until the source is known to have stopped and reports true, or false when ctx is done before.
func (r *Reader) Wait(ctx context.Context) bool { return r.w.wait(ctx) }

// body reads one opened source. pull is called by one goroutine; close by any.
type body struct {
	open   func(context.Context) (io.ReadCloser, error)
	buffer []byte
	failed error

	mu     sync.Mutex
	src    io.ReadCloser
	closed bool
}

func (b *body) pull(ctx context.Context) ([]byte, error) {
	if b.failed != nil {
		return nil, b.failed
	}
	if b.buffer == nil {
		src, err := b.open(ctx)
		if err != nil {
			return nil, err
		}
		if !b.keep(src) {
			return nil, ErrClosed
		}
		b.buffer = make([]byte, readSize)
	}
	for {
		n, err := b.src.Read(b.buffer)
		if n > 0 {
			b.failed = err
			return b.buffer[:n], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// keep takes the opened source, or closes it when the stream has ended while it was opened.
func (b *body) keep(src io.ReadCloser) bool {
	b.mu.Lock()
	b.src = src
	closed := b.closed
	b.mu.Unlock()
	if closed {
		_ = src.Close()
	}
	return !closed
}

func (b *body) close() {
	b.mu.Lock()
	src, again := b.src, b.closed
	b.closed = true
	b.mu.Unlock()
	if src != nil && !again {
		_ = src.Close()
	}
}
