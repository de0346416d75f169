package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// now is when the spans of the tests begin.
var now = time.Now().UTC().Truncate(time.Hour)

// spansPerTrace is the size of a trace of makeRequest, hopsPerTrace how many of its spans are hops.
const (
	spansPerTrace = 5
	hopsPerTrace  = 3
)

// makeRequest makes traces of an entry with a budget, two calls and two internal spans. Numbers give the ids.
func makeRequest(first, traces int) *coltrace.ExportTraceServiceRequest {
	var spans []*trace.Span
	for n := first; n < first+traces; n++ {
		traceID := binary.BigEndian.AppendUint64(make([]byte, 8), uint64(n)+1)
		id := func(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n*spansPerTrace+i)+1) }
		start := uint64(now.UnixNano()) + uint64(n)*1000
		for i := range spansPerTrace {
			s := &trace.Span{TraceId: traceID, SpanId: id(i), StartTimeUnixNano: start, EndTimeUnixNano: start + uint64(300-i)*1e6}
			if i > 0 {
				s.ParentSpanId = id(0)
			}
			switch i {
			case 0:
				s.Name, s.Kind = "POST /orders", trace.Span_SPAN_KIND_SERVER
				s.Attributes = []*common.KeyValue{number(budgetattr.BudgetReceivedKey, 0.25), text("http.route", "/orders"),
					text("http.request.method", "POST"), text("url.path", "/orders/"+strconv.Itoa(n))}
			case 1, 2:
				s.Name, s.Kind = "SELECT orders", trace.Span_SPAN_KIND_CLIENT
				s.Attributes = []*common.KeyValue{text("db.system.name", "postgresql"), text("server.address", "db"), number(budgetattr.RemainingBeforeKey, 0.2)}
			default:
				s.Name, s.Kind = "render", trace.Span_SPAN_KIND_INTERNAL
				s.Attributes = []*common.KeyValue{text("template", "order")}
			}
			spans = append(spans, s)
		}
	}
	return request(spans...)
}

func request(spans ...*trace.Span) *coltrace.ExportTraceServiceRequest {
	return &coltrace.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{
		Resource:   &resource.Resource{Attributes: []*common.KeyValue{text("service.name", "checkout"), text("host.name", "h1")}},
		ScopeSpans: []*trace.ScopeSpans{{Scope: &common.InstrumentationScope{Name: "test"}, Spans: spans}},
	}}}
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value float64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: value}}}
}

// otlpClient exports over gRPC.
type otlpClient struct {
	client coltrace.TraceServiceClient
}

func newOTLPClient(t *testing.T, address string) *otlpClient {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &otlpClient{coltrace.NewTraceServiceClient(conn)}
}

// once sends a request and reports whether it was acknowledged.
func (s *otlpClient) once(ctx context.Context, r *coltrace.ExportTraceServiceRequest) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answer, err := s.client.Export(ctx, r)
	if err != nil {
		return err
	}
	if p := answer.GetPartialSuccess(); p.GetRejectedSpans() != 0 {
		return fmt.Errorf("%d spans rejected: %s", p.GetRejectedSpans(), p.GetErrorMessage())
	}
	return nil
}

// untilAcknowledged sends a request again until it is acknowledged, as an OTLP exporter does.
func (s *otlpClient) untilAcknowledged(ctx context.Context, r *coltrace.ExportTraceServiceRequest) error {
	for {
		err := s.once(ctx, r)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ask sends a statement to ClickHouse over HTTP and returns the text of the answer.
func ask(clickhouse, sql string) (string, error) {
	response, err := http.Post(clickhouse+"/?database=laxity", "text/plain", strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return strings.TrimSpace(string(body)), err
}

// expect waits until a statement answers so.
func expect(t *testing.T, clickhouse, sql, want string) {
	t.Helper()
	eventually(t, 2*time.Minute, func() error {
		got, err := ask(clickhouse, sql)
		if err == nil && got != want {
			err = fmt.Errorf("%s: %s, want %s", sql, got, want)
		}
		return err
	})
}
