package engine

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/laxity-dev/laxity/engine/chdb"
)

func newID() string { return uuid.NewString() }

// handler is ClickHouse's HTTP interface.
func (e *Engine) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/ping", answerOk)
	mux.HandleFunc("/replicas_status", answerOk)
	mux.HandleFunc("/{$}", e.serveQuery)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "There is no handler for "+r.URL.Path+": send queries to /, or ask /ping", http.StatusNotFound)
	})
	return mux
}

func answerOk(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	_, _ = io.WriteString(w, "Ok.\n")
}

func (e *Engine) serveQuery(w http.ResponseWriter, r *http.Request) {
	e.requests.Add(1)
	defer e.requests.Done()
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if !r.URL.Query().Has("query") {
			answerOk(w, r)
			return
		}
	case http.MethodPost, http.MethodPut:
	default:
		w.Header().Set("Allow", "GET, HEAD, POST, PUT")
		http.Error(w, "Use GET to ask and POST to change", http.StatusMethodNotAllowed)
		return
	}
	reply := e.newReply(w, "")
	if refusal := e.admit(r); refusal != nil {
		if refusal.Code == codeRequiredPassword {
			w.Header().Set("WWW-Authenticate", `Basic realm="ClickHouse server HTTP API"`)
		}
		reply.fail(refusal)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(e.aborted, func() { cancel(errShutdown) })()

	r.Body = &patientBody{r.Body, http.NewResponseController(w)}
	q, err := e.readQuery(r)
	if q != nil {
		if q.data != "" {
			defer os.Remove(q.data)
		}
		reply.id = q.id
		w.Header().Set("X-ClickHouse-Query-Id", q.id)
	}
	_ = reply.control.SetReadDeadline(time.Time{}) // from here on a read only notices that the client leaves
	if err == nil {
		err = reply.prepare(q, e.config.MaxInline)
	}
	if err == nil {
		err = e.run(ctx, q, reply)
	}
	if err == nil {
		err = reply.finish()
	}
	if err != nil {
		e.reportFailure(ctx, err, reply)
	}
}

var errShutdown = exception(chdb.CodeQueryCancelled, "QUERY_WAS_CANCELLED", "Query was cancelled: the engine is shutting down")

// reportFailure tells the client, if it is still there, and the log, if the operator can do something about it.
func (e *Engine) reportFailure(ctx context.Context, err error, r *reply) {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errShutdown) {
		panic(http.ErrAbortHandler) // the client has gone
	}
	failure := asException(err)
	if ctx.Err() != nil {
		failure = errShutdown
	}
	switch failure.Code {
	case chdb.CodeMemoryLimit:
		e.config.Logger.Warn("memory ceiling reached: raise --max-memory or ask for less at once", "query_id", r.id, "error", failure.Message)
	case chdb.CodeTooManyQueries:
		e.refused.Add(1)
		e.config.Logger.Warn("too many queries at once", "refused_so_far", e.refused.Load())
	}
	r.fail(failure)
}

const codeRequiredPassword = 194

// admit checks who asks. Without a password the engine serves this machine only, and no page of a browser: a page can send
// requests to loopback, under a name of its own that resolves there too.
func (e *Engine) admit(r *http.Request) *chdb.Error {
	user, password := credentials(r)
	if e.config.Password == "" {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		origin, err := url.Parse(r.Header.Get("Origin"))
		foreign := err != nil || origin.Host != "" && !isLoopback(origin.Hostname()) || r.Header.Get("Sec-Fetch-Site") == "cross-site"
		if foreign || !isLoopback(host) {
			return exception(chdb.CodeAuthenticationFailed, "AUTHENTICATION_FAILED", "Without a password the engine answers programs on this machine only, at a loopback address")
		}
	}
	if user == "" && password == "" && e.config.Password != "" {
		return exception(codeRequiredPassword, "REQUIRED_PASSWORD", "Authentication is required: give user and password")
	}
	if user == "" {
		user = defaultUser
	}
	known := subtle.ConstantTimeCompare([]byte(user), []byte(e.config.User)) & subtle.ConstantTimeCompare([]byte(password), []byte(e.config.Password))
	if known == 0 {
		return exception(chdb.CodeAuthenticationFailed, "AUTHENTICATION_FAILED", user+": Authentication failed: password is incorrect, or there is no user with such name")
	}
	return nil
}

// credentials are looked for where ClickHouse looks: its headers, basic authentication, the URL.
func credentials(r *http.Request) (user, password string) {
	if user, password = r.Header.Get("X-ClickHouse-User"), r.Header.Get("X-ClickHouse-Key"); user != "" || password != "" {
		return user, password
	}
	if user, password, ok := r.BasicAuth(); ok {
		return user, password
	}
	values := r.URL.Query()
	return values.Get("user"), values.Get("password")
}

// patientBody gives a client the time of stall for each read.
type patientBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *patientBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(stall))
	return b.ReadCloser.Read(p)
}
