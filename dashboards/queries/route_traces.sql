-- Which requests of a route missed their budget by most?
SELECT
    ts,
    service,
    route,
    lower(hex(trace_id)) AS trace_id,
    outcome,
    cancel_cause AS cause,
    duration_ns / 1e9 AS duration_s,
    budget_received_ns / 1e9 AS budget_s,
    margin_ns / 1e9 AS margin_s
FROM hops FINAL
WHERE $__timeFilter(ts) AND entry AND (answered AND ifNull(late, false) OR exhausted) AND match(service, '^(?:${service:regex})$') AND match(route, '^(?:${route:regex})$')
ORDER BY margin_ns ASC NULLS FIRST, duration_ns DESC
LIMIT 100
