package main

import (
	"fmt"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/laxity-dev/laxity/engine/enginetest"
)

// What is redacted is in no table: not among raw spans, not among hops, not with the spans that were refused.
func TestRedaction(t *testing.T) {
	engine := enginetest.Start(t)
	if code := run(t.Context(), []string{"migrate", "--clickhouse", engine.DSN("laxity")}); code != exitOK {
		t.Fatalf("migrate: exit code %d", code)
	}
	grpc := free(t)
	launch(t, "collector", "--clickhouse", engine.DSN("laxity"), "--otlp-grpc", grpc, "--otlp-http", "127.0.0.1:0",
		"--redact", "user.*=drop", "--redact", "enduser.id=hash", "--redact-salt", "pepper", "--redact-values", "card [0-9]{4}")
	request := makeRequest(0, 2)
	spans := request.ResourceSpans[0].ScopeSpans[0].Spans
	for _, s := range spans {
		for _, key := range []string{"user.mail", "enduser.id", "deadline.effect.key"} {
			s.Attributes = append(s.Attributes, &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: map[string]string{
				"user.mail": "sesame", "enduser.id": "sesame", "deadline.effect.key": "charge card 4711"}[key]}}})
		}
		s.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: "card 4711 refused"}
	}
	spans[0].EndTimeUnixNano = spans[0].StartTimeUnixNano - 1 // refused
	if err := newOTLPClient(t, grpc).untilAcknowledged(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	expect(t, engine.URL, "SELECT count() FROM laxity.otel_traces", fmt.Sprint(2*spansPerTrace-1))
	expect(t, engine.URL, "SELECT count() FROM laxity.quarantine", "1")
	expect(t, engine.URL, "SELECT count() > 0 FROM laxity.hops", "1")
	for _, table := range []string{"otel_traces", "hops", "quarantine"} {
		for _, word := range []string{"sesame", "4711", "user.mail"} {
			expect(t, engine.URL, fmt.Sprintf("SELECT countIf(position(toString(tuple(*)), '%s') > 0) FROM laxity.%s", word, table), "0")
		}
	}
	expect(t, engine.URL, "SELECT any(effect_key), any(status_message) FROM laxity.hops", "charge ****\t**** refused")
	expect(t, engine.URL, "SELECT uniqExact(SpanAttributes['enduser.id']), any(length(SpanAttributes['enduser.id'])) FROM laxity.otel_traces", "1\t32")
}
