-- The findings that a fill has, from raw spans: late answers, exhausted budgets, and callees that outlive a cancelled call.
SELECT rule, service, name, count(), sum(amount)
FROM
(
    SELECT if(SpanAttributes['deadline.late'] = 'true', 'late', 'exhausted') AS rule, ServiceName AS service, SpanName AS name, toFloat64(Duration) AS amount
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})
        AND SpanKind = 'Server' AND (SpanAttributes['deadline.late'] = 'true' OR SpanAttributes['deadline.cancel.cause'] = 'local_deadline')
    UNION ALL
    SELECT 'orphan_work' AS rule, callee.service AS service, callee.name AS name, toFloat64(callee.length) - toFloat64(call.length) AS amount
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
    WHERE callee.length > call.length
)
GROUP BY rule, service, name
