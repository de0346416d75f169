package main

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

const tracesPerBatch = 50

// batch returns traces, new each time because both processors write into them. A trace is one request over two services as
// instrumentation libraries write it: two entries with a budget, calls over HTTP and gRPC, queries, and work inside the
// processes. Every twentieth has a call that timed out, another twentieth an entry that failed.
func batch(first int) ptrace.Traces {
	td := ptrace.NewTraces()
	shop, stock := service(td, "shop"), service(td, "stock")
	for n := first; n < first+tracesPerBatch; n++ {
		addTrace(shop, stock, n)
	}
	return td
}

func service(td ptrace.Traces, name string) ptrace.SpanSlice {
	rs := td.ResourceSpans().AppendEmpty()
	for key, value := range map[string]string{"service.name": name, "service.version": "1.4.2", "service.instance.id": name + "-7f9c4", "host.name": "node-1"} {
		rs.Resource().Attributes().PutStr(key, value)
	}
	return rs.ScopeSpans().AppendEmpty().Spans()
}

func addTrace(shop, stock ptrace.SpanSlice, n int) {
	id := uint64(n) * 16
	add := func(to ptrace.SpanSlice, parent uint64, name string, kind ptrace.SpanKind) (ptrace.Span, uint64) {
		id++
		s := to.AppendEmpty()
		s.SetTraceID(pcommon.TraceID{1, byte(n >> 16), byte(n >> 8), byte(n)})
		s.SetSpanID(spanID(id))
		if parent != 0 {
			s.SetParentSpanID(spanID(parent))
		}
		s.SetName(name)
		s.SetKind(kind)
		s.SetStartTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + id*1e5))
		s.SetEndTimestamp(s.StartTimestamp() + pcommon.Timestamp(3e8+id%89*1e6))
		return s, id
	}
	entry, at := add(shop, 0, "POST /orders/{id}", ptrace.SpanKindServer)
	http(entry, 200)
	entry.Attributes().PutStr("http.route", "/orders/{id}")
	entry.Attributes().PutDouble(budgetattr.BudgetReceivedKey, 0.35)
	if n%20 == 7 {
		entry.Status().SetCode(ptrace.StatusCodeError)
	}
	for range 2 {
		inner, _ := add(shop, at, "validate", ptrace.SpanKindInternal)
		inner.Attributes().PutStr("code.function.name", "validate")
		inner.Attributes().PutInt("items", 3)
	}
	for i := range 2 {
		call, from := add(shop, at, "POST", ptrace.SpanKindClient)
		http(call, 200)
		call.Attributes().PutStr("server.address", "stock")
		if n%20 == 3 && i == 1 {
			call.Status().SetCode(ptrace.StatusCodeError)
			call.Status().SetMessage(`Post "http://stock/reserve": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`)
			call.Attributes().PutStr("error.type", "*url.Error")
		}
		served, in := add(stock, from, "POST /reserve", ptrace.SpanKindServer)
		http(served, 200)
		served.Attributes().PutStr("http.route", "/reserve")
		if i == 0 {
			served.Attributes().PutDouble(budgetattr.BudgetReceivedKey, 0.25)
		}
		query, _ := add(stock, in, "SELECT stock", ptrace.SpanKindClient)
		for key, value := range map[string]string{"db.system.name": "postgresql", "db.namespace": "stock", "server.address": "db.internal",
			"db.query.text": "SELECT sku, left FROM stock WHERE sku = $1 FOR UPDATE"} {
			query.Attributes().PutStr(key, value)
		}
		rpc, _ := add(stock, in, "pricing.Pricing/Quote", ptrace.SpanKindClient)
		rpc.Attributes().PutStr("rpc.system", "grpc")
		rpc.Attributes().PutStr("rpc.service", "pricing.Pricing")
		rpc.Attributes().PutStr("rpc.method", "Quote")
		rpc.Attributes().PutInt("rpc.grpc.status_code", 0)
	}
}

func spanID(n uint64) (id pcommon.SpanID) {
	for i := range id {
		id[i] = byte(n >> (8 * (7 - i)))
	}
	return id
}

func http(s ptrace.Span, status int64) {
	a := s.Attributes()
	a.PutStr("http.request.method", "POST")
	a.PutStr("url.path", "/reserve")
	a.PutStr("url.scheme", "http")
	a.PutStr("network.protocol.version", "1.1")
	a.PutStr("user_agent.original", "Go-http-client/1.1")
	a.PutInt("http.response.status_code", status)
}
