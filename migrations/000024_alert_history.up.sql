-- Every change of the state of an alert.
CREATE TABLE IF NOT EXISTS alert_history
(
    at DateTime64(3, 'UTC'),
    name LowCardinality(String),
    labels String,
    state LowCardinality(String),
    value Float64,
    summary String,

    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY (at, name, labels)
TTL toDateTime(ingested_at) + toIntervalSecond(7776000)
