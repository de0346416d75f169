-- Which routes miss their budgets most?
SELECT
    service,
    route,
    sum(weight) AS requests,
    sumIf(weight, answered AND ifNull(late_answer, false)) AS late,
    sumIf(weight, exhausted) AS ended,
    (late + ended) / requests AS missed_ratio,
    quantileExactIf(0.05)(margin_ns, answered AND isNotNull(margin_ns)) / 1e9 AS margin_p05_s
FROM
(
    SELECT service, route, weight, answered, h.late AS late_answer, exhausted, margin_ns
    FROM hops AS h FINAL
    WHERE $__timeFilter(ts) AND entry AND (isNotNull(budget_received_ns) OR exhausted AND isNotNull(budget_requested_ns)) AND match(service, '^(?:${service:regex})$')
)
GROUP BY service, route
ORDER BY missed_ratio DESC, requests DESC, service, route
LIMIT 100
