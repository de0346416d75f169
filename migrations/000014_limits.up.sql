-- Timeouts that nobody recorded, found in the lengths of calls, one row per caller, callee and operation. A limit that the
-- calls no longer show is taken back by a newer row with is_deleted = 1. peer is the callee as its spans name it, address as
-- the calls do; seen_at is when the last call was cut. The counts are those of docs/learning.md.
CREATE TABLE IF NOT EXISTS limits
(
    caller LowCardinality(String),
    address LowCardinality(String),
    operation LowCardinality(String),

    peer LowCardinality(String),
    limit_ns Int64,
    from_ns Int64,
    to_ns Int64,
    round Bool,
    calls UInt64,
    cut UInt64,
    beyond UInt64,
    outlived UInt64,
    timed_out UInt64,
    failed UInt64,
    after_ns Int64,
    estimate_ns Int64,
    past UInt64,
    confidence Float64,
    examples Array(String),
    seen_at DateTime64(9, 'UTC'),

    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    is_deleted UInt8 DEFAULT 0,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (caller, address, operation)
TTL toDateTime(ingested_at) + toIntervalSecond(7776000)
SETTINGS index_granularity = 8192
