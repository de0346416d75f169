-- Of which traces did hops arrive? One row per trace, by the start of the earliest of these hops, so that
-- neighbours lie together: how many, and when the first and the last start, nanoseconds since 1970.
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive
-- until     milliseconds since 1970, exclusive: what arrived until then tells the first and the last too
-- shard, shards  the traces whose hash, the last 8 bytes of their id, leaves this remainder
-- limit     rows
-- The index on ingested_at. Rows that take a hop back count too.
SELECT
    lower(hex(trace_id)) AS trace,
    countIf(ingested_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')) AS hops,
    toUnixTimestamp64Nano(min(ts)) AS first,
    toUnixTimestamp64Nano(max(ts)) AS last
FROM hops
WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND ingested_at < fromUnixTimestamp64Milli({until:Int64}, 'UTC')
    AND reinterpretAsUInt64(substring(trace_id, 9)) % {shards:UInt32} = {shard:UInt32}
GROUP BY trace_id
HAVING hops > 0
ORDER BY first, trace_id
LIMIT {limit:UInt32}
