-- By how much the clock of a called machine runs ahead of its caller's, learned from the calls of 10 minutes that begin at at:
-- between low_ns and high_ns, in which agreeing of calls agree. Clocks that agree have no row.
CREATE TABLE IF NOT EXISTS offsets
(
    at DateTime('UTC'),
    caller LowCardinality(String),
    callee LowCardinality(String),

    low_ns Int64,
    high_ns Int64,
    calls UInt64,
    agreeing UInt64,

    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    is_deleted UInt8 DEFAULT 0,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toYYYYMM(at)
ORDER BY (at, caller, callee)
TTL toDateTime(ingested_at) + toIntervalSecond(7776000)
SETTINGS index_granularity = 8192
