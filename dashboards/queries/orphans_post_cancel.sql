-- How much work was done after the cancellation, in seconds? By service and cause over time.
SELECT $__timeInterval(ts) AS time, concat(service, ' ', cancel_cause) AS name, sum(weight * post_cancel_time_ns) / 1e9 AS worked
FROM hops FINAL
WHERE $__timeFilter(ts) AND post_cancel_time_ns > 0 AND match(service, '^(?:${service:regex})$')
GROUP BY time, name
ORDER BY time, name
LIMIT 50000
