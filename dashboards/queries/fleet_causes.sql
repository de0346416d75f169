-- Why was work cancelled? By cause over time.
SELECT $__timeInterval(ts) AS time, cancel_cause AS name, sum(weight) AS cancelled
FROM hops FINAL
WHERE $__timeFilter(ts) AND cancel_cause != '' AND match(service, '^(?:${service:regex})$')
GROUP BY time, name
ORDER BY time, name
LIMIT 50000
