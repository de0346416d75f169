-- dependencies of the last week against the one before, from raw spans.
SELECT call.service AS service, peer, stage, countIf(now), quantileExactIf(0.5)(allowance, now), quantileExactIf(0.99)(length, NOT now AND cause = ''),
    quantileExactIf(0.5)(length, now), quantileExactIf(0.5)(length, NOT now AND cause = ''), quantileExactIf(0.5)(length - callee.took, now)
FROM
(
    SELECT TraceId AS trace, SpanId AS id, ServiceName AS service, SpanAttributes['deadline.stage'] AS stage, SpanAttributes['peer.service'] AS peer, Duration AS length,
        toFloat64OrZero(SpanAttributes['deadline.allowance']) AS allowance, SpanAttributes['deadline.cancel.cause'] AS cause,
        Timestamp >= fromUnixTimestamp64Nano({to:Int64}) - toIntervalDay(7) AS now
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({to:Int64}) - toIntervalDay(14) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanKind = 'Client'
) AS call
LEFT JOIN
(
    SELECT TraceId AS trace, ParentSpanId AS parent, Duration AS took
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({to:Int64}) - toIntervalDay(7) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanKind = 'Server'
) AS callee ON callee.trace = call.trace AND callee.parent = call.id
GROUP BY service, peer, stage
