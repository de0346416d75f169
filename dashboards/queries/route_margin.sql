-- How is the margin of a route distributed, in seconds, over time?
SELECT
    $__timeInterval(ts) AS time,
    concat(service, ' ', route) AS name,
    quantileExact(0.05)(margin_ns) / 1e9 AS p05,
    quantileExact(0.5)(margin_ns) / 1e9 AS p50,
    quantileExact(0.95)(margin_ns) / 1e9 AS p95
FROM hops FINAL
WHERE $__timeFilter(ts) AND entry AND answered AND isNotNull(budget_received_ns) AND isNotNull(margin_ns) AND match(service, '^(?:${service:regex})$') AND match(route, '^(?:${route:regex})$')
GROUP BY time, name
ORDER BY time, name
LIMIT 50000
