-- The days of what grew, from raw spans: what requests spent at each stage.
SELECT entry.service, entry.route, entry.day, stage, peer, sum(length), count(DISTINCT trace)
FROM
(
    SELECT TraceId AS trace, SpanId AS id, ServiceName AS service, SpanAttributes['http.route'] AS route, toDate(Timestamp) AS day
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})
        AND SpanKind = 'Server' AND SpanAttributes['deadline.outcome'] = 'done'
) AS entry
INNER JOIN
(
    SELECT TraceId AS trace, ParentSpanId AS parent, SpanAttributes['deadline.stage'] AS stage, SpanAttributes['peer.service'] AS peer, Duration AS length
    FROM otel_traces
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanKind = 'Client'
) AS call ON call.trace = entry.trace AND call.parent = entry.id
GROUP BY entry.service, entry.route, entry.day, stage, peer
