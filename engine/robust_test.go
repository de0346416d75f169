package engine_test

import (
	"bufio"
	"bytes"
	"fmt"

	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/laxity-dev/laxity/engine/enginetest"
)

// raw sends bytes as they are and returns what comes back until the engine closes or the time is up.
func raw(t *testing.T, e *enginetest.Engine, halfClose bool, parts ...string) string {
	t.Helper()
	conn, err := net.Dial("tcp", e.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	for _, p := range parts {
		_, _ = io.WriteString(conn, p)
	}
	if !halfClose {
		return ""
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(bufio.NewReader(conn))
	return string(answer)
}

func TestBrokenRequestsInsertNothing(t *testing.T) {
	e := shared(t)
	db := e.NewDatabase(t)
	if _, err := e.Query("CREATE TABLE " + db + ".t (n UInt64) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	head := "POST /?" + url.Values{"query": {"INSERT INTO " + db + ".t FORMAT TSV"}}.Encode() + " HTTP/1.1\r\nHost: " + e.Address + "\r\n"
	for name, parts := range map[string][]string{
		"half of the length":    {head, "Content-Length: 100\r\n\r\n", "1\n2\n"},
		"no end of the chunks":  {head, "Transfer-Encoding: chunked\r\n\r\n", "4\r\n1\n2\n\r\n"},
		"half of the head":      {head},
		"garbage":               {"\x00\x01\x02\r\n\r\n"},
		"a chunk of bad length": {head, "Transfer-Encoding: chunked\r\n\r\n", "zz\r\n1\n\r\n0\r\n\r\n"},
		"another protocol":      {"\x16\x03\x01\x02\x00\x01"},
	} {
		for _, halfClose := range []bool{true, false} {
			if answer := raw(t, e, halfClose, parts...); strings.Contains(answer, "200 OK") {
				t.Errorf("%s: %q", name, answer)
			}
		}
	}
	// A client that has sent everything and closes its half still gets its answer or nothing, never a broken engine.
	raw(t, e, true, "GET /?query=SELECT%201 HTTP/1.1\r\nHost: "+e.Address+"\r\n\r\n")
	if out, err := e.Query("SELECT count() FROM " + db + ".t"); err != nil || out != "0\n" {
		t.Errorf("%q %v", out, err)
	}
}

func TestHugeRequests(t *testing.T) {
	e := shared(t)
	long := strings.Repeat("a", 1<<20)
	if a := send(t, e, http.MethodGet, q("SELECT length('"+long+"')"), ""); a.body != "1048576\n" && a.status < 400 {
		t.Errorf("1 MiB of URL: %d %.100q", a.status, a.body)
	}
	// As much as a ClickHouse server takes, and no more.
	if a := send(t, e, http.MethodPost, "param_s="+long[:128<<10], "SELECT length({s:String})"); a.body != "131072\n" {
		t.Errorf("128 KiB of parameter: %d %.100q", a.status, a.body)
	}
	if a := send(t, e, http.MethodPost, "param_s="+long[:128<<10+1], "SELECT length({s:String})"); !strings.Contains(a.body, "Field value too long") {
		t.Errorf("more than 128 KiB of parameter: %d %.100q", a.status, a.body)
	}
	many := url.Values{}
	for i := range 11 {
		many.Set(fmt.Sprintf("param_s%d", i), long[:100_000])
	}
	if a := send(t, e, http.MethodPost, many.Encode(), "SELECT length({s1:String})"); !strings.Contains(a.body, "URI too long") {
		t.Errorf("1.1 MB of parameters: %d %.100q", a.status, a.body)
	}
	if a := send(t, e, http.MethodPost, q("SELECT 1"), strings.Repeat(" ", 10<<20)); a.status >= 500 {
		t.Errorf("10 MiB of blanks: %d %.100q", a.status, a.body)
	}
	if a := send(t, e, http.MethodPost, "", "SELECT "+strings.Repeat("(", 100_000)); a.header.Get("X-ClickHouse-Exception-Code") != "306" {
		t.Errorf("100,000 parentheses: %d %.100q", a.status, a.body)
	}
	if a := send(t, e, http.MethodPost, "", "SELECT length('"+strings.Repeat("x", 5<<20)+"') SETTINGS max_query_size = 10000000", "Content-Type", "text/plain"); a.status == 0 {
		t.Error("no answer")
	}
	response, err := http.Get(e.URL + "/?query=" + strings.Repeat("x", 8<<20))
	if err == nil {
		response.Body.Close()
		if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("8 MiB of URL: %s", response.Status)
		}
	}
	if out, err := e.Query("SELECT 1"); err != nil || out != "1\n" {
		t.Errorf("%q %v", out, err)
	}
}

// TestRandomRequestsLeaveTheEngineWhole sends what no client would and asks after it whether the engine lives.
func TestRandomRequestsLeaveTheEngineWhole(t *testing.T) {
	e := enginetest.Start(t)
	if _, err := e.Query("CREATE TABLE t (n UInt64, s LowCardinality(String), m Map(String, Array(Nullable(Int64)))) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	native := send(t, e, http.MethodPost, q("SELECT number AS n, toLowCardinality('x') AS s, map('a', [1, NULL]) AS m FROM numbers(50) FORMAT Native"), "").body
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	mangle := func(s string) string {
		b := []byte(s)
		for range 1 + random.IntN(4) {
			switch at := random.IntN(len(b) + 1); {
			case at == len(b):
				b = append(b, byte(random.Uint32()))
			case random.IntN(3) == 0:
				b = append(b[:at:at], b[min(len(b), at+1+random.IntN(8)):]...)
			default:
				b[at] = byte(random.Uint32())
			}
		}
		return string(b)
	}
	settings := []string{"compress", "decompress", "default_format", "client_protocol_version", "database", "max_threads", "param_x", "wait_end_of_query", "readonly", "max_block_size", "output_format_json_array_of_rows", "network_compression_method", "session_id", "log_comment", "query_id"}
	values := []string{"1", "0", "", "-1", "LZ4", "Native", "JSON", "54480", "99999999999", "it's", "\\", "\x00", "ü", "t"}
	statements := []string{
		"INSERT INTO t FORMAT Native", "SELECT * FROM t FORMAT Native", "SELECT {x:Array(String)}", "SELECT * FROM t WHERE s = '' FORMAT JSON",
		"INSERT INTO t (n) VALUES (1)", "WITH 1 AS a SELECT a FORMAT Values", "SHOW TABLES", "EXPLAIN SELECT * FROM t", "DESCRIBE t", "SET x = 1", "USE t",
		"SELECT 1 UNION ALL SELECT 2 INTO OUTFILE 'x'", "INSERT INTO t SELECT * FROM t LIMIT 1", "$a$ $a$", "/* SELECT 1", "KILL QUERY WHERE 0",
	}
	n := 600
	if os.Getenv("LAXITY_SOAK") != "" {
		n = 30_000
	}
	var wg sync.WaitGroup
	limit := make(chan struct{}, 8)
	for range n {
		v := url.Values{"max_execution_time": {"5"}}
		for range random.IntN(3) {
			v.Set(settings[random.IntN(len(settings))], values[random.IntN(len(values))])
		}
		sql := statements[random.IntN(len(statements))]
		if random.IntN(2) == 0 {
			sql = mangle(sql)
		}
		body := ""
		switch random.IntN(4) {
		case 0:
			body = mangle(native)
		case 1:
			body = native[:random.IntN(len(native))]
		}
		if random.IntN(2) == 0 {
			v.Set("query", sql)
		} else {
			body = sql + "\n" + body
		}
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			response, err := http.Post(e.URL+"/?"+v.Encode(), "", bytes.NewReader([]byte(body)))
			if err != nil {
				if _, alive := e.Query("SELECT 1"); alive != nil {
					t.Errorf("%s with %.200q: %v", v.Encode(), body, err)
				}
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		})
	}
	wg.Wait()
	if out, err := e.Query("SELECT 1"); err != nil || out != "1\n" {
		t.Fatalf("the engine after that: %q %v", out, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if log := e.Log(); strings.Contains(log, "panic") {
		t.Error(log)
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	e := shared(t)
	db := e.NewDatabase(t)
	if _, err := e.Query("CREATE TABLE " + db + ".t (n UInt64) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for client := range 20 {
		wg.Go(func() {
			conn := open(t, e.DSN(db))
			for i := range 5 {
				batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO t")
				if err != nil {
					t.Error(err)
					return
				}
				for n := range 1000 {
					_ = batch.Append(uint64(client*5000 + i*1000 + n))
				}
				if err := batch.Send(); err != nil {
					t.Error(err)
					return
				}
				var sum uint64
				if err := conn.QueryRow(t.Context(), "SELECT sum(n) FROM t WHERE n >= {from:UInt64} AND n < {to:UInt64}",
					clickhouse.Named("from", client*5000), clickhouse.Named("to", client*5000+5000)).Scan(&sum); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if out, err := e.Query("SELECT count(), uniqExact(n) FROM " + db + ".t"); err != nil || out != "100000\t100000\n" {
		t.Errorf("%q %v", out, err)
	}
}
