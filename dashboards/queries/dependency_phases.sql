-- In which phase do calls run out of time? Over time.
SELECT $__timeInterval(ts) AS time, timeout_phase AS name, sum(weight) AS timeouts
FROM hops FINAL
WHERE $__timeFilter(ts) AND NOT entry AND timeout_phase != '' AND match(service, '^(?:${service:regex})$') AND match(peer, '^(?:${peer:regex})$')
GROUP BY time, name
ORDER BY time, name
LIMIT 50000
