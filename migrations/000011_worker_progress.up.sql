-- How far the worker has come, one row per step. at is the watermark: nanoseconds since 1970, everything stamped before it is
-- in what the step writes.
CREATE TABLE IF NOT EXISTS worker_progress
(
    step LowCardinality(String),
    at Int64,
    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY step
