-- What was found in traces, by rule?
SELECT rule, severity, count() AS found, uniqExact(trace_id) AS traces, sum(ifNull(amount_ns, 0)) / 1e9 AS amount_s
FROM verdicts FINAL
WHERE $__timeFilter(ts) AND severity != '' AND match(service, '^(?:${service:regex})$')
GROUP BY rule, severity
ORDER BY found DESC, rule
LIMIT 100
