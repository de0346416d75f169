-- How long do the rollups keep their rows? One row per table: seconds from ingest, 0 for ever.
SELECT
    name,
    toInt64OrZero(extract(engine_full, 'toIntervalSecond\\((\\d+)\\)')) AS seconds
FROM system.tables
WHERE database = currentDatabase() AND name IN ('rollup_1m', 'rollup_1h', 'rollup_1d')
LIMIT 3
