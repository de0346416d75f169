-- Does a database hold a fill, or anything else? One row.
-- Hops of a fill have the environment bench; last is the start of the newest, nanoseconds since 1970. Raw spans are counted where no
-- hops of a fill are.
SELECT
    (SELECT countIf(environment = 'bench') FROM hops) AS filled,
    (SELECT countIf(environment != 'bench') FROM hops) + if(filled > 0, 0, (SELECT count() FROM otel_traces)) AS other,
    (SELECT toUnixTimestamp64Nano(max(ts)) FROM hops) AS last
