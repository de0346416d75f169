-- How long after its end is a span stored, in seconds? Over time.
SELECT
    $__timeInterval(ingested_at) AS time,
    quantile(0.95)(greatest(toUnixTimestamp64Milli(ingested_at) / 1e3 - (toUnixTimestamp64Nano(ts) + duration_ns) / 1e9, 0)) AS delay
FROM hops
WHERE $__timeFilter(ingested_at)
GROUP BY time
ORDER BY time
LIMIT 50000
