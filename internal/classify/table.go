package classify

import "github.com/laxity-dev/laxity/sdk/budgetattr"

// verdict is what a row of a table says. An empty field says nothing: a phase without a cause means that time ran out in
// that phase of a call, not who set the limit.
type verdict struct {
	rule  string
	cause budgetattr.Cause
	phase budgetattr.Phase
	// outcome is set where the status of the span misleads.
	outcome budgetattr.Outcome
}

// grpcCodes by role. Source: gRPC status codes (grpc.io/docs/guides/status-codes). A client that sees DEADLINE_EXCEEDED
// waited to its own deadline; a server that answers it served under one. CANCELLED is the caller's doing on both sides.
var grpcCodes = map[int64]map[role]verdict{
	1: {
		calling: {rule: "grpc_cancelled", cause: budgetattr.CauseUpstreamCancel},
		called:  {rule: "grpc_cancelled", cause: budgetattr.CauseUpstreamCancel},
	},
	4: {
		calling: {rule: "grpc_deadline_exceeded", cause: budgetattr.CauseLocalDeadline, phase: budgetattr.PhaseTotal},
		called:  {rule: "grpc_deadline_exceeded", cause: budgetattr.CauseLocalDeadline},
	},
	// The codes that OpenTelemetry counts as the server's own errors (semantic conventions for gRPC).
	2:  {called: {rule: "grpc_server_error", outcome: budgetattr.OutcomeFailed}},
	12: {called: {rule: "grpc_server_error", outcome: budgetattr.OutcomeFailed}},
	13: {called: {rule: "grpc_server_error", outcome: budgetattr.OutcomeFailed}},
	14: {called: {rule: "grpc_server_error", outcome: budgetattr.OutcomeFailed}},
	15: {called: {rule: "grpc_server_error", outcome: budgetattr.OutcomeFailed}},
}

// grpcNames are the codes as newer instrumentations write them.
var grpcNames = map[string]int64{
	"OK": 0, "CANCELLED": 1, "UNKNOWN": 2, "DEADLINE_EXCEEDED": 4, "UNIMPLEMENTED": 12, "INTERNAL": 13, "UNAVAILABLE": 14, "DATA_LOSS": 15,
}

// httpCodes by role. A client that receives 504, 408 or 499 got an answer about somebody else's wait, so nothing is said.
var httpCodes = map[int64]map[role]verdict{
	// RFC 9110 15.5.9: the server did not receive a complete request in the time it was prepared to wait.
	408: {called: {rule: "http_408", cause: budgetattr.CauseLocalDeadline, phase: budgetattr.PhaseRequest}},
	// AWS load balancers: the client closed the connection before the idle timeout elapsed.
	460: {called: {rule: "http_460", cause: budgetattr.CauseClientDisconnect}},
	// nginx: client closed request.
	499: {called: {rule: "http_499", cause: budgetattr.CauseClientDisconnect}},
	// RFC 9110 15.6.5: the gateway did not receive a timely response.
	504: {called: {rule: "http_504", cause: budgetattr.CauseLocalDeadline}},
}

// envoyFlags are Envoy's response flags. Source: Envoy documentation, access logging, RESPONSE_FLAGS.
var envoyFlags = map[string]map[role]verdict{
	"UT":    both(verdict{rule: "envoy_ut", cause: budgetattr.CauseLocalDeadline, phase: budgetattr.PhaseTotal}),
	"UMSDR": both(verdict{rule: "envoy_umsdr", cause: budgetattr.CauseLocalDeadline, phase: budgetattr.PhaseTotal}),
	"DT":    both(verdict{rule: "envoy_dt", cause: budgetattr.CauseLocalDeadline, phase: budgetattr.PhaseTotal}),
	"SI":    both(verdict{rule: "envoy_si", cause: budgetattr.CauseStreamIdle}),
	"DC":    both(verdict{rule: "envoy_dc", cause: budgetattr.CauseClientDisconnect}),
	"DR":    both(verdict{rule: "envoy_dr", cause: budgetattr.CauseClientDisconnect}),
}

func both(v verdict) map[role]verdict { return map[role]verdict{calling: v, called: v} }

// envoyCanceled: Envoy tags its span of the outgoing request `canceled` when the router resets it.
// Source: envoy source/common/router/upstream_request.cc.
var envoyCanceled = verdict{rule: "envoy_canceled", cause: budgetattr.CauseUpstreamCancel}

func timeout(rule string, phase budgetattr.Phase) verdict {
	return verdict{rule: rule, cause: budgetattr.CauseLocalDeadline, phase: phase}
}

