-- Of which minutes did hops arrive? One row per minute, seconds since 1970, oldest first.
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive
-- oldest    nanoseconds since 1970: minutes before it are left out
-- limit     rows
-- The index on ingested_at.
SELECT DISTINCT intDiv(toUnixTimestamp64Nano(ts), 60000000000) * 60 AS minute
FROM hops
WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND ingested_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND ts >= fromUnixTimestamp64Nano({oldest:Int64}, 'UTC')
ORDER BY minute
LIMIT {limit:UInt32}
