-- How much work was for callers that were gone, in seconds? By service over time.
SELECT $__timeInterval(ts) AS time, service AS name, sum(ifNull(amount_ns, 0)) / 1e9 AS orphan
FROM verdicts FINAL
WHERE $__timeFilter(ts) AND rule = 'orphan_work' AND match(service, '^(?:${service:regex})$')
GROUP BY time, name
ORDER BY time, name
LIMIT 50000