// types are values of error.type and exception.type, whole or without their package. They hold for the calling side; elsewhere
// they may be about a call that the span made.
var types = map[string]verdict{
	// Python: requests, urllib3, httpx, aiohttp.
	"ConnectTimeout":                 timeout("python_connect_timeout", budgetattr.PhaseConnect),
	"ConnectTimeoutError":            timeout("python_connect_timeout", budgetattr.PhaseConnect),
	"ConnectionTimeoutError":         timeout("python_connect_timeout", budgetattr.PhaseConnect),
	"ReadTimeout":                    timeout("python_read_timeout", budgetattr.PhaseFirstByte),
	"ReadTimeoutError":               timeout("python_read_timeout", budgetattr.PhaseFirstByte),
	"SocketTimeoutError":             timeout("python_read_timeout", budgetattr.PhaseFirstByte),
	"WriteTimeout":                   timeout("httpx_write_timeout", budgetattr.PhaseRequest),
	"PoolTimeout":                    timeout("httpx_pool_timeout", budgetattr.PhasePool),
	"ServerTimeoutError":             timeout("aiohttp_timeout", ""),
	"asyncio.TimeoutError":           timeout("asyncio_timeout", ""),
	"TimeoutError":                   timeout("timeout_error", ""),
	"APITimeoutError":                timeout("api_timeout", budgetattr.PhaseTotal),
	"KeyboardInterrupt":              {rule: "keyboard_interrupt", cause: budgetattr.CauseUpstreamCancel},
	"langgraph.errors.ParentCommand": {rule: "langgraph_control_flow", outcome: budgetattr.OutcomeDone},
	// Java and Kotlin.
	"SocketTimeoutException":                timeout("java_socket_timeout", ""),
	"HttpConnectTimeoutException":           timeout("java_connect_timeout", budgetattr.PhaseConnect),
	"ConnectTimeoutException":               timeout("java_connect_timeout", budgetattr.PhaseConnect),
	"HttpTimeoutException":                  timeout("java_http_timeout", ""),
	"ReadTimeoutException":                  timeout("netty_read_timeout", budgetattr.PhaseFirstByte),
	"SQLTimeoutException":                   timeout("sql_timeout", budgetattr.PhaseDBExecution),
	"QueryTimeoutException":                 timeout("sql_timeout", budgetattr.PhaseDBExecution),
	"MySQLTimeoutException":                 timeout("sql_timeout", budgetattr.PhaseDBExecution),
	"ConnectionRequestTimeoutException":     timeout("java_pool_timeout", budgetattr.PhasePool),
	"PoolAcquireTimeoutException":           timeout("java_pool_timeout", budgetattr.PhasePool),
	"TimeoutCancellationException":          timeout("kotlin_timeout", ""),
	"java.util.concurrent.TimeoutException": timeout("java_timeout", ""),
	// Go.
	"context.deadlineExceededError":  timeout("go_deadline", ""),
	"*context.deadlineExceededError": timeout("go_deadline", ""),
	// Node and browsers. AbortError is ambiguous: a timer or the caller.
	"ETIMEDOUT":               timeout("etimedout", ""),
	"ESOCKETTIMEDOUT":         timeout("node_socket_timeout", budgetattr.PhaseFirstByte),
	"UND_ERR_CONNECT_TIMEOUT": timeout("undici_connect_timeout", budgetattr.PhaseConnect),
	"UND_ERR_HEADERS_TIMEOUT": timeout("undici_headers_timeout", budgetattr.PhaseFirstByte),
	"UND_ERR_BODY_TIMEOUT":    timeout("undici_body_timeout", budgetattr.PhaseBody),
	"HeadersTimeoutError":     timeout("undici_headers_timeout", budgetattr.PhaseFirstByte),
	"BodyTimeoutError":        timeout("undici_body_timeout", budgetattr.PhaseBody),
	// .NET: TaskCanceledException is ambiguous, its text may not be.
	"System.TimeoutException": timeout("dotnet_timeout", ""),
	// OpenTelemetry's own example of error.type.
	"timeout": timeout("error_type_timeout", ""),
	// gRPC and Connect codes written as types.
	"DEADLINE_EXCEEDED": timeout("grpc_deadline_exceeded", budgetattr.PhaseTotal),
	"deadline_exceeded": timeout("connect_deadline_exceeded", budgetattr.PhaseTotal),
	"CANCELLED":         {rule: "grpc_cancelled", cause: budgetattr.CauseUpstreamCancel},
	"canceled":          {rule: "connect_canceled", cause: budgetattr.CauseUpstreamCancel},
	// PostgreSQL and MySQL codes.
	"57014": {rule: "pg_query_canceled", phase: budgetattr.PhaseDBExecution},
	"3024":  timeout("mysql_max_execution_time", budgetattr.PhaseDBExecution),
}

// text is a piece of an error's text, in lower case.
type text struct {
	contains string
	verdict
}

