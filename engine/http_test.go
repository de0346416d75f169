package engine_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/klauspost/compress/zstd"

	"github.com/laxity-dev/laxity/engine/enginetest"
)

type answer struct {
	status int
	header http.Header
	body   string
}

// send makes one request as curl does; query is the query string.
func send(t *testing.T, e *enginetest.Engine, method, query, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, e.URL+"/?"+query, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

func q(sql string, more ...string) string {
	v := url.Values{"query": {sql}}
	for i := 0; i < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return v.Encode()
}

func TestHTTPAnswersInAnyFormat(t *testing.T) {
	e := shared(t)
	sql := "SELECT number AS n, 'a,b' AS s FROM numbers(3)"
	for format, want := range map[string]string{
		"":                   "0\ta,b\n1\ta,b\n2\ta,b\n",
		"TSV":                "0\ta,b\n1\ta,b\n2\ta,b\n",
		"CSV":                "0,\"a,b\"\n1,\"a,b\"\n2,\"a,b\"\n",
		"CSVWithNames":       "\"n\",\"s\"\n0,\"a,b\"\n1,\"a,b\"\n2,\"a,b\"\n",
		"JSONEachRow":        "{\"n\":0,\"s\":\"a,b\"}\n{\"n\":1,\"s\":\"a,b\"}\n{\"n\":2,\"s\":\"a,b\"}\n",
		"Values":             "(0,'a,b'),(1,'a,b'),(2,'a,b')",
		"Markdown":           "| n | s |\n|-:|:-|\n| 0 | a,b |\n| 1 | a,b |\n| 2 | a,b |\n",
		"TSVWithNames":       "n\ts\n0\ta,b\n1\ta,b\n2\ta,b\n",
		"Null":               "",
		"JSONCompactEachRow": "[0, \"a,b\"]\n[1, \"a,b\"]\n[2, \"a,b\"]\n",
	} {
		clause := ""
		if format != "" {
			clause = " FORMAT " + format
		}
		for name, a := range map[string]answer{
			"clause in URL":  send(t, e, "GET", q(sql+clause), ""),
			"clause in body": send(t, e, "POST", "", sql+clause),
			"default_format": send(t, e, "GET", q(sql, "default_format", format), ""),
			"header":         send(t, e, "POST", "", sql, "X-ClickHouse-Format", format),
		} {
			if a.status != http.StatusOK || a.body != want {
				t.Errorf("%s by %s: %d %q", format, name, a.status, a.body)
			}
			if got := a.header.Get("X-ClickHouse-Format"); format != "" && got != format {
				t.Errorf("%s by %s: announced as %q", format, name, got)
			}
		}
	}
}

func TestHTTPLargeResultIsOneOutput(t *testing.T) {
	e := shared(t)
	for _, format := range []string{"JSON", "CSVWithNames", "JSONEachRow", "TSV"} {
		a := send(t, e, "GET", q("SELECT number FROM numbers(300000)", "default_format", format), "")
		lines := strings.Count(a.body, "\n")
		switch format {
		case "JSON":
			var document struct{ Rows int }
			if err := json.Unmarshal([]byte(a.body), &document); err != nil || document.Rows != 300_000 {
				t.Errorf("JSON: %v, %d rows", err, document.Rows)
			}
		case "CSVWithNames":
			if lines != 300_001 {
				t.Errorf("CSVWithNames: %d lines", lines)
			}
		default:
			if lines != 300_000 {
				t.Errorf("%s: %d lines", format, lines)
			}
		}
	}
	if a := send(t, e, "GET", q("SELECT number FROM numbers(300000)", "default_format", "JSONEachRow", "output_format_json_array_of_rows", "1"), ""); !json.Valid([]byte(a.body)) {
		t.Error("an array of rows is no valid JSON")
	}
	if a := send(t, e, "GET", q("SELECT number % 2 AS k, count() FROM numbers(10) GROUP BY k WITH TOTALS ORDER BY k"), ""); a.body != "0\t5\n1\t5\n\n0\t10\n" {
		t.Errorf("totals: %q", a.body)
	}
}

func TestHTTPHeaders(t *testing.T) {
	e := shared(t)
	a := send(t, e, "POST", q("SELECT 1", "query_id", "my-id", "default_format", "JSON"), "")
	for name, want := range map[string]string{
		"X-ClickHouse-Query-Id": "my-id", "X-ClickHouse-Timezone": "UTC", "X-ClickHouse-Format": "JSON",
		"Content-Type": "application/json; charset=UTF-8",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	db := e.NewDatabase(t)
	send(t, e, "POST", "database="+db, "CREATE TABLE t (a Int8) ENGINE = MergeTree ORDER BY a")
	a = send(t, e, "POST", q("INSERT INTO t FORMAT CSV", "database", db), "1\n2\n3\n")
	var summary map[string]string
	if err := json.Unmarshal([]byte(a.header.Get("X-ClickHouse-Summary")), &summary); err != nil || summary["written_rows"] != "3" {
		t.Errorf("summary: %v %v (%s)", err, summary, a.body)
	}
	a = send(t, e, "GET", q("SELEC 1"), "")
	if a.status != http.StatusBadRequest || a.header.Get("X-ClickHouse-Exception-Code") != "62" ||
		!strings.HasPrefix(a.body, "Code: 62. DB::Exception: Syntax error") || !strings.HasSuffix(a.body, "(SYNTAX_ERROR) (version 26.5.1.1)\n") {
		t.Errorf("syntax error: %d %v %q", a.status, a.header, a.body)
	}
}

func TestHTTPPaths(t *testing.T) {
	e := shared(t)
	for path, want := range map[string]string{"/": "Ok.\n", "/ping": "Ok.\n", "/replicas_status": "Ok.\n"} {
		response, err := http.Get(e.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK || string(body) != want {
			t.Errorf("%s: %d %q", path, response.StatusCode, body)
		}
	}
	response, err := http.Get(e.URL + "/play")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("/play: %d", response.StatusCode)
	}
	if a := send(t, e, "DELETE", q("SELECT 1"), ""); a.status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", a.status)
	}
	if a := send(t, e, "POST", "", ""); a.header.Get("X-ClickHouse-Exception-Code") != "62" {
		t.Errorf("empty query: %d %q", a.status, a.body)
	}
}

func TestHTTPInserts(t *testing.T) {
	e := shared(t)
	db := e.NewDatabase(t)
	zipped := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, s)
		_ = w.Close()
		return b.String()
	}
	zstandard := func(s string) string {
		w, _ := zstd.NewWriter(nil)
		return string(w.EncodeAll([]byte(s), nil))
	}
	blocks := func(s string) string {
		w := compress.NewWriter(compress.LevelZero, compress.LZ4)
		if err := w.Compress([]byte(s)); err != nil {
			t.Fatal(err)
		}
		return string(w.Data)
	}
	for _, c := range []struct {
		name, query, body string
		headers           []string
		want              string
	}{
		{name: "statement in the body", body: "INSERT INTO t VALUES (1, 'x;y'), (2, 'z')", want: "1\tx;y\n2\tz\n"},
		{name: "data in the URL", query: q("INSERT INTO t VALUES (1, 'x')"), want: "1\tx\n"},
		{name: "values in the body", query: q("INSERT INTO t VALUES"), body: "(1, 'x'), (2, 'it''s')", want: "1\tx\n2\tit\\'s\n"},
		{name: "format in the URL", query: q("INSERT INTO t FORMAT CSV"), body: "1,x\n2,\"a;b\"\n", want: "1\tx\n2\ta;b\n"},
		{name: "all in the body", body: "INSERT INTO t FORMAT CSV\n1,x\n2,y\n", want: "1\tx\n2\ty\n"},
		{name: "columns by name, the missing by default", query: q("INSERT INTO t FORMAT JSONEachRow"), body: `{"n":1}{"s":"y","n":2}`, want: "1\tdefault\n2\ty\n"},
		{name: "columns in another order", query: q("INSERT INTO t (s, n) SETTINGS max_threads = 1 FORMAT TSV"), body: "x\t1\n", want: "1\tx\n"},
		{name: "select", query: q("INSERT INTO t SELECT number, 'x' FROM numbers(2)"), want: "0\tx\n1\tx\n"},
		{name: "gzip", query: q("INSERT INTO t FORMAT CSV"), body: zipped("1,x\n"), headers: []string{"Content-Encoding", "gzip"}, want: "1\tx\n"},
		{name: "zstd", query: q("INSERT INTO t FORMAT CSV"), body: zstandard("1,x\n"), headers: []string{"Content-Encoding", "zstd"}, want: "1\tx\n"},
		{name: "gzip statement", body: zipped("INSERT INTO t VALUES (1, 'x')"), headers: []string{"Content-Encoding", "gzip"}, want: "1\tx\n"},
		{name: "blocks", query: q("INSERT INTO t FORMAT CSV", "decompress", "1"), body: blocks("1,x\n"), want: "1\tx\n"},
		{name: "no rows", query: q("INSERT INTO t FORMAT CSV"), want: ""},
		{name: "no rows in the body", body: "INSERT INTO t FORMAT CSV", want: ""},
		{name: "no values in the body", body: "INSERT INTO t VALUES", want: ""},
		{name: "no format", query: q("INSERT INTO t"), body: "(1, 'x')", want: "1\tx\n"},
		{name: "with before insert", query: q("WITH 1 AS x INSERT INTO t SELECT x, 'y'"), want: "1\ty\n"},
		{name: "with before select", query: q("INSERT INTO t WITH 1 AS x SELECT x, 'y'"), want: "1\ty\n"},
		{name: "standard input", query: q("INSERT INTO t SELECT * FROM file('/dev/stdin', 'CSV', 'n UInt8, s String')"), want: ""},
		{name: "rows by async insert", query: q("INSERT INTO t FORMAT CSV", "async_insert", "1", "wait_for_async_insert", "1"), body: "1,x\n", want: "1\tx\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			send(t, e, "POST", "database="+db, "CREATE OR REPLACE TABLE t (n UInt8, s String DEFAULT 'default') ENGINE = MergeTree ORDER BY n")
			if a := send(t, e, "POST", c.query+"&database="+db, c.body, c.headers...); a.status != http.StatusOK {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if a := send(t, e, "POST", q("SELECT * FROM t ORDER BY n", "database", db), ""); a.body != c.want {
				t.Errorf("got %q, want %q", a.body, c.want)
			}
		})
	}
}

