-- Where each alert stands for each value of its labels. labels is a JSON object with sorted keys. told is the state that the webhook
-- was told last.
CREATE TABLE IF NOT EXISTS alert_states
(
    name LowCardinality(String),
    labels String,
    state LowCardinality(String),
    since DateTime64(3, 'UTC'),
    at DateTime64(3, 'UTC'),
    value Float64,
    summary String,
    told LowCardinality(String),

    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (name, labels)
TTL toDateTime(ingested_at) + toIntervalSecond(7776000)
