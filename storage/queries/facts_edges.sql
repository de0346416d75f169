-- edges: what callees get of their callers' budgets. service is the caller, peer the callee's service, the time the callee's.
-- callee            length of the callee
-- handed            what the call was allowed, else what remained before it
-- budget            counts callees that received one
-- renewed, dropped  by how much a callee's budget is above what its caller had left, beyond 1 ms; dropped where it is the callee's default
-- due               counts calls with a remainder, passed those whose callee took its budget from the caller
SELECT name AS measure, service, at AS ts, '' AS route, '' AS stage, peer, '' AS detail, weight, assumeNotNull(amount) AS value,
    name IN ('callee', 'handed') AS spreads, false AS exemplary, false AS dated, trace_id
FROM
(
    SELECT
        caller.service AS service, callee.began AS at, callee.service AS peer, callee.weight AS weight, callee.trace_id AS trace_id,
        callee.received - caller.remaining AS growth,
        ifNull(growth > 1000000, false) AND callee.source != 'regrant' AS grew,
        [
            toNullable(toFloat64(callee.duration_ns)),
            toFloat64(caller.handed),
            if(isNotNull(callee.received), 0., NULL),
            if(grew AND callee.source != 'default', toFloat64(growth), NULL),
            if(grew AND callee.source = 'default', toFloat64(growth), NULL),
            if(isNotNull(caller.remaining), 0., NULL),
            if(isNotNull(caller.remaining) AND callee.source IN ('caller', 'clamped', 'raised', 'envelope'), 0., NULL)
        ] AS amounts
    FROM
    (
        SELECT service, trace_id, cityHash64(trace_id, parent_span_id) AS call, toUnixTimestamp64Nano(ts) AS began, budget_received_ns AS received,
            budget_source AS source, duration_ns, weight
        FROM hops FINAL
        WHERE @when AND kind IN ('Server', 'Consumer')
    ) AS callee
    INNER JOIN
    (
        SELECT service, cityHash64(trace_id, span_id) AS call, remaining_before_ns AS remaining, ifNull(allowance_ns, remaining_before_ns) AS handed
        FROM hops FINAL
        PREWHERE cityHash64(trace_id) IN (SELECT cityHash64(trace_id) FROM hops WHERE @when AND kind IN ('Server', 'Consumer'))
        WHERE @near AND kind IN ('Client', 'Producer')
    ) AS caller ON caller.call = callee.call
)
ARRAY JOIN
    arrayFilter((name, amount) -> isNotNull(amount), CAST(['callee', 'handed', 'budget', 'renewed', 'dropped', 'due', 'passed'], 'Array(LowCardinality(String))'), amounts) AS name,
    arrayFilter(amount -> isNotNull(amount), amounts) AS amount
