-- What is the 5th percentile of the margin of answers, in seconds? By route over time.
SELECT $__timeInterval(ts) AS time, concat(service, ' ', route) AS name, quantileExact(0.05)(margin_ns) / 1e9 AS margin
FROM hops FINAL
WHERE $__timeFilter(ts) AND entry AND answered AND isNotNull(budget_received_ns) AND isNotNull(margin_ns) AND match(service, '^(?:${service:regex})$')
GROUP BY time, name
ORDER BY time, name
LIMIT 50000
