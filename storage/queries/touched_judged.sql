-- Of which hours were findings or accounts judged? One row per hour, its start in nanoseconds since 1970. A finding touches the hour
-- after it too, because a trace is counted at its first within an hour.
-- source    verdicts or accounts
-- from, to  milliseconds since 1970, of arrival, from inclusive, to exclusive
-- reach     nanoseconds: how far behind itself a row touches
-- frozen    milliseconds since 1970: hours that were computed first before this are left out
-- subject   whose hours these are
-- limit     rows
-- The index on ingested_at.
SELECT arrayJoin(arrayDistinct([intDiv(toUnixTimestamp64Nano(ts), 3600000000000), intDiv(toUnixTimestamp64Nano(ts) + {reach:Int64}, 3600000000000)])) * 3600000000000 AS hour
FROM {source:Identifier}
WHERE ingested_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND ingested_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND hour NOT IN (
        SELECT DISTINCT toUnixTimestamp64Nano(at) FROM tally_1h WHERE subject = {subject:String} AND first_at < fromUnixTimestamp64Milli({frozen:Int64}, 'UTC')
    )
GROUP BY hour
ORDER BY hour
LIMIT {limit:UInt32}
