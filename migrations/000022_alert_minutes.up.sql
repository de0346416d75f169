-- What alerts count, by the minute in which spans began. Minutes are computed anew as a whole when one of their hops arrives; the rows
-- of a minute are those with its greatest version, and one row without a service tells that a minute was computed.
CREATE TABLE IF NOT EXISTS alert_minutes
(
    at DateTime('UTC') CODEC(Delta, ZSTD(1)),
    service LowCardinality(String),
    route LowCardinality(String),
    stage LowCardinality(String),
    peer LowCardinality(String),
    cause LowCardinality(String),
    phase LowCardinality(String),

    requests Float64,
    missed Float64,
    degraded Float64,
    cancelled Float64,
    stopped_late Float64,
    worked_on Float64,
    silent Float64,
    blamed Float64,

    version UInt64,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY (at, service, route, stage, peer, cause, phase)
TTL toDateTime(ingested_at) + toIntervalSecond(691200)
