-- How long do calls take, and how long might they, in seconds? By caller and stage over time.
SELECT
    $__timeInterval(ts) AS time,
    concat(service, ' ', stage) AS name,
    quantileExact(0.5)(duration_ns) / 1e9 AS length,
    quantileExact(0.5)(allowance_ns) / 1e9 AS allowance
FROM hops FINAL
WHERE $__timeFilter(ts) AND NOT entry AND isNotNull(allowance_ns) AND match(service, '^(?:${service:regex})$') AND match(peer, '^(?:${peer:regex})$')
GROUP BY time, name
ORDER BY time, name
LIMIT 50000
