-- How much of its budget did each route have left? One row per route: first routes that exhausted budgets and answered none
-- in them, then by the 5th percentile of the margin, last routes without either.
-- from, to        nanoseconds since 1970, from inclusive, to exclusive
-- service, route  exact; '' means any
-- environment, version, outcome, late, margin_lt, margin_gt  of the entry, exact or exclusive nanoseconds; '' and NULL mean any
-- keys            cityHash64(service, route) of the routes wanted; empty means all
-- limit, skip     rows
-- Reads the months of the window; with a service, the prefix (service) of the sort key.
WITH
    ifNull(budget_received_ns, 0) AS received,
    -- A request that was refused for lack of time may have been granted nothing, but it did ask.
    isNotNull(budget_received_ns) OR (exhausted AND isNotNull(budget_requested_ns)) AS budgeted,
    answered AND isNotNull(budget_received_ns) AND isNotNull(margin_ns) AS measured,
    measured AND received > 0 AS usable,
    toUInt64(greatest(round(weight * 16), 1)) AS times
SELECT
    service,
    route,
    cityHash64(service, route) AS key,
    toUInt64(round(sum(weight))) AS requests,
    count() AS seen,
    toUInt64(round(sumIf(weight, budgeted))) AS with_budget,
    toUInt64(round(sumIf(weight, answered))) AS answers,
    toUInt64(round(sumIf(weight, answered AND budgeted AND ifNull(late, false)))) AS late_answers,
    toUInt64(round(sumIf(weight, exhausted AND budgeted))) AS ended,
    countIf(measured) AS margins,
    quantilesExactWeightedIf(0.05, 0.5, 0.95)(ifNull(margin_ns, 0), times, measured) AS margin,
    quantileExactWeightedIf(0.5)((received - ifNull(margin_ns, 0)) / received, times, usable) AS used_p50,
    countIf(usable) AS usable_margins,
    quantileExactWeightedIf(0.5)(received, times, isNotNull(budget_received_ns)) AS budget_p50,
    countIf(isNotNull(budget_received_ns)) AS budgets
FROM hops AS h FINAL
WHERE ts >= fromUnixTimestamp64Nano({from:Int64}, 'UTC')
    AND ts < fromUnixTimestamp64Nano({to:Int64}, 'UTC')
    AND entry
    AND ({service:String} = '' OR service = {service:String})
    AND ({route:String} = '' OR route = {route:String})
    AND (empty({keys:Array(UInt64)}) OR cityHash64(service, route) IN ({keys:Array(UInt64)}))
    AND ({environment:String} = '' OR environment = {environment:String})
    AND ({version:String} = '' OR service_version = {version:String})
    AND ({outcome:String} = '' OR outcome = {outcome:String})
    AND (isNull({late:Nullable(Bool)}) OR ifNull(h.late, false) = {late:Nullable(Bool)})
    AND (isNull({margin_lt:Nullable(Int64)}) OR margin_ns < {margin_lt:Nullable(Int64)})
    AND (isNull({margin_gt:Nullable(Int64)}) OR margin_ns > {margin_gt:Nullable(Int64)})
GROUP BY service, route
ORDER BY
    multiIf(margins > 0, 1, ended > 0, 0, 2),
    margin[1],
    service,
    route
LIMIT {limit:UInt32} OFFSET {skip:UInt32}
