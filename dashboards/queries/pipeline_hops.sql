-- How many hops arrived? By service over time.
SELECT $__timeInterval(ingested_at) AS time, service AS name, count() AS hops
FROM hops
WHERE $__timeFilter(ingested_at)
GROUP BY time, name
ORDER BY time, name
LIMIT 50000