func TestHTTPCompressesResults(t *testing.T) {
	e := shared(t)
	a := send(t, e, "GET", q("SELECT number FROM numbers(300000)"), "", "Accept-Encoding", "gzip, br")
	if a.header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("Content-Encoding %q", a.header.Get("Content-Encoding"))
	}
	r, err := gzip.NewReader(strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil || strings.Count(string(text), "\n") != 300_000 {
		t.Fatalf("%d lines, %v", strings.Count(string(text), "\n"), err)
	}
	if a := send(t, e, "GET", q("SELECT 1", "enable_http_compression", "0"), "", "Accept-Encoding", "gzip"); a.body != "1\n" {
		t.Errorf("compression switched off: %q", a.body)
	}
	a = send(t, e, "GET", q("SELECT 1", "compress", "1"), "")
	got, err := io.ReadAll(io.LimitReader(compress.NewReader(strings.NewReader(a.body)), 2))
	if err != nil || string(got) != "1\n" {
		t.Errorf("blocks: %q %v", got, err)
	}
}

func TestHTTPRefuses(t *testing.T) {
	e := shared(t)
	db := e.NewDatabase(t)
	send(t, e, "POST", "database="+db, "CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n")
	for _, c := range []struct {
		name, method, query, body string
		headers                   []string
		code                      string
	}{
		{name: "change by GET", method: "GET", query: q("DROP TABLE t", "database", db), code: "164"},
		{name: "insert by GET", method: "GET", query: q("INSERT INTO t VALUES (1)", "database", db), code: "164"},
		{name: "unknown setting", query: q("SELECT 1", "nosuch_setting", "1"), code: "115"},
		{name: "no setting", query: q("SELECT 1", "a=1,b", "1"), code: "115"},
		{name: "bad value of a setting", query: q("SELECT 1", "max_threads", "many"), code: "27"},
		{name: "unknown database", query: q("SELECT 1", "database", "no`such"), code: "81"},
		{name: "unknown format", query: q("SELECT 1 FORMAT Nosuch"), code: "73"},
		{name: "unknown default format", query: q("SELECT 1", "default_format", "Nosuch"), code: "73"},
		{name: "outfile", query: q("SELECT 1 INTO OUTFILE '/dev/null'"), code: "48"},
		{name: "input", query: q("INSERT INTO t SELECT n * 2 FROM input('n UInt64') FORMAT CSV", "database", db), body: "1\n2\n", code: "48"},
		{name: "infile", query: q("INSERT INTO t FROM INFILE '/etc/passwd' FORMAT CSV", "database", db), code: "48"},
		{name: "unknown encoding", query: q("SELECT 1"), headers: []string{"Content-Encoding", "rot13"}, code: "48"},
		{name: "garbage as gzip", query: q("INSERT INTO t FORMAT CSV", "database", db), body: "garbage", headers: []string{"Content-Encoding", "gzip"}, code: "271"},
		{name: "garbage as blocks", query: q("INSERT INTO t FORMAT CSV", "decompress", "1"), body: strings.Repeat("garbage", 100), code: "271"},
		{name: "garbage as Native", query: q("INSERT INTO t FORMAT Native", "database", db), body: strings.Repeat("garbage", 100)},
		{name: "bad row", query: q("INSERT INTO t FORMAT CSV", "database", db), body: "1\nx\n", code: "117"},
		{name: "bad revision", query: q("SELECT 1", "client_protocol_version", "x"), code: "36"},
		{name: "unknown compression", query: q("SELECT 1", "compress", "1", "network_compression_method", "x"), code: "36"},
		{name: "page of a browser", query: q("SELECT 1"), headers: []string{"Origin", "https://example.com"}, code: "516"},
		{name: "name that resolves to loopback", query: q("SELECT 1"), headers: []string{"Host", "example.com"}, code: "516"},
		{name: "unknown user", query: q("SELECT 1"), headers: []string{"X-ClickHouse-User", "nosuch"}, code: "516"},
		{name: "password of nobody", query: q("SELECT 1", "password", "x"), code: "516"},
		{name: "parameter without value", query: q("SELECT {x:Int64}"), code: "456"},
		{name: "parameter of another type", query: q("SELECT {x:Int64}", "param_x", "abc"), code: "457"},
	} {
		t.Run(c.name, func(t *testing.T) {
			method := c.method
			if method == "" {
				method = "POST"
			}
			a := send(t, e, method, c.query, c.body, c.headers...)
			got := a.header.Get("X-ClickHouse-Exception-Code")
			if strings.Contains(a.body, e.Dir) || strings.Count(a.body, "(version ") != 1 {
				t.Errorf("the text is not for a client: %s", a.body)
			}
			if a.status < 400 || got == "" || c.code != "" && got != c.code || !strings.HasPrefix(a.body, "Code: "+got+". DB::Exception: ") {
				t.Errorf("%d, code %s, want %s: %s", a.status, got, c.code, a.body)
			}
		})
	}
	if a := send(t, e, "POST", q("SELECT count() FROM t", "database", db), ""); a.body != "0\n" {
		t.Errorf("something was inserted: %q", a.body)
	}
}

