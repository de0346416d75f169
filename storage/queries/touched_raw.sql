-- Of which traces did raw spans arrive? One row per trace, by the start of the earliest of these spans: how many,
-- and when the first and the last start, nanoseconds since 1970.
-- from, to  seconds since 1970, of arrival, from inclusive, to exclusive
-- until     seconds since 1970, exclusive: what arrived until then tells the first and the last too, and is there with no span
-- shard, shards  the traces whose hash, the last 8 bytes of their id, leaves this remainder
-- limit     rows
-- The index on IngestedAt. Spans that are no hops, and hops that arrived earlier than their raw spans, are found here only.
SELECT
    lower(TraceId) AS trace,
    countIf(IngestedAt < toDateTime({to:Int64}, 'UTC')) AS spans,
    toUnixTimestamp64Nano(min(Timestamp)) AS first,
    toUnixTimestamp64Nano(max(Timestamp)) AS last
FROM otel_traces
WHERE IngestedAt >= toDateTime({from:Int64}, 'UTC')
    AND IngestedAt < toDateTime({until:Int64}, 'UTC')
    AND length(TraceId) = 32
    AND reinterpretAsUInt64(unhex(substring(TraceId, 17))) % {shards:UInt32} = {shard:UInt32}
GROUP BY trace
ORDER BY first, trace
LIMIT {limit:UInt32}
