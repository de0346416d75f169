package main

import (
	"encoding/binary"
	"fmt"
	"time"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// A trace is one request over two services, as instrumentation libraries write it: an entry with a budget, two calls of the
// other service with their server sides, a query under each, and work inside the processes.
const (
	spansPerTrace    = 12
	hopsPerTrace     = 7
	tracesPerRequest = 50
)

// apart is between the starts of two traces: as they come at 20,000 spans a second.
const apart = 600 * time.Microsecond

// makeRequests returns encoded requests that hold so many traces, numbered from first, one after the other since start.
func makeRequests(first, traces int, start time.Time) [][]byte {
	var requests [][]byte
	for at := first; at < first+traces; at += tracesPerRequest {
		shop, stock := service("shop"), service("stock")
		for n := at; n < min(at+tracesPerRequest, first+traces); n++ {
			addTrace(&shop.ScopeSpans[0].Spans, &stock.ScopeSpans[0].Spans, n, uint64(start.Add(time.Duration(n-first)*apart).UnixNano()))
		}
		requests = append(requests, encode(shop, stock))
	}
	return requests
}

func encode(resources ...*trace.ResourceSpans) []byte {
	body, err := proto.Marshal(&coltrace.ExportTraceServiceRequest{ResourceSpans: resources})
	if err != nil {
		panic(err)
	}
	return body
}

// probeRequest returns one request with a route of its own that ended now.
func probeRequest(n int, ended time.Time) []byte {
	probe := service(probeService)
	probe.ScopeSpans[0].Spans = []*trace.Span{{
		TraceId: binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 0xbeef), uint64(n)+1),
		SpanId:  binary.BigEndian.AppendUint64(nil, uint64(n)+1), Name: "GET", Kind: trace.Span_SPAN_KIND_SERVER,
		StartTimeUnixNano: uint64(ended.Add(-time.Millisecond).UnixNano()), EndTimeUnixNano: uint64(ended.UnixNano()),
		Attributes: []*common.KeyValue{text("http.route", probeRoute(n)), float(budgetattr.BudgetReceivedKey, 1)},
	}}
	return encode(probe)
}

const probeService = "probe"

func probeRoute(n int) string { return fmt.Sprintf("/probe/%d", n) }

func service(name string) *trace.ResourceSpans {
	return &trace.ResourceSpans{
		Resource: &resource.Resource{Attributes: []*common.KeyValue{
			text("service.name", name), text("service.version", "1.4.2"), text("service.instance.id", name+"-7f9c4"), text("host.name", "node-1"),
			text("deployment.environment.name", "production"), whole("process.pid", 4711), text("telemetry.sdk.language", "go"),
		}},
		ScopeSpans: []*trace.ScopeSpans{{Scope: &common.InstrumentationScope{Name: "net/http", Version: "0.60.0"}}},
	}
}

// budget is what each request is granted; one in late takes longer than that, and its last callee works on after its caller left.
const (
	budget = 350 * time.Millisecond
	late   = 20
)

func addTrace(shop, stock *[]*trace.Span, n int, start uint64) {
	traceID := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, mix(uint64(n))), uint64(n)+1)
	lasts := budget*3/7 + time.Duration(mix(uint64(n))%100)*budget/250 // from 43 % to 83 % of it
	overdue := time.Duration(0)
	if n%late == 0 {
		lasts += budget * 2 / 3
		overdue = lasts / 10
	}
	next := uint64(n) * spansPerTrace
	// add adds a span that takes these thousandths of the request, and a while more.
	add := func(to *[]*trace.Span, parent []byte, name string, kind trace.Span_SpanKind, from, until uint64, more time.Duration, attrs ...*common.KeyValue) []byte {
		next++
		id := binary.BigEndian.AppendUint64(nil, mix(next))
		*to = append(*to, &trace.Span{
			TraceId: traceID, SpanId: id, ParentSpanId: parent, Name: name, Kind: kind, Attributes: attrs,
			StartTimeUnixNano: start + from*uint64(lasts)/1000, EndTimeUnixNano: start + until*uint64(lasts)/1000 + uint64(more),
		})
		return id
	}
	entry := add(shop, nil, "POST /orders/{id}", trace.Span_SPAN_KIND_SERVER, 0, 1000, 0, append(httpAttributes("POST", fmt.Sprintf("/orders/%d", n)),
		text("http.route", "/orders/{id}"), float(budgetattr.BudgetReceivedKey, budget.Seconds()))...)
	add(shop, entry, "validate", trace.Span_SPAN_KIND_INTERNAL, 10, 60, 0, text("code.function.name", "validate"), whole("items", 3))
	for i, stage := range []string{"reserve", "price"} {
		at, remains, allowance := uint64(100+430*i), budget.Seconds()-float64(i)*lasts.Seconds()/2, 0.25-0.1*float64(i)
		more := overdue * time.Duration(i)
		call := add(shop, entry, "POST", trace.Span_SPAN_KIND_CLIENT, at, at+400, 0, append(httpAttributes("POST", "/"+stage),
			text("server.address", "stock"), text(budgetattr.StageKey, stage), float(budgetattr.RemainingBeforeKey, remains), float(budgetattr.AllowanceKey, allowance))...)
		served := add(stock, call, "POST /"+stage, trace.Span_SPAN_KIND_SERVER, at+20, at+380, more, append(httpAttributes("POST", "/"+stage),
			text("http.route", "/"+stage), float(budgetattr.BudgetReceivedKey, allowance))...)
		add(stock, served, "SELECT stock", trace.Span_SPAN_KIND_CLIENT, at+60, at+300, more, text("db.system.name", "postgresql"), text("db.namespace", "stock"),
			text("db.query.text", "SELECT sku, left FROM stock WHERE sku = $1 FOR UPDATE"), text("server.address", "db.internal"), whole("server.port", 5432))
		add(stock, served, "decode", trace.Span_SPAN_KIND_INTERNAL, at+25, at+50, 0, text("code.function.name", "decode"))
		add(stock, served, "encode", trace.Span_SPAN_KIND_INTERNAL, at+310, at+370, more, text("code.function.name", "encode"))
	}
}

func httpAttributes(method, path string) []*common.KeyValue {
	return []*common.KeyValue{
		text("http.request.method", method), text("url.path", path), text("url.scheme", "http"), text("network.protocol.version", "1.1"),
		text("user_agent.original", "Go-http-client/1.1"), whole("http.response.status_code", 200),
	}
}

// mix spreads numbers as random ids are.
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func whole(key string, value int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value}}}
}

func float(key string, value float64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: value}}}
}
