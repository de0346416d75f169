-- How much is kept, and how fresh is it? One row; nanoseconds and milliseconds since 1970, 0 without rows.
-- Counts and extremes come from the metadata of the parts where there are some, not from the rows.
SELECT
    (SELECT count() FROM hops) AS hops,
    (SELECT count() FROM otel_traces) AS spans,
    (SELECT toUnixTimestamp64Nano(max(ts)) FROM hops) AS newest,
    (SELECT toUnixTimestamp64Milli(max(ingested_at)) FROM hops) AS ingested
