-- Who works for nobody?
SELECT service, stage, peer, cause, count() AS found, sum(ifNull(amount_ns, 0)) / 1e9 AS orphan_s, lower(hex(argMax(trace_id, ifNull(amount_ns, 0)))) AS worst_trace
FROM verdicts FINAL
WHERE $__timeFilter(ts) AND rule = 'orphan_work' AND match(service, '^(?:${service:regex})$')
GROUP BY service, stage, peer, cause
ORDER BY orphan_s DESC, service, stage, peer, cause
LIMIT 100
