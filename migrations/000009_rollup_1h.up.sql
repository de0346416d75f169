-- Requests of one route in one hour, recomputed as a whole from deduplicated minutes whenever one of them changes, never
-- incremented. Every dimension is in the key. Maps count values by bucket: scheme 1 has bucket 0 for zero and, with the sign
-- of the value, 1 + floor(16 * log2(|n|)) for n nanoseconds, 16 buckets to the octave; used holds the ratio spent ÷ received
-- times 1e9. margins_below is the exact count of margins below zero. first_at is when the bucket was computed first.
CREATE TABLE IF NOT EXISTS rollup_1h
(
    service LowCardinality(String),
    route LowCardinality(String),
    at DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    channel LowCardinality(String),
    payload_class LowCardinality(String),
    region LowCardinality(String),
    scheme UInt8,

    requests UInt64,
    represented Float64,
    with_budget UInt64,
    answered UInt64,
    late UInt64,
    exhausted UInt64,
    margins UInt64,
    margins_below UInt64,
    margin_sum_ns Int128,
    budgets UInt64,
    budget_sum_ns Int128,
    duration_sum_ns Int128,
    margin Map(Int16, UInt64) CODEC(ZSTD(1)),
    used Map(Int16, UInt64) CODEC(ZSTD(1)),
    budget Map(Int16, UInt64) CODEC(ZSTD(1)),

    first_at DateTime64(3, 'UTC'),
    version UInt64,
    is_deleted UInt8,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3),

    INDEX idx_version version TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toYYYYMM(at)
ORDER BY (service, route, at, channel, payload_class, region, scheme)
TTL toDateTime(ingested_at) + toIntervalSecond(7776000)
SETTINGS index_granularity = 1024
