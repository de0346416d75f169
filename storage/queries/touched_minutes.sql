-- Hops of which minutes arrived? One row per minute: its start in nanoseconds since 1970, and how many arrived.
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive
-- frozen    milliseconds since 1970: hours that were computed first before this are left out, because hops they were
--           made of may be gone
-- limit     rows
-- The index on ingested_at.
SELECT
    toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % 60000000000 AS minute,
    count() AS hops
FROM hops
WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND ingested_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND minute - minute % 3600000000000 NOT IN (
        SELECT toUnixTimestamp64Nano(at) FROM rollup_1h WHERE first_at < fromUnixTimestamp64Milli({frozen:Int64}, 'UTC')
    )
GROUP BY minute
ORDER BY minute
LIMIT {limit:UInt32}
