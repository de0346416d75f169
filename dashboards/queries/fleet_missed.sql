-- What share of requests with a budget is late or exhausted? By route over time.
SELECT $__timeInterval(ts) AS time, concat(service, ' ', route) AS name, sumIf(weight, answered AND ifNull(late, false) OR exhausted) / sum(weight) AS missed
FROM hops FINAL
WHERE $__timeFilter(ts) AND entry AND (isNotNull(budget_received_ns) OR exhausted AND isNotNull(budget_requested_ns)) AND match(service, '^(?:${service:regex})$')
GROUP BY time, name
ORDER BY time, name
LIMIT 50000
