package engine

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/engine/chdb"
)

const (
	// holdBack is how much of a result is kept before the first byte is sent, so that an early failure still has a status.
	holdBack = 1 << 20
	// stall is how long a client may neither read nor write before it is given up.
	stall = time.Minute
)

// reply writes the result of one query.
type reply struct {
	w       http.ResponseWriter
	control *http.ResponseController
	version string
	id      string
	tag     string // of the frame of an exception in the middle of a result
	limit   int64  // of held

	held    bytes.Buffer
	started bool
	out     io.WriteCloser // behind the Content-Encoding, once started
	sink    io.Writer      // takes the engine's bytes

	format, encoding string
	begun            time.Time
	stats            chdb.Stats
}

func (e *Engine) newReply(w http.ResponseWriter, id string) *reply {
	r := &reply{w: w, control: http.NewResponseController(w), version: e.version, id: id, tag: strings.ToLower(rand.Text()[:16]), limit: holdBack, begun: time.Now()}
	r.sink = writerFunc(r.write)
	return r
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// prepare builds what lies between the engine's bytes and the client.
func (r *reply) prepare(q *query, maxHeld int64) error {
	r.format, r.encoding = q.format, q.encoding
	if q.waitForEnd {
		r.limit = maxHeld
	}
	if q.blocks != "" {
		w, err := newBlockWriter(r.sink, q.blocks)
		if err != nil {
			return err
		}
		r.sink = w
		r.encoding = ""
	}
	if q.format == "Native" && q.revision > 0 {
		r.sink = newNativeWriter(r.sink, q.revision)
	}
	return nil
}

// write holds bytes back, or passes them on once more than the limit has come together.
func (r *reply) write(p []byte) (int, error) {
	if !r.started && int64(r.held.Len()+len(p)) <= r.limit {
		return r.held.Write(p)
	}
	if err := r.start(); err != nil {
		return 0, err
	}
	r.keepAlive()
	return r.out.Write(p)
}

func (r *reply) keepAlive() { _ = r.control.SetWriteDeadline(time.Now().Add(stall)) }

func (r *reply) header() http.Header {
	h := r.w.Header()
	h.Set("X-ClickHouse-Server-Display-Name", "laxity")
	h.Set("X-ClickHouse-Query-Id", r.id)
	h.Set("X-ClickHouse-Timezone", "UTC")
	h.Set("X-ClickHouse-Summary", r.summary())
	return h
}

func (r *reply) summary() string {
	s := r.stats
	return fmt.Sprintf(`{"read_rows":"%d","read_bytes":"%d","written_rows":"%d","written_bytes":"%d","total_rows_to_read":"0","result_rows":"%d","result_bytes":"%d","elapsed_ns":"%d"}`,
		s.ReadRows, s.ReadBytes, s.WrittenRows, s.WrittenBytes, s.ResultRows, s.ResultBytes, time.Since(r.begun).Nanoseconds())
}

// start sends the headers and what was held back.
func (r *reply) start() error {
	if r.started {
		return nil
	}
	r.started = true
	h := r.header()
	h.Set("Content-Type", contentType(r.format))
	h.Set("X-ClickHouse-Format", r.format)
	h.Set("X-ClickHouse-Exception-Tag", r.tag)
	if r.encoding != "" {
		h.Set("Content-Encoding", r.encoding)
	}
	r.keepAlive()
	r.w.WriteHeader(http.StatusOK)
	r.out = encodeContent(r.w, r.encoding)
	_, err := r.out.Write(r.held.Bytes())
	r.held = bytes.Buffer{}
	return err
}

// finish sends what is left of a result that is complete.
func (r *reply) finish() error {
	if !r.started && r.encoding == "" {
		r.w.Header().Set("Content-Length", strconv.Itoa(r.held.Len()))
	}
	if err := r.start(); err != nil {
		return err
	}
	r.keepAlive()
	return r.out.Close()
}

// fail tells the client of an exception: by status and headers, or, in the middle of a result, by a frame that clients of
// ClickHouse look for, after which the connection breaks so that nobody takes a part for the whole.
func (r *reply) fail(failure *chdb.Error) {
	message := failure.Message
	if !strings.Contains(message, "(version ") {
		message += fmt.Sprintf(" (version %s)", r.version)
	}
	r.keepAlive()
	if !r.started {
		h := r.header()
		h.Set("Content-Type", "text/plain; charset=UTF-8")
		h.Set("X-ClickHouse-Exception-Code", strconv.Itoa(failure.Code))
		if failure.Name != "" {
			h.Set("X-ClickHouse-Exception-Name", failure.Name)
		}
		r.w.WriteHeader(httpStatus(failure.Code))
		_, _ = io.WriteString(r.w, message+"\n")
		return
	}
	_, _ = fmt.Fprintf(r.out, "\r\n__exception__\r\n%s\r\n%s\n%d %s\r\n__exception__\r\n", r.tag, message, len(message)+1, r.tag)
	_ = r.out.Close()
	_ = r.control.Flush()
	panic(http.ErrAbortHandler)
}

func contentType(format string) string {
	switch {
	case format == "JSONEachRow", format == "JSONLines", format == "NDJSON", strings.HasSuffix(format, "EachRow"):
		return "application/x-ndjson; charset=UTF-8"
	case strings.HasPrefix(format, "JSON"):
		return "application/json; charset=UTF-8"
	case strings.HasPrefix(format, "CSV"):
		return "text/csv; charset=UTF-8; header=" + presence(strings.Contains(format, "WithNames"))
	case strings.HasPrefix(format, "TabSeparated"), strings.HasPrefix(format, "TSV"):
		return "text/tab-separated-values; charset=UTF-8"
	case format == "XML":
		return "application/xml; charset=UTF-8"
	case format == "Markdown":
		return "text/markdown; charset=UTF-8"
	case strings.HasPrefix(format, "Pretty"), strings.HasPrefix(format, "Vertical"), format == "TSKV", format == "Values":
		return "text/plain; charset=UTF-8"
	}
	return "application/octet-stream"
}

func presence(b bool) string {
	if b {
		return "present"
	}
	return "absent"
}
