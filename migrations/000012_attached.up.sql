-- The table of raw spans that somebody else owns and the worker reads, at most one row: that written last counts. budget_from
-- names attributes of theirs that carry a budget, as NAME=UNIT; since is the start of the oldest spans that are read, in seconds
-- since 1970.
CREATE TABLE IF NOT EXISTS attached
(
    name LowCardinality(String),
    source_database String,
    source_table String,
    budget_from Array(String),
    since Int64,
    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY name
