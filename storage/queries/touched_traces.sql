-- Of which traces did hops arrive? One row per trace, by the start of the earliest of these hops: neighbours lie together.
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive
-- shard, shards  the traces whose hash, the last 8 bytes of their id, leaves this remainder
-- limit     rows
-- The index on ingested_at. Rows that take a hop back count too.
SELECT
    lower(hex(trace_id)) AS trace,
    count() AS hops
FROM hops
WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND ingested_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND reinterpretAsUInt64(substring(trace_id, 9)) % {shards:UInt32} = {shard:UInt32}
GROUP BY trace_id
ORDER BY min(ts), trace_id
LIMIT {limit:UInt32}
