-- spending: what budgets were spent on. detail is the kind of traffic: channel, payload class and region with char(0) between them.
-- asked               a budget that was granted, missed counts those that were late or exhausted
-- margin              of an answer with a budget, granted its budget, square the square of its margin in seconds
-- spent.KIND          debits of answers with a budget by stage and peer; calls.KIND and degraded.KIND the hops of them
SELECT part.1 AS measure, service, at AS ts, route, part.2 AS stage, part.3 AS peer, detail, weight, part.4 AS value, measure IN ('asked', 'margin') AS spreads,
    false AS exemplary, false AS dated, trace_id
FROM
(
    SELECT
        service, toUnixTimestamp64Nano(ts) AS at, route, concat(channel, char(0), payload_class, char(0), region) AS detail, weight, trace_id,
        isNotNull(budget_ns) AS budgeted,
        answered AND isNotNull(margin_ns) AND budgeted AS measured,
        arrayConcat(
            if(budgeted, [('asked', '', '', toFloat64(assumeNotNull(budget_ns)))], []),
            if(budgeted AND (exhausted OR (answered AND late)), [('missed', '', '', 0.)], []),
            if(measured, [('margin', '', '', toFloat64(assumeNotNull(margin_ns))), ('granted', '', '', toFloat64(assumeNotNull(budget_ns))),
                ('square', '', '', pow(assumeNotNull(margin_ns) / 1e9, 2))], []),
            if(measured, arrayMap((k, s, p, n) -> (concat('spent.', k), toString(s), toString(p), toFloat64(n)), `spent.kind`, `spent.stage`, `spent.peer`, `spent.ns`), []),
            if(measured, arrayFilter(x -> x.4 > 0, arrayMap((k, s, p, n) -> (concat('calls.', k), toString(s), toString(p), toFloat64(n)), `spent.kind`, `spent.stage`, `spent.peer`, `spent.calls`)), []),
            if(measured, arrayFilter(x -> x.4 > 0, arrayMap((k, s, p, n) -> (concat('degraded.', k), toString(s), toString(p), toFloat64(n)), `spent.kind`, `spent.stage`, `spent.peer`, `spent.degraded`)), [])) AS parts
    FROM accounts FINAL
    WHERE @when AND isNotNull(budget_ns)
)
ARRAY JOIN parts AS part
