-- Spans that cannot be kept with the others, one of which would reject a whole insert: times outside 1970 to 2261, an end
-- before the start, an identifier of zeros. Times are as recorded: nanoseconds since 1970 as unsigned numbers. span is OTLP
-- JSON, cut at 64 KiB.
CREATE TABLE IF NOT EXISTS quarantine
(
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3),
    reason LowCardinality(String),
    service LowCardinality(String),
    name String,
    kind LowCardinality(String),
    trace_id FixedString(16),
    span_id FixedString(8),
    parent_span_id FixedString(8),
    start_ns UInt64,
    end_ns UInt64,
    span String CODEC(ZSTD(3))
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(ingested_at)
ORDER BY (reason, service, ingested_at)
TTL toDateTime(ingested_at) + toIntervalSecond(2592000)
SETTINGS index_granularity = 8192
