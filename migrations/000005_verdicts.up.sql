-- Findings of one trace, one row per span and rule. A finding that no longer holds is taken back by a newer row with
-- is_deleted = 1.
CREATE TABLE IF NOT EXISTS verdicts
(
    trace_id FixedString(16),
    span_id FixedString(8),
    service LowCardinality(String),
    kind LowCardinality(String),
    rule LowCardinality(String),

    ts DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    severity LowCardinality(String),
    entry_span_id FixedString(8),
    entry_service LowCardinality(String),
    route LowCardinality(String),
    stage LowCardinality(String),
    peer LowCardinality(String),
    amount_ns Nullable(Int64),
    evidence LowCardinality(String),
    inferred Bool,
    text String,

    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    is_deleted UInt8 DEFAULT 0,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3),

    INDEX idx_rule rule TYPE set(64) GRANULARITY 1,
    INDEX idx_ts ts TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toYYYYMM(ts)
ORDER BY (trace_id, span_id, service, kind, rule)
TTL toDateTime(ingested_at) + toIntervalSecond(7776000)
SETTINGS index_granularity = 8192
