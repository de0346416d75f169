-- stages, from raw spans.
SELECT call.service, entry.route, stage, peer, count(), quantilesExact(0.5, 0.95)(length), countIf(decision NOT IN ('', 'run')), countIf(cause != '')
FROM
(
    SELECT TraceId AS trace, ServiceName AS service, SpanAttributes['deadline.stage'] AS stage, SpanAttributes['peer.service'] AS peer, Duration AS length,
        SpanAttributes['deadline.decision'] AS decision, SpanAttributes['deadline.cancel.cause'] AS cause
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanKind = 'Client'
) AS call
LEFT JOIN
(
    SELECT TraceId AS trace, ServiceName AS service, any(SpanAttributes['http.route']) AS route
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanKind = 'Server'
    GROUP BY trace, service
) AS entry ON entry.trace = call.trace AND entry.service = call.service
GROUP BY call.service, entry.route, stage, peer
