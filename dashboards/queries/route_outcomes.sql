-- How do requests with a budget end, over time?
SELECT $__timeInterval(ts) AS time, multiIf(answered AND ifNull(late, false), 'late', outcome = '', 'unknown', outcome) AS name, sum(weight) AS requests
FROM hops FINAL
WHERE $__timeFilter(ts) AND entry AND (isNotNull(budget_received_ns) OR exhausted AND isNotNull(budget_requested_ns)) AND match(service, '^(?:${service:regex})$') AND match(route, '^(?:${route:regex})$')
GROUP BY time, name
ORDER BY time, name
LIMIT 50000
