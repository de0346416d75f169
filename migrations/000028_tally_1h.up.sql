-- What reports count and measure in one hour, computed as a whole from five minutes each, or from hops, verdicts or accounts themselves whenever one of them changes, never
-- incremented. A row is one measure of one subject; which columns tell its rows apart, and what the values are, is said where the facts
-- of a subject come from (storage/queries/facts_*.sql). seen counts what was measured, represented what it stands for where it was
-- sampled, total sums the values it stands for; most is the greatest value, last when the latest began. spread counts values by bucket,
-- in sixteenths: scheme 1 has bucket 0 for zero and, with the sign of the value, 1 + floor(16 * log2(|n|)). examples are traces with
-- the greatest values, six at most, one more than once if several spans of it have them. first_at is when the row was computed first.
CREATE TABLE IF NOT EXISTS tally_1h
(
    subject LowCardinality(String),
    measure LowCardinality(String),
    service LowCardinality(String),
    at DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    route LowCardinality(String),
    stage LowCardinality(String),
    peer LowCardinality(String),
    detail LowCardinality(String),
    scheme UInt8,

    seen UInt64 CODEC(ZSTD(1)),
    represented Float64 CODEC(ZSTD(1)),
    total Float64 CODEC(ZSTD(1)),
    most Float64 CODEC(ZSTD(1)),
    last Int64 CODEC(ZSTD(1)),
    spread Map(Int16, UInt64) CODEC(ZSTD(1)),
    examples Array(Tuple(Float64, FixedString(16))),

    first_at DateTime64(3, 'UTC'),
    version UInt64,
    is_deleted UInt8,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3),

    INDEX idx_version version TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toYYYYMM(at)
ORDER BY (subject, measure, service, at, route, stage, peer, detail, scheme)
TTL toDateTime(ingested_at) + toIntervalSecond(7776000)
SETTINGS index_granularity = 1024
