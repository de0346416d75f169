-- How do calls of each stage end, and what do they take?
SELECT
    service,
    stage,
    peer,
    sum(weight) AS calls,
    sumIf(weight, decision NOT IN ('', 'run')) / calls AS degraded_ratio,
    sumIf(weight, cancel_cause != '') / calls AS cancelled_ratio,
    quantileExact(0.5)(duration_ns) / 1e9 AS length_p50_s,
    quantileExact(0.99)(duration_ns) / 1e9 AS length_p99_s,
    quantileExact(0.5)(allowance_ns) / 1e9 AS allowance_p50_s
FROM hops FINAL
WHERE $__timeFilter(ts) AND NOT entry AND stage != '' AND match(service, '^(?:${service:regex})$') AND match(peer, '^(?:${peer:regex})$')
GROUP BY service, stage, peer
ORDER BY calls DESC, service, stage, peer
LIMIT 100
