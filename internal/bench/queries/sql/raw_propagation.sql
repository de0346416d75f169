-- propagation, from raw spans.
SELECT call.service AS caller, callee.service AS called, count(), countIf(received > remaining + 0.001), max(received - remaining),
    quantileExact(0.5)(allowance), quantileExact(0.5)(length)
FROM
(
    SELECT TraceId AS trace, ParentSpanId AS parent, ServiceName AS service, toFloat64OrZero(SpanAttributes['deadline.budget.received']) AS received, Duration AS length
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanKind = 'Server'
) AS callee
INNER JOIN
(
    SELECT TraceId AS trace, SpanId AS id, ServiceName AS service, toFloat64OrZero(SpanAttributes['deadline.remaining.before']) AS remaining,
        toFloat64OrZero(SpanAttributes['deadline.allowance']) AS allowance
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanKind = 'Client'
) AS call ON call.trace = callee.trace AND call.id = callee.parent
GROUP BY caller, called
