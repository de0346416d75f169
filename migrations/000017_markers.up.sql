-- Marks next to trends, such as deployments. A marker that was removed stays with removed = true, so that it can be put back.
CREATE TABLE IF NOT EXISTS markers
(
    id FixedString(16),
    at DateTime64(9, 'UTC'),
    title String,
    text String,
    url String,
    service LowCardinality(String),
    environment LowCardinality(String),
    service_version LowCardinality(String),
    removed Bool,

    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY id
TTL toDateTime(ingested_at) + toIntervalSecond(69120000)
