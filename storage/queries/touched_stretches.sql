-- Of which ten minutes did calls arrive? One row each, oldest first: the begin in nanoseconds since 1970, and how many arrived.
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive
-- width     nanoseconds
-- limit     rows
-- The index on ingested_at.
SELECT toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {width:Int64} AS at, count() AS hops
FROM hops
WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND ingested_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND kind IN ('Client', 'Server')
    AND ts >= fromUnixTimestamp64Nano(0, 'UTC')
    AND ts < fromUnixTimestamp64Nano(4294960000000000000, 'UTC') -- what a DateTime holds
GROUP BY at
ORDER BY at
LIMIT {limit:UInt32}
