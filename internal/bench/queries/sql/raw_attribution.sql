-- attribution of two weeks, from raw spans.
SELECT entry.service, entry.route, later, class, stage, peer, sum(length), sum(margin), count(DISTINCT trace)
FROM
(
    SELECT TraceId AS trace, SpanId AS id, ServiceName AS service, SpanAttributes['http.route'] AS route,
        Timestamp >= fromUnixTimestamp64Nano({to:Int64}) - toIntervalDay(7) AS later, SpanAttributes['deadline.payload.class'] AS class,
        toFloat64OrZero(SpanAttributes['deadline.margin']) AS margin
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({to:Int64}) - toIntervalDay(14) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})
        AND SpanKind = 'Server' AND SpanAttributes['deadline.outcome'] = 'done'
) AS entry
LEFT JOIN
(
    SELECT TraceId AS trace, ParentSpanId AS parent, SpanAttributes['deadline.stage'] AS stage, SpanAttributes['peer.service'] AS peer, Duration AS length
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({to:Int64}) - toIntervalDay(14) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanKind = 'Client'
) AS call ON call.trace = entry.trace AND call.parent = entry.id
GROUP BY entry.service, entry.route, later, class, stage, peer
