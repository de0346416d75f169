-- phases, from raw spans.
SELECT ServiceName, SpanAttributes['peer.service'] AS peer, count(), quantilesExact(0.5, 0.99)(toFloat64(SpanAttributes['deadline.phase.first_byte.time']))
FROM otel_traces
WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64})
    AND SpanAttributes['deadline.phase.first_byte.time'] != ''
GROUP BY ServiceName, peer
