package main

import (
	"encoding/binary"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// 50 services with 130 routes and 70 stages are 10,000 label sets.
const (
	services = 50
	routes   = 130
	stages   = 70
)

// input is what one sender sends again and again: the spans of one service after the other, each time in traces of their own.
// It is small, so that memory is that of the connector.
type input struct {
	request       ptrace.Traces
	sender, every int
	service       int
	trace         uint64
	names, pods   [services]string
}

// newInput makes the request of one of several senders.
func newInput(sender, senders int) *input {
	in := &input{request: ptrace.NewTraces(), sender: sender, every: senders, service: sender, trace: uint64(sender) << 48}
	for i := range services {
		in.names[i], in.pods[i] = fmt.Sprintf("service-%d", i), fmt.Sprintf("pod-%d", i)
	}
	rs := in.request.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.version", "1.4.2")
	rs.Resource().Attributes().PutStr("deployment.environment.name", "production")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for n := range routes + stages {
		s := spans.AppendEmpty()
		var id pcommon.SpanID
		binary.BigEndian.PutUint64(id[:], uint64(n+1))
		s.SetSpanID(id)
		s.SetParentSpanID(pcommon.SpanID{1, byte(n)})
		s.SetStartTimestamp(1_900_000_000_000_000_000)
		s.SetEndTimestamp(s.StartTimestamp() + pcommon.Timestamp(1_000_000*(20+n*7%900)))
		if n < routes {
			entry(s, n)
		} else {
			hop(s, n-routes)
		}
	}
	return in
}

// entry is a request as the sdk records it and the processor completes it: one in 50 late.
func entry(s ptrace.Span, n int) {
	route := fmt.Sprintf("/api/v1/resource-%d/{id}", n)
	s.SetKind(ptrace.SpanKindServer)
	s.SetName("GET " + route)
	a := s.Attributes()
	a.PutStr("http.request.method", "GET")
	a.PutStr("http.route", route)
	a.PutStr("url.path", fmt.Sprintf("/api/v1/resource-%d/81723", n))
	a.PutStr("server.address", "shop.internal")
	a.PutInt("http.response.status_code", 200)
	a.PutStr("network.protocol.version", "1.1")
	margin := 1 - float64(s.EndTimestamp()-s.StartTimestamp())/1e9
	if n%50 == 0 {
		margin = -0.02
	}
	a.PutDouble(budgetattr.BudgetRequestedKey, 1)
	a.PutDouble(budgetattr.BudgetReceivedKey, 1)
	a.PutStr(budgetattr.BudgetSourceKey, "caller")
	a.PutDouble(budgetattr.MarginKey, margin)
	a.PutBool(budgetattr.LateKey, margin < 0)
	a.PutStr(budgetattr.OutcomeKey, "done")
	a.PutStr(budgetattr.GovernedByKey, "deadline")
	a.PutDouble(budgetattr.UsedRatioKey, 1-margin)
}

// hop is a call as the sdk records it.
func hop(s ptrace.Span, n int) {
	s.SetKind(ptrace.SpanKindClient)
	s.SetName(fmt.Sprintf("stage-%d", n))
	a := s.Attributes()
	a.PutStr("http.request.method", "POST")
	a.PutStr("server.address", "10.0.0.7")
	a.PutInt("server.port", 8080)
	a.PutInt("http.response.status_code", 200)
	a.PutStr("peer.service", fmt.Sprintf("service-%d", n%services))
	a.PutStr(budgetattr.StageKey, fmt.Sprintf("stage-%d", n))
	a.PutStr(budgetattr.DecisionKey, "run")
	a.PutDouble(budgetattr.RemainingBeforeKey, 0.8)
	a.PutDouble(budgetattr.RemainingAfterKey, 0.4)
	a.PutDouble(budgetattr.AllowanceKey, 0.7)
	a.PutStr(budgetattr.BindingKey, "budget")
}

// next returns the next request.
func (in *input) next() ptrace.Traces {
	rs := in.request.ResourceSpans().At(0)
	rs.Resource().Attributes().PutStr("service.name", in.names[in.service])
	rs.Resource().Attributes().PutStr("service.instance.id", in.pods[in.service])
	if in.service += in.every; in.service >= services {
		in.service = in.sender
	}
	for _, s := range rs.ScopeSpans().At(0).Spans().All() {
		in.trace++
		s.SetTraceID(fresh(in.trace))
	}
	return in.request
}
