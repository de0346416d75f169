-- retries, from raw spans.
SELECT ServiceName, SpanAttributes['deadline.stage'] AS stage, SpanAttributes['peer.service'] AS peer, SpanAttributes['deadline.attempt.layer'] AS layer,
    countIf(SpanAttributes['deadline.attempt'] = '1'), count()
FROM otel_traces
WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND SpanAttributes['deadline.attempt'] != ''
GROUP BY ServiceName, stage, peer, layer
