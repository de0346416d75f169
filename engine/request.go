package engine

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/laxity-dev/laxity/engine/chdb"
)

const (
	defaultUser   = "default"
	defaultFormat = "TabSeparated"
)

// query is one request for the engine.
type query struct {
	statement
	id       string
	database string
	settings []setting
	params   []chdb.Param
	readonly bool   // a GET must not change anything
	data     string // file with the rows of an INSERT; "" for none

	format      string // of the result
	revision    uint64 // of Native blocks in the result; 0 for the plain form
	blocks      string // method of ClickHouse's own compression of the result: "", LZ4, ZSTD, NONE
	encoding    string // Content-Encoding of the result
	waitForEnd  bool   // nothing is sent before the statement has ended
	description string // the client's own log_comment
}

// What a ClickHouse server takes by default of an address and of a parameter in it. A client that needs more would fail there.
const (
	maxURI   = 1 << 20
	maxField = 128 << 10
)

type setting struct{ name, value string }

// paramsOfTransport are parameters of a request that are no settings of the engine and have no meaning here: sessions do not
// exist, for nothing outlives its request.
var paramsOfTransport = []string{
	"session_id", "session_timeout", "session_check", "quota_key", "buffer_size", "stacktrace", "add_http_cors_header", "role",
	"user", "password", "replica_num", "send_progress_in_http_headers", "http_headers_progress_interval_ms", "close_session",
}

// readQuery takes a request apart. The caller removes q.data, also after an error.
func (e *Engine) readQuery(r *http.Request) (*query, error) {
	if n := len(r.URL.RequestURI()); n > maxURI {
		return nil, exception(chdb.CodePoco, "POCO_EXCEPTION", fmt.Sprintf("URI too long: %d bytes of at most %d; send the statement as the body", n, maxURI))
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, exception(chdb.CodeBadArguments, "BAD_ARGUMENTS", "Query string: "+err.Error())
	}
	q := &query{
		id:       values.Get("query_id"),
		database: values.Get("database"),
		readonly: r.Method == http.MethodGet || r.Method == http.MethodHead,
	}
	if q.id == "" {
		q.id = newID()
	}
	if q.database == "" {
		q.database = r.Header.Get("X-ClickHouse-Database")
	}
	if err := q.readParams(values); err != nil {
		return q, err
	}
	if values.Get("enable_http_compression") != "0" {
		q.encoding = chooseEncoding(r.Header.Get("Accept-Encoding"))
	}
	if err := e.readBody(r, values, q); err != nil {
		return q, err
	}
	if q.many {
		return q, exception(chdb.CodeSyntax, "SYNTAX_ERROR", "Syntax error (Multi-statements are not allowed): send one statement in a request")
	}
	if q.verb == "" {
		return q, exception(chdb.CodeSyntax, "SYNTAX_ERROR", "Empty query")
	}
	if q.input && q.verb == "INSERT" {
		return q, exception(chdb.CodeNotImplemented, "NOT_IMPLEMENTED", "The function input() is not supported by the embedded engine: insert the rows into a table first")
	}
	if q.outfile {
		return q, exception(chdb.CodeNotImplemented, "NOT_IMPLEMENTED", "INTO OUTFILE and FROM INFILE are for a client; the server has no files of yours")
	}
	q.format = defaultFormat
	if f := values.Get("default_format"); f != "" {
		q.format = f
	} else if f := r.Header.Get("X-ClickHouse-Format"); f != "" {
		q.format = f
	}
	if q.statement.format != "" && q.dataAt < 0 {
		q.format = q.statement.format
	}
	return q, nil
}

