-- Which process evaluates alerts: of the leases that have not ended the one claimed first. One row per process, renewed while it runs.
-- evaluated is the instant that was evaluated last, problem what keeps notifications from being delivered.
CREATE TABLE IF NOT EXISTS alert_leases
(
    holder String,
    claimed DateTime64(3, 'UTC'),
    until DateTime64(3, 'UTC'),
    evaluated DateTime64(3, 'UTC'),
    problem String,

    version UInt64 DEFAULT toUnixTimestamp64Nano(now64(9)),
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY holder
TTL toDateTime(ingested_at) + toIntervalSecond(604800)
