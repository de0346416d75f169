-- What is known of the tallies? Rows of a kind, a name and a value.
-- limit  dirty buckets of each length
-- now: the server's clock. progress: the watermark of each step of the worker. keep: the retention of a table, 0 for ever; on a cluster the
-- rows are in tables of the name with _local. hour and day: starts of buckets that are not what the shorter ones hold.
-- spans: how many hops a day has in the tallies; the name is its start.
-- The index on version.
SELECT 'now' AS kind, '' AS name, toUnixTimestamp64Nano(now64(9)) AS value
UNION ALL
SELECT 'progress', toString(step), at
FROM worker_progress FINAL
UNION ALL
SELECT 'keep', replaceOne(name, '_local', '') AS table_name, toInt64OrZero(extract(engine_full, 'toIntervalSecond\\((\\d+)\\)'))
FROM system.tables
WHERE database = currentDatabase() AND table_name IN ('tally_5m', 'tally_1h', 'rollup_1m', 'rollup_1h') AND engine_full LIKE '%MergeTree%'
UNION ALL
SELECT 'hour', '', bucket
FROM
(
    SELECT DISTINCT toUnixTimestamp64Nano(at) - toUnixTimestamp64Nano(at) % 3600000000000 AS bucket
    FROM tally_5m
    WHERE version > (SELECT toUInt64(max(w.at)) FROM worker_progress AS w FINAL WHERE step = 'tally_1h')
    LIMIT {limit:UInt32}
)
UNION ALL
SELECT 'day', '', bucket
FROM
(
    SELECT DISTINCT toUnixTimestamp64Nano(at) - toUnixTimestamp64Nano(at) % 86400000000000 AS bucket
    FROM tally_1h
    WHERE version > (SELECT toUInt64(max(w.at)) FROM worker_progress AS w FINAL WHERE step = 'tally_1d')
    LIMIT {limit:UInt32}
)
UNION ALL
SELECT 'spans', toString(toUnixTimestamp64Nano(at)), toInt64(sum(represented))
FROM tally_1d FINAL
WHERE subject = 'services' AND measure = 'span' AND scheme = 1
GROUP BY at
