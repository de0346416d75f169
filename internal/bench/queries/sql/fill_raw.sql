-- The raw spans that the hops of one day would be, in the stock layout.
-- from, to  nanoseconds since 1970, from inclusive, to exclusive
INSERT INTO otel_traces (Timestamp, TraceId, SpanId, ParentSpanId, SpanName, SpanKind, ServiceName, ResourceAttributes, ScopeName, SpanAttributes,
    Duration, StatusCode)
SELECT
    ts,
    lower(hex(trace_id)),
    lower(hex(span_id)),
    if(parent_span_id = toFixedString('', 8), '', lower(hex(parent_span_id))),
    name,
    kind,
    service,
    map('service.name', toString(service), 'service.instance.id', toString(instance), 'host.name', toString(host),
        'deployment.environment.name', toString(environment), 'service.version', toString(service_version)),
    'laxity',
    mapFilter((k, v) -> v != '', map(
        'http.route', toString(route), 'peer.service', toString(peer),
        'deadline.budget.received', ifNull(toString(budget_received_ns / 1e9), ''), 'deadline.budget.source', toString(budget_source),
        'deadline.margin', ifNull(toString(margin_ns / 1e9), ''), 'deadline.late', ifNull(toString(late), ''),
        'deadline.used.ratio', ifNull(toString(used_ratio), ''), 'deadline.mode', toString(mode), 'deadline.channel', toString(channel),
        'deadline.local.before_first_call', ifNull(toString(local_before_first_call_ns / 1e9), ''),
        'deadline.payload.class', toString(payload_class), 'deadline.outcome', toString(outcome), 'deadline.stage', toString(stage),
        'deadline.remaining.before', ifNull(toString(remaining_before_ns / 1e9), ''),
        'deadline.remaining.after', ifNull(toString(remaining_after_ns / 1e9), ''),
        'deadline.allowance', ifNull(toString(allowance_ns / 1e9), ''), 'deadline.reserve', ifNull(toString(reserve_ns / 1e9), ''),
        'deadline.decision', toString(decision), 'deadline.attempt', ifNull(toString(attempt), ''),
        'deadline.attempt.layer', toString(attempt_layer), 'deadline.cancel.cause', toString(cancel_cause),
        'deadline.cancel.after', ifNull(toString(cancel_after_ns / 1e9), ''),
        'deadline.phase.first_byte.time', ifNull(toString(phase_first_byte_time_ns / 1e9), ''))),
    duration_ns,
    status
FROM hops
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
