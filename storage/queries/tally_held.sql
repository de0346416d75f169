-- How many rows do the facts of buckets come from? One row per bucket that has any: its start in nanoseconds since 1970, and its rows, one
-- that was written twice twice.
-- source    hops, verdicts or accounts
-- width     of the buckets in nanoseconds
-- from, to  nanoseconds since 1970: they enclose the buckets
-- buckets   their starts, nanoseconds since 1970; hours those of them
-- Only ts is read, of the hours of the buckets.
SELECT toUnixTimestamp64Nano(ts) - toUnixTimestamp64Nano(ts) % {width:Int64} AS bucket, count() AS held
FROM {source:Identifier}
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND toStartOfHour(ts) IN {hours:Array(DateTime('UTC'))}
    AND bucket IN {buckets:Array(Int64)}
GROUP BY bucket
