package budgethttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// response is the handler's ResponseWriter. The handler writes into a header map of its own until the answer begins, so
// that at the end of the budget exactly one of the two, handler or budget, answers.
type response struct {
	rw    http.ResponseWriter
	ctx   context.Context
	entry *budget.Entry

	mu       sync.Mutex
	header   http.Header
	status   int
	begun    bool // the final header went out, by the handler
	expired  bool // the budget answered
	hijacked bool
	duplex   bool // the server lets the request be read beside the answer
	output   bool
}

// Header returns the handler's own header map.
func (w *response) Header() http.Header {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ownHeader()
}

func (w *response) ownHeader() http.Header {
	if w.header == nil {
		w.header = w.rw.Header().Clone()
		if w.header == nil {
			w.header = http.Header{}
		}
	}
	return w.header
}

func (w *response) WriteHeader(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(code)
}

func (w *response) writeHeader(code int) {
	if w.expired || w.begun || w.hijacked {
		return
	}
	out := w.rw.Header()
	if w.header != nil {
		clear(out)
		maps.Copy(out, w.header)
	}
	if code >= 200 || code == http.StatusSwitchingProtocols {
		w.begun, w.status = true, code
		if code == http.StatusSwitchingProtocols {
			w.entry.Lift()
		}
		if d := w.entry.Degraded(); len(d) > 0 {
			out.Set(budgetattr.HeaderDegraded, strings.Join(d, ", "))
		}
	}
	w.rw.WriteHeader(code)
}

func (w *response) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired {
		return 0, http.ErrHandlerTimeout
	}
	w.writeHeader(http.StatusOK)
	n, err := w.rw.Write(p)
	if n > 0 && !w.output {
		w.output = true
		w.entry.Reached(budgetattr.TargetFirstOutput)
	}
	return n, err
}

// ReadFrom keeps the fast path of net/http for files.
func (w *response) ReadFrom(src io.Reader) (int64, error) {
	fast, ok := w.rw.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	first, err := io.CopyN(struct{ io.Writer }{w}, src, 512)
	if err == io.EOF {
		return first, nil
	}
	if err != nil {
		return first, err
	}
	n, err := fast.ReadFrom(src)
	return first + n, err
}

// Flush sends what was written so far.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is Flush with its error, as http.ResponseController wants it.
func (w *response) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired {
		return http.ErrHandlerTimeout
	}
	w.writeHeader(http.StatusOK)
	return http.NewResponseController(w.rw).Flush()
}

// Hijack gives the connection to the handler; the budget answers no more.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired {
		return nil, nil, http.ErrHandlerTimeout
	}
	conn, rw, err := http.NewResponseController(w.rw).Hijack()
	if err == nil {
		w.hijacked, w.status = true, http.StatusSwitchingProtocols
		w.entry.Lift()
	}
	return conn, rw, err
}

// EnableFullDuplex lets the handler go on reading the request after its answer began.
func (w *response) EnableFullDuplex() error {
	err := http.NewResponseController(w.rw).EnableFullDuplex()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.duplex = w.duplex || err == nil
	return err
}

// Unwrap lets http.ResponseController reach the server's writer.
func (w *response) Unwrap() http.ResponseWriter { return w.rw }

// expire answers at the end of the budget, if nobody has. It runs beside the handler.
func (w *response) expire() {
	cause := context.Cause(w.ctx)
	if status := Status(cause); status == http.StatusGatewayTimeout || status == http.StatusServiceUnavailable {
		w.fail(cause)
	}
}

// fail answers with the status of the error unless an answer was begun.
func (w *response) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun || w.expired || w.hijacked {
		return
	}
	w.expired, w.status = true, Status(err)
	w.entry.Answered()
	text := http.StatusText(w.status) + "\n"
	h := w.rw.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	// The handler may still hold the connection.
	h.Set("Connection", "close")
	w.rw.WriteHeader(w.status)
	_, _ = io.WriteString(w.rw, text)
	_ = http.NewResponseController(w.rw).Flush()
}

// finish completes the answer once the handler has returned.
func (w *response) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.expired || w.hijacked:
	case w.begun:
		w.trailers()
	case w.ctx.Err() == nil || w.entry.Mode() != budgetattr.ModeEnforce:
		w.writeHeader(http.StatusOK)
	default:
		// The handler returned without an answer after its context had ended.
		w.status, w.begun = Status(context.Cause(w.ctx)), true
		if w.status != StatusClientGone {
			w.rw.WriteHeader(w.status)
		}
	}
}

// trailers passes on what the handler set after its header went out.
func (w *response) trailers() {
	for k, v := range w.header {
		if strings.HasPrefix(k, http.TrailerPrefix) || declaredTrailer(w.rw.Header()["Trailer"], k) {
			w.rw.Header()[k] = v
		}
	}
}

func declaredTrailer(declared []string, key string) bool {
	for _, list := range declared {
		for name := range strings.SplitSeq(list, ",") {
			if http.CanonicalHeaderKey(strings.TrimSpace(name)) == key {
				return true
			}
		}
	}
	return false
}

// abandon lets nobody answer any more: the handler has panicked, and the server's writer is not for use after it.
func (w *response) abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expired = true
}

// endConnection reports whether the answer is, or can be made, the last one of its connection. After a header that was
// begun the server sees to that itself, when it cannot read the rest of the request; in full duplex it does not look.
func (w *response) endConnection() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.expired:
		return true
	case w.hijacked:
		return false
	case w.begun:
		return !w.duplex
	}
	w.ownHeader().Set("Connection", "close")
	return true
}

// recorded is the status for the record; 499 if the client left before the answer, 0 if there is none.
func (w *response) recorded() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// err is what the answer says of the request: nil if the caller got one.
func (w *response) err() error {
	cause := context.Cause(w.ctx)
	var gone *budget.CancelledError
	switch status := w.recorded(); {
	case errors.As(cause, &gone) && gone.Cause == budgetattr.CauseClientDisconnect:
		return gone
	case status == http.StatusGatewayTimeout:
		if cause != nil {
			return cause
		}
		if e := w.entry.Exhausted(); e != nil {
			return e
		}
		return statusError(status)
	case status >= 500:
		return statusError(status)
	}
	return nil
}
