-- How many spans of each 10 seconds of the attached table were read. at is their start in seconds since 1970. Where the table
-- holds another number now, the worker reads these seconds again.
CREATE TABLE IF NOT EXISTS attached_buckets
(
    source String,
    at Int64,
    spans UInt64,
    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (source, at)
