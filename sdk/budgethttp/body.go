package budgethttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// readAheadLimit bounds what is read of a request body before the handler asks for it.
const readAheadLimit = 64 << 10

// lastBytes is how long the end of a body that the handler left unread is waited for.
const lastBytes = 20 * time.Millisecond

// requestBody reads a body ahead of the handler, because net/http begins to watch the connection only at the body's end,
// and lets no read outlast the budget. One goroutine fills it; stop waits for that.
type requestBody struct {
	src   io.ReadCloser
	rc    *http.ResponseController
	ctx   context.Context
	entry *budget.Entry
	lazy  bool // the client waits for leave to send

	mu      sync.Mutex
	buf     []byte
	err     error // why the source ended
	closed  bool
	started bool
	changed chan struct{} // closed and replaced at each change
	done    chan struct{}
}

// readAhead replaces the body of an HTTP/1 request. HTTP/2 servers watch by themselves, and so does HTTP/1 without a body.
func readAhead(rw http.ResponseWriter, r *http.Request, entry *budget.Entry) *requestBody {
	if r.ProtoMajor != 1 || r.Body == nil || r.Body == http.NoBody || entry.Mode() != budgetattr.ModeEnforce {
		return nil
	}
	b := &requestBody{
		src: r.Body, rc: http.NewResponseController(rw), ctx: r.Context(), entry: entry,
		lazy: r.Header.Get("Expect") != "", changed: make(chan struct{}), done: make(chan struct{}),
	}
	r.Body = b
	if !b.lazy {
		b.start()
	}
	return b
}

func (b *requestBody) start() {
	b.started = true
	go b.fill()
}

func (b *requestBody) change() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *requestBody) fill() {
	defer close(b.done)
	chunk := make([]byte, 4<<10)
	for unwanted := 0; unwanted < readAheadLimit; {
		b.mu.Lock()
		for len(b.buf) >= readAheadLimit && !b.closed {
			changed := b.changed
			b.mu.Unlock()
			<-changed
			b.mu.Lock()
		}
		b.mu.Unlock()
		n, err := b.src.Read(chunk)
		b.mu.Lock()
		if b.closed {
			unwanted += n
		} else {
			b.buf = append(b.buf, chunk[:n]...)
		}
		b.err = err
		b.change()
		closed := b.closed
		b.mu.Unlock()
		if err != nil {
			if !closed && clientGone(err) {
				b.entry.Cancel(budgetattr.CauseClientDisconnect)
			}
			return
		}
	}
}

// clientGone reports whether a read error means that the connection ended.
func clientGone(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &op) && !op.Timeout()
}

// Read returns what was read ahead, or waits for more as long as the budget lasts.
func (b *requestBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case b.closed:
			return 0, http.ErrBodyReadAfterClose
		case len(p) == 0:
			return 0, nil
		case len(b.buf) > 0:
			n := copy(p, b.buf)
			b.buf = b.buf[n:]
			b.change()
			return n, nil
		case b.err != nil:
			return 0, b.err
		case b.ctx.Err() != nil:
			return 0, context.Cause(b.ctx)
		}
		if !b.started {
			b.start()
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-b.ctx.Done():
		}
		b.mu.Lock()
	}
}

// Close ends the handler's reading. The server closes the source.
func (b *requestBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		b.change()
	}
	return nil
}

// stop ends the reading ahead and waits for its goroutine. It reports whether a client that left would have been noticed.
func (b *requestBody) stop(w *response) (observable bool) {
	if b == nil {
		return true
	}
	_ = b.Close()
	b.mu.Lock()
	ended, started := b.err != nil, b.started
	b.mu.Unlock()
	if !started {
		return false
	}
	if ended {
		<-b.done
		return true
	}
	// What is on its way is let in, so that the connection can be used again.
	patience := time.NewTimer(lastBytes)
	defer patience.Stop()
	select {
	case <-b.done:
	case <-patience.C:
		b.interrupt(w)
	}
	return false
}

// interrupt ends a read that waits for a client that sends no more. The server would wait for it too, before it sends the
// answer or after; with the deadline left behind it does not.
func (b *requestBody) interrupt(w *response) {
	if b.rc.SetReadDeadline(time.Unix(1, 0)) != nil {
		return
	}
	<-b.done
	if b.err == io.EOF || !w.endConnection() {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
}