// readParams sorts the parameters of the URL into settings, values of placeholders and what concerns the transport.
func (q *query) readParams(values url.Values) error {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := values.Get(name)
		if len(value) > maxField {
			return exception(chdb.CodePoco, "POCO_EXCEPTION", fmt.Sprintf(
				"HTML Form Exception: Field value too long: %s has %d bytes of at most %d; write it into the statement", name, len(value), maxField))
		}
		switch {
		case strings.HasPrefix(name, "param_"):
			q.params = append(q.params, chdb.Param{Name: strings.TrimPrefix(name, "param_"), Value: value})
		case name == "query", name == "database", name == "query_id", name == "default_format", name == "decompress", slices.Contains(paramsOfTransport, name):
		case name == "compress":
			if value == "1" && q.blocks == "" {
				q.blocks = "LZ4"
			}
		case name == "client_protocol_version":
			revision, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return exception(chdb.CodeBadArguments, "BAD_ARGUMENTS", fmt.Sprintf("client_protocol_version %q is no number", value))
			}
			q.revision = min(revision, maxRevision)
		case name == "wait_end_of_query":
			q.waitForEnd = value == "1" || value == "true"
		case name == "log_comment":
			q.description = value
		case !isIdentifier(name):
			return exception(chdb.CodeUnknownSetting, "UNKNOWN_SETTING", fmt.Sprintf("Unknown setting %q", name))
		default:
			q.settings = append(q.settings, setting{name, value})
		}
	}
	if method := strings.ToUpper(values.Get("network_compression_method")); q.blocks != "" && method != "" {
		q.blocks = method
	}
	return nil
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isWordByte(c) || c >= 0x80 {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

// readBody finds the statement and, for an INSERT that awaits data, puts the rest of the body into a file: the statement
// starts only when the whole body has arrived, so a client that breaks off has inserted nothing.
func (e *Engine) readBody(r *http.Request, values url.Values, q *query) error {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType == "multipart/form-data" {
		return e.readForm(r, values, q)
	}
	body, err := decodeBody(r, values.Get("decompress") == "1")
	if err != nil {
		return err
	}
	defer body.Close()
	q.statement = parseStatement(values.Get("query"))
	if q.awaitsData() {
		return e.spool(body, q)
	}
	// As the server does it: what stands in the URL goes before the body.
	var text bytes.Buffer
	text.WriteString(values.Get("query"))
	if text.Len() > 0 {
		text.WriteByte('\n')
	}
	n, err := io.Copy(&text, io.LimitReader(body, e.config.MaxInline+1))
	if err != nil {
		return bodyError(err)
	}
	if n > e.config.MaxInline {
		return exception(chdb.CodeQueryTooLarge, "QUERY_IS_TOO_LARGE", fmt.Sprintf(
			"The statement with its data is longer than %d bytes: send the INSERT as the parameter 'query' and the data as the body", e.config.MaxInline))
	}
	if n > 0 {
		q.statement = parseStatement(text.String())
	}
	if q.awaitsData() {
		return e.spool(http.NoBody, q)
	}
	return nil
}

// readForm reads a form: its field "query" is the statement, other fields are parameters.
func (e *Engine) readForm(r *http.Request, values url.Values, q *query) error {
	r.Body = http.MaxBytesReader(nil, r.Body, e.config.MaxInline)
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		return bodyError(err)
	}
	defer func() { _ = r.MultipartForm.RemoveAll() }()
	if len(r.MultipartForm.File) > 0 {
		return exception(chdb.CodeNotImplemented, "NOT_IMPLEMENTED", "External tables are not supported by the embedded engine: use a table or an array parameter")
	}
	form := url.Values(r.MultipartForm.Value)
	text := values.Get("query") + form.Get("query")
	form.Del("query")
	q.statement = parseStatement(text)
	return q.readParams(form)
}

// spool writes the body to a file of the data directory.
func (e *Engine) spool(body io.Reader, q *query) error {
	file, err := os.CreateTemp(e.spoolDir, "body-")
	if err != nil {
		return fmt.Errorf("spool the body: %w", err)
	}
	defer file.Close()
	q.data = file.Name()
	n, err := io.Copy(file, io.LimitReader(body, e.config.MaxBody+1))
	if err != nil {
		return bodyError(err)
	}
	if n > e.config.MaxBody {
		return exception(chdb.CodeQueryTooLarge, "QUERY_IS_TOO_LARGE", fmt.Sprintf("The body is longer than %d bytes: send several smaller ones", e.config.MaxBody))
	}
	return nil
}
