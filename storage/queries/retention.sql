-- How long do the rollups keep their rows? One row per table: seconds from ingest, 0 for ever.
-- On a cluster the rows are in tables of the name with _local.
SELECT
    replaceOne(name, '_local', '') AS table_name,
    max(toInt64OrZero(extract(engine_full, 'toIntervalSecond\\((\\d+)\\)'))) AS seconds
FROM system.tables
WHERE database = currentDatabase() AND table_name IN ('rollup_1m', 'rollup_1h', 'rollup_1d')
GROUP BY table_name
LIMIT 3
