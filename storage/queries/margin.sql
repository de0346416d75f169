-- How much of its budget did each route have left? One row per route: first routes that exhausted budgets and answered none
-- in them, then by the 5th percentile of the margin, last routes without either.
-- from, to        nanoseconds since 1970, from inclusive, to exclusive
-- service, route  exact; '' means any
-- keys            cityHash64(service, route) of the routes wanted; empty means all
-- limit, skip     rows
-- Reads the months of the window; with a service, the prefix (service) of the sort key.
WITH
    ifNull(budget_received_ns, 0) AS received,
    -- A request that was refused for lack of time may have been granted nothing, but it did ask.
    isNotNull(budget_received_ns) OR (exhausted AND isNotNull(budget_requested_ns)) AS budgeted,
    answered AND isNotNull(budget_received_ns) AND isNotNull(margin_ns) AS measured,
    measured AND received > 0 AS usable
SELECT
    service,
    route,
    cityHash64(service, route) AS key,
    count() AS requests,
    countIf(budgeted) AS with_budget,
    countIf(answered) AS answers,
    countIf(answered AND budgeted AND ifNull(late, false)) AS late_answers,
    countIf(exhausted AND budgeted) AS ended,
    countIf(measured) AS margins,
    quantilesExactIf(0.05, 0.5, 0.95)(ifNull(margin_ns, 0), measured) AS margin,
    quantileExactIf(0.5)((received - ifNull(margin_ns, 0)) / received, usable) AS used_p50,
    countIf(usable) AS usable_margins,
    quantileExactIf(0.5)(received, isNotNull(budget_received_ns)) AS budget_p50,
    countIf(isNotNull(budget_received_ns)) AS budgets
FROM hops FINAL
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND entry
    AND ({service:String} = '' OR service = {service:String})
    AND ({route:String} = '' OR route = {route:String})
    AND (empty({keys:Array(UInt64)}) OR cityHash64(service, route) IN ({keys:Array(UInt64)}))
GROUP BY service, route
ORDER BY
    multiIf(margins > 0, 1, ended > 0, 0, 2),
    margin[1],
    service,
    route
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
