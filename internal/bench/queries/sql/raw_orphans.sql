-- orphans, from raw spans: callees that outlive a cancelled call, and their share of what their services did.
SELECT callee.service AS service, callee.name AS name, count(), sum(toFloat64(callee.length) - toFloat64(call.length)) AS orphan, orphan / any(busy.length)
FROM
(
    SELECT TraceId AS trace, ParentSpanId AS parent, ServiceName AS service, SpanName AS name, Duration AS length
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanKind = 'Server' AND ParentSpanId != ''
) AS callee
INNER JOIN
(
    SELECT TraceId AS trace, SpanId AS id, Duration AS length
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})
        AND SpanKind = 'Client' AND SpanAttributes['deadline.cancel.cause'] != ''
) AS call ON call.trace = callee.trace AND call.id = callee.parent
LEFT JOIN
(
    SELECT ServiceName AS service, sum(toFloat64(Duration)) AS length
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanKind = 'Server'
    GROUP BY service
) AS busy ON busy.service = callee.service
WHERE callee.length > call.length
GROUP BY service, name
