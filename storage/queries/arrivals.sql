-- How many hops arrived when? One row per second that has any, oldest first: seconds since 1970.
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive
-- limit     rows
-- The index on ingested_at.
SELECT
    intDiv(toUnixTimestamp64Milli(ingested_at), 1000) AS second,
    count() AS hops
FROM hops
WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND ingested_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
GROUP BY second
ORDER BY second
LIMIT {limit:UInt32}
