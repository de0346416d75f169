-- What is known of the tallies for a window? Rows of a kind, a name and a value.
-- from, to  nanoseconds since 1970, from inclusive, to exclusive
-- exact     hops beyond which counting ends
-- limit     dirty buckets of each length
-- now: the server's clock. progress: the watermark of each step of the worker. keep: the retention of a table, 0 for ever; on a cluster the
-- rows are in tables of the name with _local. hops and entries of the window, one that was written twice twice, and no more than one beyond
-- exact; rolled: entries of whole days in the tallies. hour and day: starts of buckets that are not what the shorter ones hold.
SELECT 'now' AS kind, '' AS name, toUnixTimestamp64Nano(now64(9)) AS value
UNION ALL
SELECT 'progress', toString(step), at
FROM worker_progress FINAL
UNION ALL
SELECT 'keep', replaceOne(name, '_local', '') AS table_name, toInt64OrZero(extract(engine_full, 'toIntervalSecond\\((\\d+)\\)'))
FROM system.tables
WHERE database = currentDatabase() AND table_name IN ('tally_5m', 'tally_1h') AND engine_full LIKE '%MergeTree%'
UNION ALL
SELECT part.1, '', part.2
FROM
(
    SELECT [('hops', toInt64(count())), ('entries', toInt64(countIf(entry)))] AS parts
    FROM
    (
        SELECT entry
        FROM hops
        WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
            AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
        LIMIT {exact:UInt64} + 1
    )
)
ARRAY JOIN parts AS part
UNION ALL
SELECT 'rolled', '', toInt64(sum(seen))
FROM tally_1d FINAL
WHERE subject = 'entries' AND measure = 'request'
    AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND at + toIntervalDay(1) <= fromUnixTimestamp64Nano({to:Int64}, 'UTC')
UNION ALL
SELECT 'hour', '', bucket
FROM
(
    SELECT DISTINCT toUnixTimestamp64Nano(at) - toUnixTimestamp64Nano(at) % 3600000000000 AS bucket
    FROM tally_5m
    WHERE version > (SELECT toUInt64(max(w.at)) FROM worker_progress AS w FINAL WHERE step = 'tally_1h')
        AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalHour(1)
        AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    LIMIT {limit:UInt32}
)
UNION ALL
SELECT 'day', '', bucket
FROM
(
    SELECT DISTINCT toUnixTimestamp64Nano(at) - toUnixTimestamp64Nano(at) % 86400000000000 AS bucket
    FROM tally_1h
    WHERE version > (SELECT toUInt64(max(w.at)) FROM worker_progress AS w FINAL WHERE step = 'tally_1d')
        AND at >= fromUnixTimestamp64Nano({from:Int64}, 'UTC') - toIntervalDay(1)
        AND at < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    LIMIT {limit:UInt32}
)
