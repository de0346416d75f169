-- How much is kept, and how fresh is it? One row; nanoseconds and milliseconds since 1970, 0 without rows.
-- Counts and the newest start come from the metadata of the parts. When the last row was written is looked for in the last
-- day only, by the index on ingested_at: 0 where nothing was.
SELECT
    (SELECT count() FROM hops) AS hops,
    (SELECT count() FROM otel_traces) AS spans,
    (SELECT toUnixTimestamp64Nano(max(ts)) FROM hops) AS newest,
    (SELECT toUnixTimestamp64Milli(max(ingested_at)) FROM hops WHERE ingested_at > now64(3) - toIntervalDay(1)) AS ingested