// texts in order: the first that matches wins, so longer and more telling pieces come first. A row without cause and phase
// says that a text which looks like one below is none.
var texts = []text{
	// Names that do not resolve and ports that refuse are failures, not timeouts, whatever surrounds them.
	{"nameresolutionerror", verdict{}},
	{"name resolution failed", verdict{}},
	{"econnrefused", verdict{}},
	{"connection refused", verdict{}},

	// Databases.
	{"canceling statement due to statement timeout", timeout("pg_statement_timeout", budgetattr.PhaseDBExecution)},
	{"canceling statement due to lock timeout", timeout("pg_lock_timeout", budgetattr.PhaseDBExecution)},
	{"canceling statement due to user request", verdict{rule: "pg_cancel_request", cause: budgetattr.CauseUpstreamCancel, phase: budgetattr.PhaseDBExecution}},
	{"maximum statement execution time exceeded", timeout("mysql_max_execution_time", budgetattr.PhaseDBExecution)},
	{"lock wait timeout exceeded", timeout("mysql_lock_timeout", budgetattr.PhaseDBExecution)},
	{"timeout exceeded: elapsed", timeout("clickhouse_timeout", budgetattr.PhaseDBExecution)},
	{"operation exceeded time limit", timeout("mongo_max_time", budgetattr.PhaseDBExecution)},
	{"connection pool timeout", timeout("redis_pool_timeout", budgetattr.PhasePool)},
	{"connection is not available, request timed out", timeout("hikari_pool_timeout", budgetattr.PhasePool)},
	{"timeout waiting for connection from pool", timeout("java_pool_timeout", budgetattr.PhasePool)},
	{"queuepool limit of size", timeout("sqlalchemy_pool_timeout", budgetattr.PhasePool)},
	{"timed out in waitqueue", timeout("mongo_pool_timeout", budgetattr.PhasePool)},
	{"timeout acquiring a connection", timeout("knex_pool_timeout", budgetattr.PhasePool)},
	{"redis timeout", timeout("redis_timeout", "")},

	// Go's net/http: the client's timer names itself, the mixed form does not tell.
	{"client.timeout exceeded while awaiting headers", timeout("go_client_timeout", budgetattr.PhaseFirstByte)},
	{"client.timeout exceeded while reading body", timeout("go_client_timeout", budgetattr.PhaseBody)},
	{"client.timeout or context cancellation while reading body", verdict{rule: "go_body_ended", phase: budgetattr.PhaseBody}},
	{"timeout awaiting response headers", timeout("go_header_timeout", budgetattr.PhaseFirstByte)},
	{"tls handshake timeout", timeout("go_tls_timeout", budgetattr.PhaseTLS)},
	{"code = deadlineexceeded", timeout("grpc_deadline_exceeded", budgetattr.PhaseTotal)},
	{"code = canceled", verdict{rule: "grpc_cancelled", cause: budgetattr.CauseUpstreamCancel}},
	{"context deadline exceeded", timeout("go_deadline", "")},
	{"context canceled", verdict{rule: "go_canceled", cause: budgetattr.CauseUpstreamCancel}},

	// Java and gRPC in Java.
	{"deadline_exceeded", timeout("grpc_deadline_exceeded", budgetattr.PhaseTotal)},
	{"deadline exceeded after", timeout("grpc_deadline_exceeded", budgetattr.PhaseTotal)},
	{"connect timed out", timeout("java_connect_timeout", budgetattr.PhaseConnect)},
	{"read timed out", timeout("read_timed_out", budgetattr.PhaseFirstByte)},

	// Node, Python, .NET.
	{"connect etimedout", timeout("etimedout", budgetattr.PhaseConnect)},
	{"etimedout", timeout("etimedout", "")},
	{"headers timeout error", timeout("undici_headers_timeout", budgetattr.PhaseFirstByte)},
	{"body timeout error", timeout("undici_body_timeout", budgetattr.PhaseBody)},
	{"httpclient.timeout of", timeout("dotnet_timeout", budgetattr.PhaseTotal)},
	{"connection timed out", timeout("connection_timed_out", "")},
	{"connection timeout", timeout("connection_timed_out", budgetattr.PhaseConnect)},
}

// shaped are texts that need two pieces in this order.
var shaped = []struct {
	first, second string
	verdict
}{
	{"lookup ", "i/o timeout", timeout("go_dns_timeout", budgetattr.PhaseDNS)},
	{"dial tcp", "i/o timeout", timeout("go_dial_timeout", budgetattr.PhaseConnect)},
	{"read tcp", "i/o timeout", timeout("go_read_timeout", budgetattr.PhaseFirstByte)},
	{"write tcp", "i/o timeout", timeout("go_write_timeout", budgetattr.PhaseRequest)},
	{"timeout of ", "ms exceeded", timeout("axios_timeout", budgetattr.PhaseTotal)},
}

// whole are texts that hold on any span when they are all of the text. Inside a longer text they may be about a call that
// the span made, not about its own wait.
var whole = map[string]verdict{
	"context deadline exceeded": timeout("go_deadline", ""),
	"context canceled":          {rule: "go_canceled", cause: budgetattr.CauseUpstreamCancel},
}
