-- Between which times the spans of traces start, as far as the worker has seen them arrive: one row per trace and arrival, merged in time.
-- trace is the last 8 bytes of the id, read as a number: traces that share them have a window too wide, which is harmless. A trace that
-- is not here was never judged. Few rows are read for each trace, so granules are small.
CREATE TABLE IF NOT EXISTS trace_extents
(
    trace UInt64,
    first_ns SimpleAggregateFunction(min, Int64) CODEC(ZSTD(1)),
    last_ns SimpleAggregateFunction(max, Int64) CODEC(ZSTD(1)),
    ingested_at SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now()
)
ENGINE = AggregatingMergeTree
ORDER BY trace
TTL ingested_at + toIntervalSecond(2592000)
SETTINGS index_granularity = 256
