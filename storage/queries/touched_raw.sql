-- Of which traces did raw spans arrive? One row per trace, by the start of the earliest of these spans.
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive; arrivals are kept by the second
-- shard, shards  the traces whose hash, the last 8 bytes of their id, leaves this remainder
-- limit     rows
-- The index on IngestedAt. Spans that are no hops, and hops that arrived earlier than their raw spans, are found here only.
SELECT
    lower(TraceId) AS trace,
    count() AS spans
FROM otel_traces
WHERE IngestedAt >= toDateTime(intDiv({from:Int64}, 1000), 'UTC')
    AND IngestedAt <= toDateTime(intDiv({to:Int64}, 1000), 'UTC')
    AND length(TraceId) = 32
    AND reinterpretAsUInt64(unhex(substring(TraceId, 17))) % {shards:UInt32} = {shard:UInt32}
GROUP BY trace
ORDER BY min(Timestamp), trace
LIMIT {limit:UInt32}