func TestHTTPAuthentication(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{User: "app", Password: "s3cret:/é"})
	if a := send(t, e, "GET", q("SELECT 1"), ""); a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") == "" {
		t.Errorf("nobody: %d %q", a.status, a.body)
	}
	for name, headers := range map[string][]string{
		"headers": {"X-ClickHouse-User", "app", "X-ClickHouse-Key", "s3cret:/é"},
		"basic":   {"Authorization", basic("app", "s3cret:/é")},
		"browser": {"Authorization", basic("app", "s3cret:/é"), "Origin", "https://example.com", "Host", "example.com"},
	} {
		if a := send(t, e, "GET", q("SELECT currentUser()"), "", headers...); a.status != http.StatusOK {
			t.Errorf("%s: %d %q", name, a.status, a.body)
		}
	}
	if a := send(t, e, "GET", q("SELECT 1", "user", "app", "password", "s3cret:/é"), ""); a.body != "1\n" {
		t.Errorf("URL: %d %q", a.status, a.body)
	}
	for _, login := range [][2]string{{"app", "wrong"}, {"app", ""}, {"default", ""}, {"other", "s3cret:/é"}} {
		a := send(t, e, "GET", q("SELECT 1"), "", "Authorization", basic(login[0], login[1]))
		if a.status != http.StatusForbidden || a.header.Get("X-ClickHouse-Exception-Code") != "516" {
			t.Errorf("%v: %d %q", login, a.status, a.body)
		}
	}
	if err := open(t, "http://app:s3cret%3A%2F%C3%A9@"+e.Address+"/default").Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := e.Query("SELECT 1"); err != nil {
		t.Error(err)
	}
}

func basic(user, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}
