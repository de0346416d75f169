package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// plain is a hop with given times.
func plain(n int, name string, start, end time.Time) *trace.Span {
	return &trace.Span{
		TraceId: bytes.Repeat([]byte{byte(n >> 8), byte(n)}, 8), SpanId: append(make([]byte, 5), 1, byte(n>>8), byte(n)), Name: name,
		Kind: trace.Span_SPAN_KIND_CLIENT, StartTimeUnixNano: uint64(start.UnixNano()), EndTimeUnixNano: uint64(end.UnixNano()),
	}
}

// post sends a body over OTLP/HTTP and returns the status.
func post(t *testing.T, address string, body []byte) (int, string) {
	t.Helper()
	response, err := http.Post(address+"/v1/traces", "application/x-protobuf", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// counter reads one of the collector's own counters.
func counter(t *testing.T, metrics, name, label string) string {
	t.Helper()
	response, err := http.Get(metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, name) && strings.Contains(line, label) {
			return line[strings.LastIndex(line, " ")+1:]
		}
	}
	return ""
}

func TestBadInput(t *testing.T) {
	s := startUp(t, t.TempDir())
	send := newOTLPClient(t, s.grpc)
	year := func(y int) time.Time { return time.Unix(0, 0).UTC().AddDate(y-1970, 0, 0) }
	good := func(n int) *trace.Span { return plain(n, "good", now, now.Add(time.Second)) }

	t.Run("truncated protobuf is refused, the next request is taken", func(t *testing.T) {
		body, err := proto.Marshal(request(good(1)))
		if err != nil {
			t.Fatal(err)
		}
		if status, text := post(t, s.http, body[:len(body)-3]); status != http.StatusBadRequest || text == "" {
			t.Errorf("status %d, %q", status, text)
		}
		if status, text := post(t, s.http, body); status != http.StatusOK {
			t.Errorf("status %d, %q", status, text)
		}
	})
	t.Run("an attribute of 5 MB", func(t *testing.T) {
		big := plain(2, "big", now, now.Add(time.Second))
		big.Attributes = append(big.Attributes, text("payload", strings.Repeat("x", 5<<20)))
		if err := send.once(t.Context(), request(good(3), big)); err != nil {
			t.Fatal(err)
		}
		expect(t, s.clickhouse, "SELECT max(length(SpanAttributes['payload'])) FROM otel_traces", strconv.Itoa(5<<20))
	})
	t.Run("times and ids that storage cannot hold", func(t *testing.T) {
		noTrace, noSpan := good(12), good(13)
		noTrace.TraceId, noSpan.SpanId = make([]byte, 16), nil
		before := plain(9, "1969", year(1969), year(1970))
		before.StartTimeUnixNano = ^uint64(0) - uint64(365*24*time.Hour)
		late := plain(10, "2299", now, now)
		late.StartTimeUnixNano, late.EndTimeUnixNano = 10_382_256_000_000_000_000, 10_382_256_001_000_000_000
		if err := send.once(t.Context(), request(good(7), plain(8, "1970", year(1970), year(1970).Add(time.Second)), before, late,
			plain(11, "backwards", now.Add(time.Second), now), noTrace, noSpan, plain(14, "2261", year(2261), year(2261).Add(time.Second)))); err != nil {
			t.Fatal(err)
		}
		expect(t, s.clickhouse, "SELECT groupArray((reason, n)) FROM (SELECT reason, count() AS n FROM quarantine GROUP BY reason ORDER BY reason)",
			"[('end_before_start',1),('time_out_of_range',2),('zero_span_id',1),('zero_trace_id',1)]")
		expect(t, s.clickhouse, "SELECT groupUniqArray(JSONExtractString(span, 'resourceSpans', 1, 'scopeSpans', 1, 'spans', 1, 'name')) = groupUniqArray(name) FROM quarantine", "1")
		for _, table := range []string{"SELECT arraySort(groupUniqArray(SpanName)) FROM otel_traces", "SELECT arraySort(groupUniqArray(name)) FROM hops FINAL"} {
			expect(t, s.clickhouse, table, "['1970','2261','big','good']")
		}
		for reason, want := range map[string]string{"end_before_start": "1", "time_out_of_range": "2", "zero_span_id": "1", "zero_trace_id": "1"} {
			eventually(t, 20*time.Second, func() error {
				if got := counter(t, s.metrics, "otelcol_connector_quarantine_spans", reason); got != want {
					return fmt.Errorf("counter of %s is %q, want %s", reason, got, want)
				}
				return nil
			})
		}
	})
	t.Run("one batch over 200 days, and over ten years", func(t *testing.T) {
		var spans []*trace.Span
		for day := range 200 {
			at := now.AddDate(0, 0, -day)
			spans = append(spans, plain(1000+day, "days", at, at.Add(time.Second)))
		}
		for month := range 120 {
			at := now.AddDate(0, -month, 0)
			spans = append(spans, plain(2000+month, "months", at, at.Add(time.Second)))
		}
		if err := send.once(t.Context(), request(spans...)); err != nil {
			t.Fatal(err)
		}
		expect(t, s.clickhouse, "SELECT countIf(SpanName = 'days'), countIf(SpanName = 'months') FROM otel_traces", "200\t120")
		expect(t, s.clickhouse, "SELECT countIf(name = 'days'), countIf(name = 'months') FROM hops FINAL", "200\t120")
	})
	t.Run("the same export three times counts once", func(t *testing.T) {
		var spans []*trace.Span
		for n := range 50 {
			spans = append(spans, plain(5000+n, "again", now, now.Add(time.Second)))
		}
		for range 3 {
			if err := send.once(t.Context(), request(spans...)); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, s.clickhouse, "SELECT count() FROM otel_traces WHERE SpanName = 'again'", "150")
		expect(t, s.clickhouse, "SELECT count() FROM hops FINAL WHERE name = 'again'", "50")
	})
}

func TestListeningBeyondLoopbackNeedsAToken(t *testing.T) {
	for _, args := range [][]string{
		{"up", "--otlp-grpc", "0.0.0.0:0"}, {"up", "--listen", "0.0.0.0:0"}, {"up", "--otlp-http", ":0"},
		{"up", "--engine-listen", "0.0.0.0:0", "--insecure"}, {"collector", "--otlp-http", "0.0.0.0:0"},
	} {
		if code := run(t.Context(), args); code != exitUsage {
			t.Errorf("%v: exit code %d, want %d", args, code, exitUsage)
		}
	}
}
