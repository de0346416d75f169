-- What each account of a trace was spent on, one row per entry whose account was drawn: the trace's account holder, and every
-- entry with a budget of its own. spent holds the debits of its statement by kind, stage and peer: with a budget, budget_ns less
-- their sum is margin_ns. What is told of the whole trace (services, stages, peers, causes, phases) stands in the row of its
-- holder only; calls counts the hops of a kind hop, degraded those that were not run. An account that is no longer drawn is taken back by a newer row with is_deleted = 1.
CREATE TABLE IF NOT EXISTS accounts
(
    service LowCardinality(String),
    route LowCardinality(String),
    ts DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    trace_id FixedString(16),
    span_id FixedString(8),
    kind LowCardinality(String),

    holder Bool,
    weight Float64 DEFAULT 1,
    environment LowCardinality(String),
    service_version LowCardinality(String),
    channel LowCardinality(String),
    payload_class LowCardinality(String),
    region LowCardinality(String),
    sample Bool,
    complete Bool,
    duration_ns Int64,
    budget_ns Nullable(Int64),
    margin_ns Nullable(Int64),
    outcome LowCardinality(String),
    class LowCardinality(String),
    answered Bool,
    late Bool,
    exhausted Bool,
    first_violation LowCardinality(String),
    rules Array(LowCardinality(String)),
    `spent.kind` Array(LowCardinality(String)),
    `spent.stage` Array(LowCardinality(String)),
    `spent.peer` Array(LowCardinality(String)),
    `spent.ns` Array(Int64) CODEC(ZSTD(1)),
    `spent.calls` Array(UInt32),
    `spent.degraded` Array(UInt32),
    services Array(LowCardinality(String)),
    stages Array(LowCardinality(String)),
    peers Array(LowCardinality(String)),
    causes Array(LowCardinality(String)),
    phases Array(LowCardinality(String)),

    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    is_deleted UInt8 DEFAULT 0,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3),

    INDEX idx_trace_id trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_ts ts TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toYYYYMM(ts)
ORDER BY (service, route, ts, trace_id, span_id, kind)
TTL toDateTime(ingested_at) + toIntervalSecond(7776000)
SETTINGS index_granularity = 8192
