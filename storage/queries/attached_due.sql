-- Which 10 seconds of an attached table hold another number of spans than were read? Newest first: their start in seconds since
-- 1970, and how many spans they hold.
-- database, table  the attached table
-- source           its name in attached_buckets
-- from, to         seconds since 1970, whole 10 seconds, from inclusive, to exclusive
-- shard, shards    those whose number leaves this remainder
-- The days of the table; only Timestamp is read.
SELECT
    at,
    spans
FROM
(
    SELECT
        toInt64(intDiv(toUnixTimestamp64Nano(Timestamp), 10000000000)) * 10 AS at,
        count() AS spans
    FROM {database:Identifier}.{table:Identifier}
    WHERE Timestamp >= fromUnixTimestamp64Nano({from:Int64} * 1000000000)
        AND Timestamp < fromUnixTimestamp64Nano({to:Int64} * 1000000000)
    GROUP BY at
) AS held
LEFT JOIN
(
    SELECT
        at,
        spans AS known
    FROM attached_buckets FINAL
    WHERE source = {source:String} AND at >= {from:Int64} AND at < {to:Int64}
) AS pulled USING (at)
WHERE spans != known AND intDiv(at, 10) % {shards:UInt32} = {shard:UInt32}
ORDER BY at DESC
LIMIT 10000
