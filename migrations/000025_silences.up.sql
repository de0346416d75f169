-- Alerts of which nobody is told for a while. matchers is a JSON object of labels, alertname among them. One that was ended early has
-- until moved.
CREATE TABLE IF NOT EXISTS silences
(
    id FixedString(16),
    matchers String,
    since DateTime64(3, 'UTC'),
    until DateTime64(3, 'UTC'),
    comment String,

    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY id
TTL toDateTime(ingested_at) + toIntervalSecond(69120000)
